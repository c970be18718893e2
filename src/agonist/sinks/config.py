"""What of a run is also written elsewhere: keys like any other, as in `use_json=true base_exp_path=results`.

The names are those that Mava's users type. The run's own folder in the store is always written, whatever is said here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from agonist.types import option

USE = "use_"
MODEL = "model"  # the sink that `save_model` asks for


@dataclass(frozen=True)
class LogConfig:
    base_exp_path: str = option("results", "folder of the files below")
    use_console: bool = option(False, "a plain line an evaluation, on stderr")
    use_json: bool = option(False, "marl-eval's experiment file, BASE/metrics.json: many runs may write it at once")
    use_tb: bool = option(False, "TensorBoard's event files, in BASE/tensorboard/RUN")
    use_csv: bool = option(False, "a table, BASE/csv/RUN.csv: a row a step, a column a metric")
    use_parquet: bool = option(False, "the same table as BASE/parquet/RUN.parquet")
    use_wandb: bool = option(False, "Weights & Biases, by its own package and its own settings (WANDB_MODE=offline ...)")
    use_mlflow: bool = option(False, "MLflow, by its own package; to MLFLOW_TRACKING_URI, else to files in BASE/mlruns")
    use_neptune: bool = option(False, "Neptune, by its own package and its own settings (NEPTUNE_API_TOKEN ...)")
    save_model: bool = option(False, "the policies that the run ends with, as folders in BASE/policies/RUN")
    project: str = option("agonist", "project (wandb, neptune) or experiment (mlflow) that the runs are put into")
    sinks: tuple[str, ...] = option((), "more sinks by name, such as a plugin's: [mine]")


def chosen(config: LogConfig) -> tuple[str, ...]:
    """The sinks that are asked for, each once."""
    ours = [field.name.removeprefix(USE) for field in fields(config) if field.name.startswith(USE) and getattr(config, field.name)]
    return tuple(dict.fromkeys([*ours, *([MODEL] if config.save_model else []), *config.sinks]))


def key_of(name: str) -> str:
    """How a sink is asked for: `use_tb=true`."""
    if name == MODEL:
        return "save_model=true"
    return f"{USE}{name}=true" if any(field.name == USE + name for field in fields(LogConfig)) else f"sinks=[{name}]"

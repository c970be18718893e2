"""Neptune, by its own package and its own settings (NEPTUNE_API_TOKEN, NEPTUNE_PROJECT, NEPTUNE_MODE=offline).

A run that goes on is the same one there, by `custom_run_id`. A `project` without a workspace is left to NEPTUNE_PROJECT.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agonist.sinks.config import LogConfig
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink


def open_neptune(beginning: Beginning, config: LogConfig) -> Sink:
    base = Path(config.base_exp_path)
    base.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NEPTUNE_DATA_DIRECTORY", str((base / "neptune").absolute()))
    import neptune

    run = neptune.init_run(
        project=config.project if "/" in config.project else None,
        custom_run_id=beginning.run,
        name=beginning.title or beginning.run,
        source_files=[],
        capture_stdout=False,
        capture_stderr=False,
        capture_traceback=False,
        capture_hardware_metrics=False,
        git_ref=False,
    )
    run["spec"] = {key: value if isinstance(value, int | float | str | bool) else str(value) for key, value in beginning.spec.items()}

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            run[f"metrics/{name}"].append(value, step=step, timestamp=moment)

    def evaluation(found: Evaluation) -> None:
        if means := found.means():
            metrics(found.step, found.time, means)

    def close(ending: Ending) -> None:
        run["final"] = {key: value if isinstance(value, int | float | str) else str(value) for key, value in ending.final.items()}
        run["status"] = ending.status
        run.stop()

    return Sink(metrics, evaluation, close=close)

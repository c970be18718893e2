"""Weights & Biases, by its own package and its own settings (WANDB_API_KEY, WANDB_MODE=offline, WANDB_ENTITY ...).

A run that goes on is resumed under the same id. Steps are environment steps; of steps that were there already, wandb keeps the first.
"""

from __future__ import annotations

from pathlib import Path

from agonist.sinks.config import LogConfig
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink


def open_wandb(beginning: Beginning, config: LogConfig) -> Sink:
    import wandb

    base = Path(config.base_exp_path)
    base.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=config.project,
        id=beginning.run,
        name=beginning.title or beginning.run,
        group=str(beginning.spec.get("env", "")) or None,
        config=dict(beginning.spec),
        dir=str(base),
        resume="allow",
        settings=wandb.Settings(console="off", x_disable_stats=True),
    )

    def evaluation(found: Evaluation) -> None:
        run.summary.update(found.means())

    def close(ending: Ending) -> None:
        run.summary.update({**ending.final, "status": ending.status})
        run.finish(exit_code=0 if ending.status == "finished" else 1)

    return Sink(lambda step, moment, values: run.log(dict(values), step=step), evaluation, close=close)

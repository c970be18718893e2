"""TensorBoard's event files in BASE/tensorboard/RUN: `tensorboard --logdir BASE/tensorboard` shows the runs side by side.

A run that goes on writes a file more; what its earlier files hold of later steps is taken out of them.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path

from agonist.sinks import events
from agonist.sinks.config import LogConfig
from agonist.sinks.paths import part, write_whole
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink, kept


def open_tensorboard(beginning: Beginning, config: LogConfig) -> Sink:
    folder = Path(config.base_exp_path) / "tensorboard" / part(beginning.run)
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in folder.glob("events.out.tfevents.*"):
        roll_back(earlier, beginning)
    now = time.time()
    name = f"events.out.tfevents.{int(now)}.{part(platform.node() or 'host')}.{os.getpid()}.{time.monotonic_ns() % 10**9}"
    file = open(folder / name, "xb")  # noqa: SIM115  it is closed with the sink
    file.write(events.head(now))

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        file.write(events.scalars(events.Event(moment, step, values)))

    def evaluation(found: Evaluation) -> None:
        if means := found.means():
            metrics(found.step, found.time, means)

    def close(ending: Ending) -> None:
        file.close()

    return Sink(metrics, evaluation, file.flush, close)


def roll_back(path: Path, beginning: Beginning) -> None:
    """Leave what stays of the run that goes on; what a killed writer left half goes too."""
    found = [event._replace(values=kept(event.step, event.values, beginning)) for event in events.read(path.read_bytes())]
    left = [event for event in found if event.values]
    if left:
        write_whole(path, events.head(left[0].time) + b"".join(map(events.scalars, left)))
    else:
        path.unlink()

"""TensorBoard's event files in BASE/tensorboard/RUN: `tensorboard --logdir BASE/tensorboard` shows the runs side by side.

A run that goes on writes a new file, which begins with all that it measured before, and removes the earlier ones.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path

from agonist.sinks import events
from agonist.sinks.config import LogConfig
from agonist.sinks.paths import part
from agonist.sinks.records import Beginning, Ending, Evaluation, Point, Sink


def open_tensorboard(beginning: Beginning, config: LogConfig) -> Sink:
    folder = Path(config.base_exp_path) / "tensorboard" / part(beginning.run)
    folder.mkdir(parents=True, exist_ok=True)
    before = beginning.past().points if beginning.past else ()
    earlier = list(folder.glob("events.out.tfevents.*"))
    now = time.time()
    name = f"events.out.tfevents.{int(now)}.{part(platform.node() or 'host')}.{os.getpid()}.{time.monotonic_ns() % 10**9}"
    file = open(folder / name, "xb")  # noqa: SIM115  it is closed with the sink
    file.write(events.head(now))
    file.writelines(events.scalars(point) for point in before)
    file.flush()
    for path in earlier:
        path.unlink()

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        file.write(events.scalars(Point(step, moment, values)))

    def evaluation(found: Evaluation) -> None:
        if means := found.means():
            metrics(found.step, found.time, means)

    def close(ending: Ending) -> None:
        file.close()

    return Sink(metrics, evaluation, file.flush, close)

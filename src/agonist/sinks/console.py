"""A plain line an evaluation, on stderr: step, return, length, speed and the newest losses."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from statistics import fmean

from agonist.sinks.config import LogConfig
from agonist.sinks.records import Beginning, Evaluation, Sink

SHOWN = ("loss/", "perf/env_steps_per_second", "eval/win_rate")  # metrics that a line ends with


def open_console(beginning: Beginning, config: LogConfig) -> Sink:
    newest: dict[str, float] = {}
    who = " ".join(filter(None, (beginning.run, beginning.label)))

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        newest.update({name: value for name, value in values.items() if name.startswith(SHOWN)})

    def evaluation(found: Evaluation) -> None:
        returns = "  ".join(
            f"{'return' if len(found.returns) == 1 else role} {fmean(values):.4g}" for role, values in found.returns.items()
        )
        rest = "  ".join(f"{name} {value:.4g}" for name, value in sorted(newest.items()))
        kind = f"absolute ({len(found.length)} episodes)" if found.absolute else ""
        line(f"step {found.step:,}", kind, returns, f"length {fmean(found.length):.4g}", "" if found.absolute else rest)

    def line(*parts: str) -> None:
        print("  ".join(filter(None, (who, *parts))), file=sys.stderr, flush=True)

    return Sink(metrics, evaluation, close=lambda ending: line(ending.status))

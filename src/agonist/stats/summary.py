"""What is said of one group of runs: several seeds, one task or several.

    summarise(scores: Mapping[str, Sequence[float]] | Sequence[float], level: float = 0.95) -> dict:
        n             runs in all
        mean          of the tasks' means
        interval      [low, high] of the mean, Student's (Welch and Satterthwaite over tasks); nan of one run a task
        iqm           interquartile mean over all runs and tasks
        iqm_interval  [low, high] of it by stratified bootstrap; nan where there are fewer than five runs
        too_few       a sentence, or None from five seeds a task on
        left_out      how many scores were no number (a run that failed): they are in none of the above, which flatters

Scores of several tasks must be on one scale: `agonist.stats.aggregates.normalise`.

The mean has Student's interval because a percentile bootstrap of three numbers can reach no further than the largest of them, and
holds the truth 75 times in 100; `docs/how-to/statistics.md` has the measured table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agonist.stats.aggregates import Scores, bootstrap, iqm
from agonist.stats.intervals import tasks_interval

FEW = 5  # seeds, below which an interval says more of its assumptions than of the runs
NORM = 10  # seeds that published comparisons have
NONE = float("nan")


def summarise(scores: Scores, level: float = 0.95) -> dict[str, Any]:
    """One group of runs in a few numbers; see the top of this module for each."""
    tasks = scores if isinstance(scores, Mapping) else {"": scores}
    given = [np.asarray(values, np.float64).reshape(-1) for values in tasks.values()]
    parts = [finite for part in given if (finite := part[np.isfinite(part)]).size]
    runs = sum(part.size for part in parts)
    seeds = min((part.size for part in parts), default=0)
    mean, *interval = tasks_interval(parts, level) if parts else (NONE,) * 3
    return {
        "n": runs,
        "mean": mean,
        "interval": interval,
        "iqm": float(iqm(parts)) if parts else NONE,
        "iqm_interval": list(bootstrap(parts, iqm, level)) if runs >= FEW else [NONE, NONE],
        "too_few": too_few(seeds),
        "left_out": sum(part.size for part in given) - runs,
    }


def too_few(seeds: int) -> str | None:
    """What so few seeds cannot tell; None where there are enough."""
    if seeds == 0:
        return "no run has a result yet"
    if seeds == 1:
        return f"one seed tells nothing of the next one: {FEW} show how far seeds differ, {NORM} are the norm"
    if seeds < FEW:
        return f"{seeds} seeds are too few to trust the interval: {FEW} show how far seeds differ, {NORM} are the norm"
    return None

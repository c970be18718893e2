"""Sample-efficiency curves: many runs' curves -> one with its interval, by the runs that there are at each step.

A curve is (steps, values). `curve(parts, statistic)` takes task -> curves and gives a `Curve`. Runs that were evaluated at different
steps are brought to common ones: all the steps at which anybody was evaluated, the values between two of a run's own linear; outside
its first and last step a run says nothing, and `n` says how many there were. The mean has Student's interval and the interquartile mean
a bootstrap's, as in `summary`; fewer runs than such an interval needs have none (nan).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from agonist.stats.aggregates import Array, bootstrap, draws, iqm
from agonist.stats.intervals import tasks_interval
from agonist.stats.summary import FEW

MOST = 200  # points of a curve: more than a picture has columns for
REPS = 2000
Points = tuple[Any, Any]  # steps, values


class Curve(NamedTuple):
    steps: Array
    centre: Array
    low: Array  # nan where there is no interval
    high: Array
    n: Array  # runs at each step


NOTHING = Curve(np.empty(0), np.empty(0), np.empty(0), np.empty(0), np.empty(0, int))


def cleaned(points: Points, most: int = MOST) -> tuple[Array, Array]:
    """Finite, by step, each step once (the last value counts); where there are more than `most`, the means of neighbours."""
    steps, values = np.asarray(points[0], np.float64), np.asarray(points[1], np.float64)
    kept = np.isfinite(values)
    steps, last = np.unique(steps[kept][::-1], return_index=True)
    values = values[kept][::-1][last]
    if len(steps) <= most:
        return steps, values
    edges = np.linspace(0, len(steps), most + 1).astype(int)
    counts = np.diff(edges)
    return np.add.reduceat(steps, edges[:-1]) / counts, np.add.reduceat(values, edges[:-1]) / counts


def at_steps(points: Points, steps: Array) -> Array:
    """A cleaned curve's values at other steps; nan where it had not begun or was over."""
    return np.interp(steps, points[0], points[1], left=np.nan, right=np.nan) if len(points[0]) else np.full(len(steps), np.nan)


def common_steps(curves: Sequence[Points], most: int = MOST) -> Array:
    """The steps at which anybody was evaluated; evenly spread ones where those are too many."""
    steps = np.unique(np.concatenate([np.asarray(points[0], np.float64) for points in curves])) if curves else np.empty(0)
    return steps if len(steps) <= most else np.linspace(steps[0], steps[-1], most)


def curve(parts: Mapping[str, Sequence[Points]], statistic: Literal["mean", "iqm"] = "mean", level: float = 0.95) -> Curve:
    """Task -> its runs' curves, as one. A step counts from where every task has a run."""
    clean = [[cleaned(points) for points in curves] for curves in parts.values()]
    steps = common_steps([points for curves in clean for points in curves])
    grids = [np.stack([at_steps(points, steps) for points in curves]) for curves in clean if curves]  # [runs, steps] a task
    there = [np.isfinite(grid) for grid in grids]
    if not grids or len(grids) < len(parts):
        return NOTHING
    kept = np.flatnonzero(np.all([alive.any(0) for alive in there], axis=0))
    rows = [_point([grid[alive[:, i], i] for grid, alive in zip(grids, there, strict=True)], statistic, level) for i in kept]
    centre, low, high, n = np.array(rows).T if rows else np.empty((4, 0))
    return Curve(steps[kept], centre, low, high, n.astype(int))


def _point(parts: Sequence[Array], statistic: str, level: float) -> tuple[float, float, float, int]:
    """(centre, low, high, n) of the runs that there are at one step."""
    n = sum(part.size for part in parts)
    if statistic == "mean":
        return *tasks_interval(parts, level), n
    low, high = bootstrap(parts, iqm, level, draws(parts, REPS)) if n >= FEW else (np.nan, np.nan)
    return float(iqm(parts)), low, high, n

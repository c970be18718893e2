"""One number for many runs on many tasks, and how far it may be trusted (Agarwal et al. 2021, Deep RL at the edge of the
statistical precipice).

Scores are `parts`: one array a task, `[..., runs]`, the tasks not necessarily with as many runs each; leading axes are whatever the
caller has many of (bootstrap resamples, points of a curve). Statistics map parts -> `[...]`. Intervals are percentiles of a bootstrap
that is stratified: it draws runs anew within each task, never a run of one task for another. Where all tasks have as many runs the
numbers are rliable's, which is the tests' oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Parts = Sequence[Array]  # a task each: [..., runs]
Statistic = Callable[[Parts], Any]
Scores = Mapping[str, Sequence[float]] | Sequence[float]

REPS = 10_000  # resamples: the interval's ends are then steady to about a hundredth of its width
BLOCK = 1 << 20  # numbers that are resampled at a time: what memory a bootstrap takes, however many runs there are


def parts_of(scores: Scores | Any) -> list[Array]:
    """Task -> scores, or the scores of the only task, as parts. A number that is none is refused: it is no score."""
    tasks = scores if isinstance(scores, Mapping) else {"": scores}
    parts = [np.asarray(values, np.float64).reshape(-1) for values in tasks.values()]
    for task, part in zip(tasks, parts, strict=True):
        if not part.size or not np.isfinite(part).all():
            what = f"has {np.count_nonzero(~np.isfinite(part))} that are no number" if part.size else "has none"
            raise ValueError(f"need one finite score or more a task; {task or 'this one'} {what}")
    if not parts:
        raise ValueError("need the scores of one task or more, got none")
    return parts


def mean(parts: Parts) -> Any:
    """Of the tasks' means."""
    return np.mean([part.mean(-1) for part in parts], axis=0)


def median(parts: Parts) -> Any:
    """Of the tasks' means: blind to what happens on nearly half of the tasks."""
    return np.median([part.mean(-1) for part in parts], axis=0)


def iqm(parts: Parts) -> Any:
    """The interquartile mean: of all runs of all tasks, without the best and the worst quarter. Of three runs or fewer: the mean."""
    every = np.sort(np.concatenate(parts, axis=-1), axis=-1)
    cut = every.shape[-1] // 4
    return every[..., cut : every.shape[-1] - cut].mean(-1)


def optimality_gap(parts: Parts, target: float = 1.0) -> Any:
    """How far runs fall short of the target on average; what is beyond it makes up for nothing."""
    return target - np.minimum(np.concatenate(parts, axis=-1), target).mean(-1)


def profile(parts: Parts, thresholds: Array) -> Array:
    """The share of runs whose score is above each threshold (a performance profile): [..., thresholds]."""
    return (np.concatenate(parts, axis=-1)[..., None, :] > thresholds[:, None]).mean(-1)


def draws(parts: Parts, reps: int = REPS, seed: int = 0) -> list[Array]:
    """Which runs each resample takes: for each task [reps, runs]."""
    rng = np.random.default_rng(seed)
    return [_drawn(rng, reps, part.shape[-1]) for part in parts]


def _drawn(rng: np.random.Generator, reps: int, runs: int) -> Array:
    """In as few bytes as hold them: the same numbers as drawn at once."""
    out = np.empty((reps, runs), np.min_scalar_type(runs))
    for rows in blocks(reps, runs):
        out[rows] = rng.integers(0, runs, (rows.stop - rows.start, runs))
    return out


def blocks(reps: int, width: int) -> Iterator[slice]:
    """Resamples, `BLOCK` numbers at a time, where each takes `width` of them."""
    rows = max(1, BLOCK // width)
    return (slice(first, min(first + rows, reps)) for first in range(0, reps, rows))


def resampled(statistic: Statistic, parts: Parts, drawn: Sequence[Array], width: int) -> Array:
    """A statistic of every resample, a block of them at a time; one takes `width` numbers."""
    found = [statistic([part[at[rows]] for part, at in zip(parts, drawn, strict=True)]) for rows in blocks(len(drawn[0]), width)]
    return np.concatenate(found)


def bootstrap(parts: Parts, statistic: Statistic, level: float = 0.95, drawn: Sequence[Array] | None = None) -> tuple[float, float]:
    """The percentile interval of a statistic. Parts are `[runs]` here; `drawn` are resamples from `draws`."""
    drawn = draws(parts) if drawn is None else drawn
    found = resampled(statistic, parts, drawn, sum(part.size for part in parts))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(low), float(high)


def normalise(scores: Mapping[str, Sequence[float]], bounds: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    """Each task's scores on its own scale: 0 the lowest and 1 the highest that anybody had there (`bounds`: over all, not over one group).

    A task on which everybody always had the same tells nothing and is 0.5 for all.
    """

    def scaled(task: str, values: Sequence[float]) -> list[float]:
        low, high = bounds[task]
        return [(float(value) - low) / (high - low) if high > low else 0.5 for value in values]

    return {task: scaled(task, values) for task, values in scores.items()}

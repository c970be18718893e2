"""A mean and how far it may be trusted: numbers -> (mean, low, high), Student's interval.

nan where it cannot be had: one number has a mean and no interval. `tasks_interval` is the same for the mean of several tasks' means,
each with its own deviation (Welch 1947, Satterthwaite 1946); of one task it is `mean_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def mean_interval(sample: Sequence[float] | Any, level: float = 0.95) -> tuple[float, float, float]:
    values = np.asarray(sample, np.float64)
    if values.size == 0:
        return (float("nan"),) * 3
    return tasks_interval([values.reshape(-1)], level)


def tasks_interval(parts: Sequence[Any], level: float = 0.95) -> tuple[float, float, float]:
    """Of the mean of the tasks' means; a part holds one task's runs."""
    mean = float(np.mean([part.mean() for part in parts]))
    error, freedom = standard_error(parts)
    half = student(freedom, level) * error
    return mean, mean - half, mean + half


def standard_error(parts: Sequence[Any]) -> tuple[float, float]:
    """Of the mean of the parts' means, and its degrees of freedom; nan where a part has one number."""
    counts = np.array([part.size for part in parts], np.float64)
    if counts.min() < 2:
        return float("nan"), float("nan")
    shares = np.array([part.var(ddof=1) for part in parts]) / counts / len(parts) ** 2
    total = float(shares.sum())
    if total == 0:
        return 0.0, float(counts.sum() - len(parts))
    return float(np.sqrt(total)), total**2 / float((shares**2 / (counts - 1)).sum())


def student(freedom: float, level: float) -> float:
    """How many standard errors an interval of that level goes to each side."""
    if not freedom > 0:
        return float("nan")
    from scipy.special import stdtrit  # scipy is slow to import, and few results of a short run need it

    return float(stdtrit(freedom, 0.5 + level / 2))

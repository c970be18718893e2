"""A mean and how far it may be trusted: numbers -> (mean, low, high), Student's interval.

nan where it cannot be had: one number has a mean and no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def mean_interval(sample: Sequence[float] | Any, level: float = 0.95) -> tuple[float, float, float]:
    values = np.asarray(sample, np.float64)
    if values.size == 0:
        return (float("nan"),) * 3
    mean = float(values.mean())
    if values.size == 1:
        return mean, float("nan"), float("nan")
    from scipy.special import stdtrit  # scipy is slow to import, and few results of a short run need it

    half = float(stdtrit(values.size - 1, 0.5 + level / 2)) * float(values.std(ddof=1)) / float(np.sqrt(values.size))
    return mean, mean - half, mean + half

"""Student's interval: by hand, against scipy, and by what it promises."""

import math

import numpy as np
import pytest
from scipy import stats

from agonist.stats.intervals import mean_interval, tasks_interval


def test_by_hand():
    """1, 2, 3: mean 2, deviation 1, and t(2 degrees, 97.5 %) = 4.302653."""
    mean, low, high = mean_interval([1, 2, 3])
    half = 4.302653 / math.sqrt(3)
    assert (mean, low, high) == pytest.approx((2, 2 - half, 2 + half), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 10, 320])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_as_scipy_has_it(n, level):
    sample = np.random.default_rng(n).normal(3, 2, n)
    low, high = stats.t.interval(level, n - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert mean_interval(sample, level) == pytest.approx((sample.mean(), low, high), rel=1e-9)
    assert mean_interval(sample.reshape(1, -1).tolist()[0], level) == mean_interval(sample, level)


def test_over_tasks_each_has_its_own_deviation():
    """By hand: means 2 and 11, errors 1/3 and 4/3, over two tasks; the degrees of freedom are Satterthwaite's."""
    error, freedom = math.sqrt((1 / 3 + 4 / 3) / 4), (5 / 3) ** 2 / ((1 / 3) ** 2 / 2 + (4 / 3) ** 2 / 2)
    half = stats.t.ppf(0.975, freedom) * error
    parts = [np.array([1.0, 2, 3]), np.array([9.0, 11, 13])]
    assert tasks_interval(parts) == pytest.approx((6.5, 6.5 - half, 6.5 + half))
    assert tasks_interval(parts[:1]) == mean_interval(parts[0])
    assert math.isnan(tasks_interval([parts[0], np.array([1.0])])[1])


def test_what_cannot_be_had_is_nan():
    assert all(math.isnan(value) for value in mean_interval([]))
    mean, low, high = mean_interval([4.0])
    assert mean == 4
    assert math.isnan(low)
    assert math.isnan(high)
    assert mean_interval([2.5] * 7) == (2.5, 2.5, 2.5)


@pytest.mark.parametrize("n", [3, 10])
def test_it_holds_the_true_mean_as_often_as_it_says(n):
    """4,000 samples of normal numbers: 95 % of the intervals, within four standard errors of that share."""
    rng, rounds = np.random.default_rng(0), 4000
    held = sum(low <= 5 <= high for _, low, high in (mean_interval(rng.normal(5, 3, n)) for _ in range(rounds)))
    assert abs(held / rounds - 0.95) < 4 * math.sqrt(0.95 * 0.05 / rounds)

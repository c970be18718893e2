"""One group against another: verdicts that must come, and how often those that must not."""

import tracemalloc

import numpy as np
import pytest
from rliable import metrics
from scipy import stats

from agonist.stats import compare
from agonist.stats.verdict import improvement, margin_of, seeds_needed

RNG = np.random.default_rng(0)


def around(mean, n, spread=0.02):
    """n scores with exactly this mean and deviation."""
    values = np.linspace(-1, 1, n)
    return mean + spread * values / values.std(ddof=1)


@pytest.mark.parametrize(
    ("reference", "other", "verdict"),
    [
        (around(0.5, 5), around(0.9, 5), "better"),
        (around(0.9, 3), around(0.5, 3), "worse"),
        (around(0.900, 10), around(0.905, 10), "equivalent"),
        (around(0.900, 3), around(0.905, 3), "too few to tell"),
        (around(0.9, 5, 0.2), around(1.0, 5, 0.2), "too few to tell"),
        ([0.1], [0.9], "too few to tell"),
        ([0.1, 0.2], [0.9, 0.91], "too few to tell"),
        ([1.0] * 5, [1.0] * 5, "equivalent"),
        ([1.0] * 3, [1.0] * 3, "too few to tell"),
    ],
)
def test_the_verdict(reference, other, verdict):
    told = compare(reference, other, margin=0.04)
    assert told["verdict"] == verdict
    assert told["sentence"].startswith(verdict)
    assert (told["seeds_needed"] is not None) == (verdict == "too few to tell")


def test_the_numbers_are_welchs_and_two_one_sided_tests_are():
    """scipy's Welch test and the two one-sided ones say the same as the intervals do."""
    for spread in (0.02, 0.05, 0.1, 0.3):
        a, b, margin = around(1.0, 6, spread), around(1.06, 9, spread), 0.12
        told = compare(a, b, margin)
        welch = stats.ttest_ind(b, a, equal_var=False)
        assert told["interval"] == pytest.approx(welch.confidence_interval(0.95), rel=1e-9)
        above = stats.ttest_ind(b + margin, a, equal_var=False, alternative="greater").pvalue
        below = stats.ttest_ind(b - margin, a, equal_var=False, alternative="less").pvalue
        assert (told["verdict"] == "equivalent") == (max(above, below) < 0.05)


def test_several_tasks_are_strata():
    """By hand: the mean over tasks of the differences; the variances of all four cells over the square of the number of tasks."""
    a, b = {"x": [0.0, 1.0, 2.0], "y": [5.0, 5.0, 8.0]}, {"y": [9.0, 9.0, 9.0], "x": [4.0, 5.0, 6.0]}
    told = compare(a, b)
    assert told["difference"] == pytest.approx(((5 - 1) + (9 - 6)) / 2)
    error = np.sqrt((1 / 3 + 3 / 3 + 0 + 1 / 3) / 4)
    freedom = (5 / 3) ** 2 / ((1 / 3) ** 2 / 2 + 1**2 / 2 + (1 / 3) ** 2 / 2)
    assert told["interval"][1] - told["difference"] == pytest.approx(stats.t.ppf(0.975, freedom) * error, rel=1e-9)
    with pytest.raises(ValueError, match="same tasks"):
        compare(a, {"x": [1.0]})


@pytest.mark.parametrize("shape", [(3, 1), (5, 2), (10, 4)])
def test_improvement_is_rliables(shape):
    """Also with ties, which count half."""
    x, y = RNG.integers(0, 6, shape) / 5, RNG.integers(0, 6, (shape[0] + 2, shape[1])) / 5
    assert improvement(list(x.T), list(y.T)) == pytest.approx(metrics.probability_of_improvement(y, x), rel=1e-12)


def test_improvement_by_hand():
    told = compare([1, 2, 3, 4, 5], [3, 3, 6, 0, 9])
    assert told["probability"] == pytest.approx((2.5 + 2.5 + 5 + 0 + 5) / 25)
    low, high = told["probability_interval"]
    assert 0 <= low < told["probability"] < high <= 1


def test_large_groups_take_little_memory():
    """Two of 150 runs: all pairs of 2,000 resamples would be 360 MB."""
    a, b = np.random.default_rng(3).normal(0, 1, (2, 150))
    tracemalloc.start()
    told = compare(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    drawn = [np.random.default_rng(seed).integers(0, 150, (2000, 150)) for seed in (0, 1)]
    slow = [improvement([a[ours]], [b[theirs]]) for ours, theirs in zip(*drawn, strict=True)]
    assert told["probability_interval"] == list(np.quantile(slow, [0.025, 0.975]))


def test_the_margin_is_a_twentieth_of_what_training_gains():
    assert margin_of({"a": [0.9, 1.1]}, {"a": [0.4]}, {"a": 0.2}) == pytest.approx(0.05 * 0.8)
    assert margin_of({"a": [1.0], "b": [-3.0]}, {"a": [0.0], "b": [0.0]}, {"a": 0.0, "b": 0.0}) == pytest.approx(0.05 * 2)
    assert margin_of({"a": [1.0]}, {"a": [1.0]}, {}) == 0


def test_seeds_needed_would_do():
    """The estimate is kept: with as many seeds about 80 of 100 comparisons find the difference."""
    a, b = around(0.0, 5, 1.0), around(1.0, 5, 1.0)
    needed = seeds_needed([a], [b], 0.0)
    assert needed == 16  # 2 * (1.96 + 0.84)^2
    rng, rounds = np.random.default_rng(1), 400
    found = sum(compare(rng.normal(0, 1, needed), rng.normal(1, 1, needed), reps=2)["verdict"] == "better" for _ in range(rounds))
    assert abs(found / rounds - 0.8) < 0.07
    assert seeds_needed([around(0.0, 5, 1.0)], [around(0.01, 5, 1.0)], 0.0) is None
    assert "more than 1,000 seeds" in compare(around(0.0, 5, 1.0), around(0.01, 5, 1.0))["sentence"]


@pytest.mark.parametrize("n", [3, 5])
def test_a_difference_that_is_none_is_rarely_found(n):
    """Returns of which a fifth failed: at most 5 of 100 comparisons of a group with itself are called better or worse."""

    def runs():
        return np.where(rng.random(n) < 0.8, rng.normal(0.95, 0.02, n), rng.normal(0.4, 0.1, n))

    rng, rounds = np.random.default_rng(2), 600
    wrong = sum(compare(runs(), runs(), reps=2)["verdict"] in ("better", "worse") for _ in range(rounds))
    assert wrong / rounds < 0.05


def test_other_words():
    assert compare(around(1, 5), around(2, 5), words=("higher", "lower"))["verdict"] == "higher"
    assert compare(around(2, 5), around(1, 5), words=("higher", "lower"))["verdict"] == "lower"

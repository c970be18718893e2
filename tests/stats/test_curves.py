"""Many runs' curves as one, by the runs that there are."""

import numpy as np
import pytest

from agonist.stats.aggregates import bootstrap, draws, iqm
from agonist.stats.curves import MOST, REPS, at_steps, cleaned, common_steps, curve
from agonist.stats.intervals import mean_interval, tasks_interval


def test_the_mean_and_the_interval_of_the_runs_there_are():
    """Three runs, of which one stopped early: n says so, and no fixed number is divided by."""
    runs = [([0, 10, 20], [0, 1, 2]), ([0, 10, 20], [2, 3, 4]), ([0, 10], [4, 8])]
    found = curve({"": runs})
    np.testing.assert_array_equal(found.steps, [0, 10, 20])
    np.testing.assert_array_equal(found.n, [3, 3, 2])
    assert [*zip(found.centre, found.low, found.high, strict=True)] == [
        pytest.approx(mean_interval(values)) for values in ([0, 2, 4], [1, 3, 8], [2, 4])
    ]


def test_other_steps_are_brought_to_common_ones():
    found = curve({"": [([0, 10], [0.0, 1.0]), ([5, 15], [1.0, 2.0])]})
    np.testing.assert_array_equal(found.steps, [0, 5, 10, 15])
    np.testing.assert_array_equal(found.centre, [0, (0.5 + 1) / 2, (1 + 1.5) / 2, 2])
    np.testing.assert_array_equal(found.n, [1, 2, 2, 1])
    assert np.isnan(found.low[[0, 3]]).all()  # one run has no interval


def test_several_tasks():
    parts = {"a": [([0, 1], [0, 2]), ([0, 1], [2, 4])], "b": [([1, 2], [10, 10]), ([1, 2], [12, 10])]}
    found = curve(parts)
    np.testing.assert_array_equal(found.steps, [1])  # only there both are
    assert (found.centre[0], found.low[0], found.high[0]) == pytest.approx(tasks_interval([np.array([2, 4]), np.array([10, 12])]))


def test_the_iqm_is_that_of_every_step():
    runs = [(np.arange(4), np.random.default_rng(i).normal(size=4)) for i in range(8)]
    found = curve({"": runs}, "iqm")
    for i in range(4):
        part = np.array([values[i] for _, values in runs])
        assert found.centre[i] == pytest.approx(iqm([part]))
        assert (found.low[i], found.high[i]) == bootstrap([part], iqm, drawn=draws([part], REPS))
    assert np.isnan(curve({"": runs[:3]}, "iqm").low).all()


def test_what_is_no_number_or_twice_there():
    steps, values = cleaned(([0, 1, 1, 2, 3], [0.0, 5.0, 1.0, np.nan, 3.0]))
    np.testing.assert_array_equal(steps, [0, 1, 3])
    np.testing.assert_array_equal(values, [0, 1, 3])


def test_a_long_curve_keeps_its_mean():
    values = np.random.default_rng(0).normal(size=10_000)
    steps, kept = cleaned((np.arange(10_000), values))
    assert len(steps) == len(kept) == MOST
    assert kept.mean() == pytest.approx(values.mean())
    assert steps.mean() == pytest.approx(9_999 / 2)
    assert len(common_steps([(np.arange(i, 1000, 7), None) for i in range(7)])) == MOST


def test_nothing_is_an_empty_curve():
    for parts in ({}, {"a": []}, {"a": [([], [])]}, {"a": [([0], [1])], "b": []}):
        assert len(curve(parts).steps) == 0
    assert np.isnan(at_steps((np.empty(0), np.empty(0)), np.array([1.0]))).all()

"""One group of runs in a few numbers."""

import math

import numpy as np
import pytest

from agonist.stats import summarise
from agonist.stats.intervals import mean_interval


def test_of_one_task_it_is_students_interval():
    told = summarise([0.9, 0.97, 0.95])
    mean, low, high = mean_interval([0.9, 0.97, 0.95])
    assert (told["n"], told["mean"], told["interval"]) == (3, mean, [low, high])
    assert told["iqm"] == pytest.approx(mean)
    assert "3 seeds are too few" in told["too_few"]
    assert all(math.isnan(end) for end in told["iqm_interval"])


def test_five_seeds_are_enough_for_both_intervals():
    told = summarise([1, 2, 3, 4, 5, 6])
    assert told["too_few"] is None
    assert told["iqm"] == 3.5
    low, high = told["iqm_interval"]
    assert 1 <= low < 3.5 < high <= 6


def test_of_several_tasks_the_mean_of_means():
    told = summarise({"a": [0, 1, 2], "b": [10, 10, 10, 14]})
    assert told["n"] == 7
    assert told["mean"] == (1 + 11) / 2
    assert "3 seeds" in told["too_few"]


def test_what_is_no_number_is_left_out_and_counted():
    told = summarise({"a": [1.0, math.nan, 3.0], "b": [math.inf]})
    assert (told["n"], told["mean"], told["left_out"]) == (2, 2.0, 2)


@pytest.mark.parametrize(("scores", "sentence"), [([], "no run has a result"), ([0.5], "one seed tells nothing")])
def test_almost_nothing_is_a_sentence(scores, sentence):
    told = summarise(scores)
    assert sentence in told["too_few"]
    assert all(math.isnan(end) for end in told["interval"])
    assert told["mean"] == 0.5 if scores else math.isnan(told["mean"])


def test_no_warning_is_raised():
    with np.errstate(all="raise"):
        summarise([1.0, 1.0, 1.0])
        summarise({"a": [1.0], "b": [2.0]})

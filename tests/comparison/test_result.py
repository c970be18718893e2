"""What is said of groups: per task, together, and as JSON."""

import json

import numpy as np
import pytest

from agonist.cli.output import plain
from agonist.comparison import chosen, compare_runs
from agonist.stats import summarise


@pytest.fixture
def two_tasks(store, write):
    """lr 0.2 is better on both tasks, whose scales differ a hundredfold; five seeds each."""
    for env, scale in (("matrix:rps", 1.0), ("matrix:climbing", 100.0)):
        for lr, top in ((0.1, 0.5), (0.2, 0.9)):
            for seed in range(5):
                value = scale * (top + 0.01 * seed)
                write([0, value / 2, value], env=env, lr=lr, seed=seed, final=value)
    return compare_runs(store, chosen(store, where="lr > 0"))


def test_a_table_a_task(two_tasks):
    first, second = two_tasks.table("matrix:climbing")
    assert first["mean"] == pytest.approx(52)
    assert first["interval"] == summarise([50, 51, 52, 53, 54])["interval"]
    assert "against" not in first
    assert (second["group"], second["against"]["group"], second["against"]["verdict"]) == ("B", "A", "better")
    assert second["against"]["difference"] == pytest.approx(40)
    assert second["against"]["margin"] == pytest.approx(0.05 * 92)
    assert second["against"]["probability"] == 1


def test_together_each_task_counts_the_same(two_tasks):
    """By hand: the greatest of all is 0.94, the least 0 (untrained), and both tasks are the same up to their scale."""
    first, second = two_tasks.together()
    assert first["n"] == 10
    assert first["mean"] == pytest.approx(0.52 / 0.94)
    assert second["mean"] == pytest.approx(0.92 / 0.94)
    assert second["against"]["verdict"] == "better"
    assert second["against"]["margin"] == pytest.approx(0.05 * 0.92 / 0.94)
    together = two_tasks.curves()["B"]
    np.testing.assert_allclose(together.centre, [0, 0.46 / 0.94, 0.92 / 0.94])
    np.testing.assert_array_equal(together.n, 10)


def test_curves_of_a_task(two_tasks):
    found = two_tasks.curves("matrix:rps")
    np.testing.assert_allclose(found["A"].centre, [0, 0.26, 0.52])
    assert list(two_tasks.curves("matrix:rps", ["B"])) == ["B"]


def test_as_json(two_tasks):
    told = json.loads(json.dumps(plain(two_tasks.as_json()), allow_nan=False))
    assert [group["label"] for group in told["groups"]] == ["lr=0.1", "lr=0.2"]
    assert set(told["tasks"]) == {"matrix:rps", "matrix:climbing"}
    assert sum(len(group["runs"]) for group in told["groups"]) == 20
    assert told["together"][1]["against"]["verdict"] == "better"


def test_groups_without_a_common_task_are_not_judged_together(store, write):
    runs = [write([0, 1], env="matrix:rps", lr=0.1), write([0, 1], env="matrix:climbing", lr=0.2)]
    found = compare_runs(store, chosen(store, runs))
    assert found.together() == []
    assert [row["group"] for row in found.table("matrix:climbing")] == ["B"]


def test_of_a_loss_nobody_is_better(store, write):
    runs = [write([1, lr * (1 + 0.01 * seed)], metric="loss/policy", lr=lr, seed=seed) for lr in (0.1, 0.5) for seed in range(3)]
    _, second = compare_runs(store, chosen(store, runs), "loss/policy").table("matrix:rps")
    assert second["against"]["verdict"] == "higher"

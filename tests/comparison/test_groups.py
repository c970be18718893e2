"""Which runs are one group, and what each of them came to."""

import pytest

from agonist.comparison import chosen, compare_runs


def compared(store, runs, metric="eval/return"):
    return compare_runs(store, chosen(store, runs), metric)


def test_runs_that_differ_by_seed_and_sinks_are_one_group(store, write):
    runs = [write([0, 1], seed=i, lr=lr, base_exp_path=str(i), use_json=True) for lr in (0.1, 0.2) for i in range(3)]
    found = compared(store, runs)
    assert [(group.mark, group.keys, group.label) for group in found.groups] == [("A", {"lr": 0.1}, "lr=0.1"), ("B", {"lr": 0.2}, "lr=0.2")]
    assert set(found.differs) == {"seed", "lr", "base_exp_path"}
    assert [len(group.runs["matrix:rps"]) for group in found.groups] == [3, 3]
    assert not found.notes


def test_the_final_evaluation_counts_where_there_is_one(store, write):
    found = compared(store, [write([0, 0.5], final=0.9, seed=1), write([0, 0.5], seed=2)])
    assert found.scores == {"A": {"matrix:rps": [0.9, 0.5]}}
    other = compared(store, [write([0, 0.5], final=0.9, metric="loss/policy")], "loss/policy")
    assert other.scores == {"A": {"matrix:rps": [0.5]}}


@pytest.mark.parametrize(
    ("status", "sentence"), [("interrupted", "being interrupted"), ("failed", "flatters"), ("running", "being running")]
)
def test_who_has_not_finished_is_left_out_and_said(store, write, status, sentence):
    runs = [write([0, 1], seed=1), write([0, 3], seed=2), write([0, 9], seed=3, status=status)]
    found = compared(store, runs)
    assert found.scores == {"A": {"matrix:rps": [1.0, 3.0]}}
    [note] = found.notes
    assert sentence in note
    assert runs[2] in note


def test_where_a_group_has_not_finished_all_are_compared_at_a_step_that_all_have_reached(store, write):
    runs = [write([0, 1, 2, 3, 4], lr=0.1, final=7.0), write([0, 10, 20], lr=0.2, status="running")]
    found = compared(store, runs)
    assert found.scores == {"A": {"matrix:rps": [2.0]}, "B": {"matrix:rps": [20.0]}}
    assert "at step 200" in found.notes[0]


def test_a_repetition_is_no_evidence(store, write):
    runs = [write([0, 1], seed=1), write([0, 2], seed=1), write([0, 3], seed=1, status="interrupted"), write([0, 5], seed=2)]
    found = compared(store, runs)
    assert found.scores == {"A": {"matrix:rps": [2.0, 5.0]}}
    assert "2 runs repeat a seed" in found.notes[0]


def test_tasks_are_environments_with_their_options(store, write):
    keys = ({"env": "matrix:rps"}, {"env": "lbf:x", "env.sight": 1}, {"env": "lbf:x", "env.sight": 2})
    runs = [write([0, 1], lr=lr, steps=steps, **key) for lr in (0.1, 0.2) for key, steps in zip(keys, (400, 800, 800), strict=True)]
    found = compared(store, runs)
    assert found.tasks == ["matrix:rps", "lbf:x env.sight=1", "lbf:x env.sight=2"]
    assert [group.keys for group in found.groups] == [{"lr": 0.1}, {"lr": 0.2}]  # steps belong to the task


def test_steps_are_a_key_where_they_differ_within_a_task(store, write):
    found = compared(store, [write([0, 1], steps=steps) for steps in (400, 800)])
    assert [group.keys for group in found.groups] == [{"steps": 400}, {"steps": 800}]


def test_training_of_different_lengths_is_said(store, write):
    found = compared(store, [write([0, 1, 2], lr=0.1), write([0, 1, 2, 3, 4], lr=0.2)])
    assert "from 200 to 400 steps" in found.notes[0]


def test_the_algorithm_is_named_first_and_alone(store, write):
    found = compared(store, [write([0, 1], algo="ppo"), write([0, 1], algo="mappo", lr=0.5)])
    assert [group.label for group in found.groups] == ["ppo lr=0.001", "mappo lr=0.5"]


def test_random_is_what_step_0_had(store, write):
    found = compared(store, [write([0.2, 1], seed=1), write([0.4, 1], seed=2)])
    assert found.random == {"matrix:rps": pytest.approx(0.3)}

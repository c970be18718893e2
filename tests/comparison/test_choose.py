"""What people type, and the runs that it means."""

import pytest

from agonist.comparison import chosen, read_runs
from agonist.runs import marks


def ids(summaries):
    return [summary["id"] for summary in summaries]


def test_no_word_is_the_newest_sweep_or_else_two_runs(store, write):
    lone = [write([0, 1], seed=i) for i in range(3)]
    assert ids(chosen(store)) == lone[-2:]
    sweep = write([], kind="sweep")
    children = [write([0, 1], parent=sweep, lr=lr) for lr in (0.1, 0.2)]
    write([0, 1], seed=9)
    assert ids(chosen(store)) == children


def test_a_sweep_stands_for_its_runs_also_through_a_study(store, write):
    study = write([], kind="study")
    sweeps = [write([], kind="sweep", parent=study) for _ in range(2)]
    runs = [write([0, 1], parent=sweep, seed=i) for i in range(2) for sweep in sweeps]
    assert set(ids(chosen(store, [study]))) == set(runs)
    assert ids(chosen(store, [sweeps[0]])) == runs[0::2]
    assert ids(chosen(store, [runs[3], sweeps[1]])) == [runs[3], runs[1]]  # each once, in the order of the words


def test_a_filter_alone_and_beside_words(store, write):
    runs = [write([0, 1], lr=lr, seed=i) for i, lr in enumerate((0.1, 0.2, 0.1))]
    assert ids(chosen(store, where="lr = 0.1")) == [runs[0], runs[2]]
    assert ids(chosen(store, runs[:2], where="lr = 0.1")) == [runs[0]]
    with pytest.raises(ValueError, match=r"no run of the store .* meets lr > 1"):
        chosen(store, where="lr > 1")


def test_archived_runs_are_meant_only_by_name(store, write):
    runs = [write([0, 1], seed=i) for i in range(3)]
    marks.change(store, runs[1], marks.archive())
    assert ids(chosen(store)) == [runs[0], runs[2]]
    assert ids(chosen(store, [runs[1]])) == [runs[1]]


def test_an_empty_store(store):
    with pytest.raises(ValueError, match="was trained yet"):
        chosen(store)


def test_a_run_without_the_metric_is_left_out_and_said(store, write):
    there, lacking = write([1, 2], seed=1), write([], seed=2)
    runs, notes = read_runs(store, chosen(store, [there, lacking]), "eval/return")
    assert [run.id for run in runs] == [there]
    assert lacking in notes[0]
    with pytest.raises(ValueError, match="did you mean eval/return"):
        read_runs(store, chosen(store, [there]), "eval/retrun")
    with pytest.raises(ValueError, match="measured anything yet"):
        read_runs(store, chosen(store, [lacking]), "eval/return")


def test_a_run_that_was_extended_has_the_steps_to_which_it_was(store, write):
    import json

    from agonist.runs.folder import at

    run = write([1, 2])
    name = at(run, "summary.json")
    store.replace(name, json.dumps(json.loads(store.get(name)) | {"total": 900}).encode())
    [found], _ = read_runs(store, chosen(store, [run]), "eval/return")
    assert found.spec["steps"] == 900


def test_runs_that_were_brought_count_as_trained(store, write):
    runs = [write([0, 1], kind=kind, seed=i) for i, kind in enumerate(("train", "foreign", "foreign"))]
    assert ids(chosen(store)) == runs[1:]
    assert ids(chosen(store, where="kind = foreign")) == runs[1:]

"""`agonist plot metrics`."""

import time

import pytest

from agonist.runs import create, open_store


@pytest.fixture
def runs(tmp_path):
    """Three runs; the last has no loss and a single evaluation."""
    store = open_store(str(tmp_path / "store"))
    ids = []
    for i, points in enumerate((5, 5, 1)):
        time.sleep(0.002)  # runs of one millisecond are in no order
        out = create(store, "train", {"algo": "ppo", "env": "matrix:rps", "steps": 400, "seed": i, "lr": 0.1}, argv=[])
        for step in range(points):
            band = {"eval/return_low": step - 0.5, "eval/return_high": step + 0.5}
            out.metrics(100 * step, {"eval/return": float(step), **band} | ({"loss/policy": 1.0 / (step + 1)} if points > 1 else {}))
        out.heartbeat(100 * points)
        if points > 1:
            out.finish("finished")
        ids.append(out.id)
    return ids


def test_one_run(agonist, runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = agonist("plot", "metrics", runs[0], "--metric", "loss/policy", "--metric", "eval/return")
    assert said.code == 0, said.err
    assert said.out.index("loss/policy") < said.out.index("eval/return")
    assert runs[0].split("-", 2)[2] in said.out
    loss, _, evaluations = said.out.partition("eval/return")
    assert "..." not in loss  # a loss has no interval
    assert "..." in evaluations  # an evaluation has that of its episodes
    assert max(map(len, said.out.splitlines())) <= 80


def test_several_runs_are_told_apart(agonist, runs):
    said = agonist("plot", "metrics", *runs[:2])
    assert "A  " in said.out
    assert "seed=0" in said.out
    assert "seed=1" in said.out


def test_as_json(agonist, runs):
    told = agonist("plot", "metrics", *runs, "--metric", "loss/policy", "--json").json
    lines = told["metrics"]["loss/policy"]
    assert [label.rpartition(" ")[2] for label in lines] == ["seed=0", "seed=1"]
    first = next(iter(lines.values()))
    assert first["steps"] == [0, 100, 200, 300, 400]
    assert first["centre"][:2] == [1, 0.5]
    assert first["low"] == [None] * 5
    [note] = told["notes"]
    assert runs[2] in note


def test_seeds_as_one_line(agonist, runs):
    told = agonist("plot", "metrics", *runs[:2], "--group", "--json").json
    assert told["metrics"]["eval/return"]["all"]["n"] == [2] * 5


def test_a_run_that_has_just_begun(agonist, runs):
    said = agonist("plot", "metrics", runs[2])
    assert said.code == 0
    assert "a single point is no curve yet" in said.out


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture(agonist, runs, tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    said = agonist("plot", "metrics", *runs, "--metric", "eval/return", "--metric", "loss/policy", "--out", path)
    assert said.code == 0, said.err
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--metric", "loss/polici"], "did you mean loss/policy"),
        (["--out", "nowhere/x.png"], "there is no folder nowhere"),
        (["nobody"], "no run 'nobody'"),
    ],
)
def test_wrong_words(agonist, runs, words, sentence):
    said = agonist("plot", "metrics", *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_more_lines_than_can_be_told_apart(agonist, tmp_path):
    store = open_store(str(tmp_path / "store"))
    for i in range(9):
        time.sleep(0.002)  # runs of one millisecond are in no order
        out = create(store, "train", {"algo": "ppo", "env": "matrix:rps", "seed": i}, argv=[])
        out.metrics(0, {"eval/return": 1.0})
        out.finish("finished")
    said = agonist("plot", "metrics", "--where", "seed >= 0")
    assert said.code == 2
    assert "9 lines are more than the 8" in said.err
    assert "--group" in said.err

"""`agonist runs compare`, on runs that were written without training."""

import time

import pytest

from agonist.runs import create, open_store


@pytest.fixture
def sweep(tmp_path):
    """Two rates with five seeds each; the second is better. The ids of its runs."""
    store = open_store(str(tmp_path / "store"))
    parent = create(store, "sweep", {"algo": "ppo"}, argv=[])
    ids = []
    for lr, top in ((0.001, 0.5), (0.01, 0.9)):
        for seed in range(5):
            spec = {"algo": "ppo", "env": "matrix:rps", "steps": 400, "seed": seed, "lr": lr}
            time.sleep(0.002)  # runs of one millisecond are in no order
            out = create(store, "train", spec, parents=[parent.id], argv=[])
            for step in range(0, 401, 100):
                out.metrics(step, {"eval/return": (top + 0.01 * seed) * step / 400, "loss/policy": 1 - step / 400})
            out.heartbeat(400)
            out.finish("finished")
            ids.append(out.id)
    return ids


def test_the_newest_sweep_in_the_terminal(agonist, sweep, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = agonist("runs", "compare")
    assert said.code == 0, said.err
    for part in ("0.001", "0.01", "eval/return on matrix:rps", "0.92 [0.90, 0.94]", "better", "B against A: better by 0.4", "400 steps"):
        assert part in said.out
    assert max(len(line) for line in said.out.splitlines() if "against" not in line) <= 80


def test_in_ascii_the_letters_are_the_lines(agonist, sweep):
    """What the tests write to is no terminal that has more."""
    picture = agonist("runs", "compare").out.partition("steps")[0].partition("|")[2]
    assert picture.isascii()
    assert picture.count("A") > 20
    assert picture.count("B") > 20


def test_as_json_it_is_one_object(agonist, sweep):
    told = agonist("runs", "compare", "--json").json
    assert told["metric"] == "eval/return"
    assert [group["runs"] for group in told["groups"]] == [sweep[:5], sweep[5:]]
    first, second = told["tasks"]["matrix:rps"]
    assert (first["n"], first["mean"]) == (5, pytest.approx(0.52))
    assert (second["against"]["verdict"], second["against"]["seeds_needed"]) == ("better", None)
    assert set(told["differs"]) == {"seed", "lr"}


def test_named_runs_a_metric_and_few_seeds(agonist, sweep):
    told = agonist("runs", "compare", sweep[0], sweep[5], "--metric", "loss/policy", "--json").json
    _, second = told["tasks"]["matrix:rps"]
    assert second["against"]["verdict"] == "too few to tell"
    assert "one seed shows no spread" in second["against"]["sentence"]
    assert second["interval"] == [None, None]


def test_one_group_has_nothing_to_be_held_against(agonist, sweep):
    said = agonist("runs", "compare", sweep[0])
    assert said.code == 0
    assert "nothing to hold it against" in said.out
    assert "one seed tells nothing" in said.out


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture(agonist, sweep, tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    said = agonist("runs", "compare", "--out", path, "--dark", "--iqm")
    assert said.code == 0, said.err
    assert path.stat().st_size > 5_000
    assert f"wrote {path}" in said.out
    assert agonist("runs", "compare", "--out", path, "--json").json["out"] == str(path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "no run 'nobody'"),
        (["--metric", "eval/retrun"], "did you mean eval/return"),
        (["--out", "x.gif"], "a picture is a .png or a .svg"),
        (["--where", "lr = 7"], "meets lr = 7"),
        (["--where", "lr ="], "^"),
    ],
)
def test_wrong_words(agonist, sweep, words, sentence):
    said = agonist("runs", "compare", *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_a_filter(agonist, sweep):
    told = agonist("runs", "compare", "--where", "seed < 3 and lr = 0.01", "--json").json
    assert [group["runs"] for group in told["groups"]] == [sweep[5:8]]


def test_many_groups_are_listed_and_the_best_are_drawn(agonist, tmp_path):
    store = open_store(str(tmp_path / "store"))
    for i in range(11):
        time.sleep(0.002)  # runs of one millisecond are in no order
        out = create(store, "train", {"algo": "ppo", "env": "matrix:rps", "steps": 100, "seed": 0, "lr": i + 1}, argv=[])
        for step in (0, 100):
            out.metrics(step, {"eval/return": step * i})
        out.heartbeat(100)
        out.finish("finished")
    said = agonist("runs", "compare", "--where", "lr > 0")
    assert "drawn: the first group and the 7 best of 10 others" in said.out
    assert "K against A" in said.out
    picture = said.out.partition("|")[2].partition("drawn:")[0]
    assert {mark for mark in "ABCDEFGHIJK" if mark in picture} == set("AEFGHIJK")

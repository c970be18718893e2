"""Sweeps and studies by the command line: JSON, table, picture, going on, refusals."""

import pytest

STUDY = """
seeds = 2
steps = 512
rollout = 16
hidden = [8]
epochs = 1
shards = 1
minibatches = 1
eval_episodes = 4
[algos.ippo]
[algos.mappo]
[envs."matrix:rps"]
[envs."matrix:chicken"]
"""


def test_several_values_and_seeds_are_a_sweep(agonist, tiny, tmp_path):
    words = ["ppo", "matrix:chicken", *tiny, "lr=1e-3,3e-3", "--steps", 64, "--seeds", 3, "--seed", 5, "--store", tmp_path]
    said = agonist("train", *words, "--json")
    assert said.code == 0, said.err
    told = said.json
    assert [each["seed"] for each in told["runs"]] == [5, 6, 7] * 2
    assert all(each["status"] == "finished" and each["policy"] for each in told["runs"])
    for row, lr in zip(told["summary"], (0.001, 0.003), strict=True):
        assert row["keys"] == {"algo": "ppo", "env": "matrix:chicken", "lr": lr}
        assert row["n"] == 3
        assert row["interval"][0] < row["mean"] < row["interval"][1]
        assert "3 seeds are too few" in row["too_few"]
    [picture] = told["pictures"]
    with open(picture, "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    again = agonist("train", "--resume", told["sweep"], "--store", tmp_path)
    assert again.code == 0
    assert "3 seeds are too few to trust the interval" in again.out
    assert f"agonist runs compare {told['sweep']}" in again.out
    best = max(told["summary"], key=lambda row: row["mean"])
    assert again.out.splitlines()[4].split()[:2] == [f"{best['keys']['lr']:g}", "3"]  # the best stands first


def test_seeds_alone_are_a_sweep_too(agonist, tiny, tmp_path):
    said = agonist("train", "ppo", "matrix:rps", *tiny, "--steps", 64, "--seeds", 2, "--store", tmp_path)
    assert said.code == 0, said.err
    assert "ppo on matrix:rps" in said.out
    listed = agonist("runs", "list", "--store", tmp_path, "--json").json["runs"]
    assert sorted(row["kind"] for row in listed) == ["sweep", "train", "train"]


def test_a_drawn_sweep_says_what_it_would_do(agonist, tiny, tmp_path):
    said = agonist("sweep", "ppo", "matrix:rps", *tiny, "lr=1e-4..1e-2", "minibatches=1,2", "--trials", 6, "--dry-run", "--store", tmp_path)
    assert said.code == 0, said.err
    assert said.out.startswith("would train 6 runs (random), by 2 compiled programs:")
    halved = agonist(
        "sweep", "ppo", "matrix:rps", *tiny, "lr=1e-4..1e-2", "--method", "halving", "--dry-run", "--json", "--store", tmp_path
    )
    assert (halved.json["runs"], len(halved.json["rungs"])) == (16, 3)
    assert agonist("runs", "list", "--store", tmp_path, "--json").json["runs"] == []


def test_a_study_goes_on_where_it_was(agonist, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    plan = agonist("study", path, "--dry-run", "--json", "--store", tmp_path / "s").json
    assert (plan["runs"], plan["programs"]) == (8, 4)
    said = agonist("study", path, "--json", "--store", tmp_path / "s")
    assert said.code == 0, said.err
    told = said.json
    assert [row["keys"]["algo"] for row in told["summary"]] == ["ippo", "ippo", "mappo", "mappo"]
    assert {row["keys"]["points"] for row in told["overall"]} == {"ippo", "mappo"}
    assert len(told["pictures"]) == 2
    again = agonist("study", path, "--json", "--store", tmp_path / "s").json
    assert again == told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sweep ppo matrix:rps lrr=1,2", "ppo has no key 'lrr'; did you mean lr"),
        ("sweep ppo matrix:rps lr=1e-3,", "has an empty value between its commas"),
        ("sweep ppo matrix:rps lr=1e-3,2e-3 --method best", "a sweep is one of grid, random, halving, got 'best'"),
        ("sweep --resume latest lr=1,2", "a resumed sweep keeps its own keys: give nothing else, not lr"),
        ("study nothing.toml", "cannot read nothing.toml"),
        ("train nobody,ppo matrix:rps", "nothing called 'nobody' among agonist.algos"),
    ],
)
def test_what_is_wrong_is_said(agonist, tmp_path, words, sentence):
    said = agonist(*words.split(), "--store", tmp_path)
    assert said.code == 2
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1


def test_a_run_is_no_sweep(agonist, tiny, tmp_path):
    run = agonist("train", "ppo", "matrix:rps", *tiny, "--steps", 64, "--store", tmp_path, "--json").json["run"]
    said = agonist("sweep", "--resume", run, "--store", tmp_path)
    assert (said.code, f"run {run} is of kind 'train', no sweep and of none" in said.err) == (2, True)

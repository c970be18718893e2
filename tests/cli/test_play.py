"""`agonist evaluate` and `agonist watch`."""

import os

import pytest
from PIL import Image


def test_evaluate_tells_what_was_played(agonist, trained):
    store, run = trained
    said = agonist("evaluate", run["run"], "--episodes", 16, "--store", store, "--json")
    assert said.code == 0
    told = said.json
    assert told["policy"] == run["policy"]
    assert (told["env"], told["episodes"], told["play"], told["eval/length"]) == ("matrix:rps", 16, "sampled", 25.0)
    assert told["eval/interval"][0] <= told["eval/return"] <= told["eval/interval"][1]
    assert agonist("evaluate", run["run"], "--episodes", 16, "--store", store, "--json").json == told
    assert agonist("evaluate", run["run"], "--episodes", 16, "--seed", 1, "--store", store, "--json").json["seed"] == 1


def test_evaluate_a_hash_greedily_against_somebody(agonist, trained):
    store, run = trained
    words = ["evaluate", run["policy"][:8], "players.agents.1=random", "env.rounds=5", "--episodes", 8, "--greedy", "--store", store]
    told = agonist(*words, "--json").json
    assert (told["play"], told["eval/length"]) == ("greedy", 5.0)
    shown = agonist(*words)
    assert "8 greedy episodes" in shown.out
    assert run["policy"] in shown.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nothing", "no run 'nothing'"),
        ("latest@77", "no checkpoint 77"),
        ("latest --episodes 0", "episodes needs a whole number of 1 or more, got 0"),
        ("latest lr=3", "'lr' is no key here"),
        ("latest players.agent=random", "did you mean agents"),
        ("latest another", "one policy or run is played"),
        ("latest --env lbf:2s-8x8-2p-2f-coop", "observations [12]"),
        ("latest --env matrix:nothing", "matrix:nothing"),
    ],
)
def test_evaluate_and_watch_refuse_in_a_sentence(agonist, trained, words, sentence):
    for command in ("evaluate", "watch"):
        if command == "watch" and "--episodes" in words:
            continue
        said = agonist(command, *words.split(), "--store", trained[0])
        assert (said.code, said.out) == (2, ""), said
        assert sentence in said.err
        assert said.err.count("\n") == 1


def test_shapes_that_differ_are_both_named(agonist, trained):
    said = agonist("evaluate", "latest", "--env", "lbf:2s-8x8-2p-2f-coop", "--store", trained[0])
    assert "observations [1], actions Discrete(n=3)" in said.err
    assert "observations [12], actions Discrete(n=6)" in said.err


def test_watch_writes_a_film(agonist, trained, tmp_path):
    store, run = trained
    path = tmp_path / "x.gif"
    said = agonist(
        "watch", run["run"], "env.rounds=4", "--episodes", 2, "--fps", 10, "--seed", 7, "--out", path, "--store", store, "--json"
    )
    assert said.code == 0, said.err
    told = said.json
    assert [episode["seed"] for episode in told["episodes"]] == [7, 8]
    assert [episode["steps"] for episode in told["episodes"]] == [4, 4]
    assert (told["frames"], told["bytes"]) == (10, path.stat().st_size)
    with Image.open(path) as film:
        times = []
        for frame in range(film.n_frames):
            film.seek(frame)
            times.append(film.info["duration"])
    assert sum(times) == 2 * (4 * 100 + 1500)  # equal neighbours may be one frame, shown longer
    assert times[-1] >= 1500
    assert film.width >= 240
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.gif"]


def test_watch_says_what_it_wrote(agonist, trained, tmp_path):
    said = agonist("watch", "latest", "env.rounds=2", "--store", trained[0])
    assert said.code == 0
    assert "seed 0: 2 steps, return" in said.out
    assert "wrote watch.gif (3 pictures" in said.out
    assert (tmp_path / "watch.gif").is_file()


@pytest.mark.parametrize(
    ("out", "sentence"),
    [("x.png", "--out writes a .gif, such as x.gif; got 'x.png'"), ("no/x.gif", "there is no folder no"), ("folder.gif", "is a folder")],
)
def test_what_cannot_be_written_is_said_before_playing(agonist, trained, tmp_path, out, sentence):
    (tmp_path / "folder.gif").mkdir()
    said = agonist("watch", "latest", "--out", out, "--store", trained[0])
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_a_read_only_folder_is_a_sentence(agonist, trained, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    said = agonist("watch", "latest", "--out", "x.gif", "--store", trained[0])
    assert (said.code, said.out) == (2, "")
    assert "--out x.gif cannot be written: permission denied" in said.err

"""`agonist evaluate` and `agonist watch`."""

import os
import signal
import subprocess

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


def test_a_player_and_a_film_hold_the_same_episodes(agonist, trained):
    words = ["watch", "latest", "env.rounds=3", "--episodes", 2, "--store", trained[0], "--json"]
    page, gif = agonist(*words, "--out", "x.html").json, agonist(*words, "--out", "x.gif").json
    assert page["episodes"] == gif["episodes"]
    assert page["bytes"] < 60_000


def test_without_a_terminal_a_film_can_still_be_read(agonist, trained, tmp_path):
    said = agonist("watch", "latest", "env.rounds=3", "--terminal", "--store", trained[0])
    assert said.code == 0, said.err
    assert [row.split()[1] for row in said.out.splitlines() if row.startswith("step")] == ["0", "1", "2", "3"]
    assert "seed 0: 3 steps, return" in said.out
    assert "wrote" not in said.out
    assert not (tmp_path / "watch.gif").exists()


def test_json_keeps_stdout_to_itself(agonist, trained):
    said = agonist("watch", "latest", "env.rounds=3", "--terminal", "--store", trained[0], "--json")
    assert said.json["episodes"][0]["steps"] == 3
    assert said.json["out"] is None
    assert "step 3" in said.err


def test_an_episode_can_be_cut(agonist, trained):
    told = agonist("watch", "latest", "--limit", 2, "--out", "x.gif", "--store", trained[0], "--json").json
    assert (told["episodes"][0]["steps"], told["frames"]) == (2, 3)


def test_a_file_holds_so_many_steps_and_says_where_it_cuts(agonist, trained, monkeypatch):
    monkeypatch.setattr("agonist.cli.play.LONGEST", 3)
    words = ["watch", "latest", "--out", "x.gif", "--store", trained[0], "--json"]
    said = agonist(*words, "--episodes", 2)
    assert [episode["steps"] for episode in said.json["episodes"]] == [3, 3]
    assert "agonist: the episodes of seeds 0, 1 went on after 3 steps, where the film ends; --limit N shows more" in said.err
    for more, steps in ((["--limit", 4], 4), (["env.rounds=3"], 3)):
        said = agonist(*words, *more)
        assert said.json["episodes"][0]["steps"] == steps
        assert "went on" not in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--out x.png", "--out writes .gif, .mp4 or .html, such as x.html; got 'x.png'"),
        ("--out no/x.gif", "there is no folder no"),
        ("--out folder.gif", "is a folder"),
        ("--out x.gif --terminal", "--terminal plays here and --out x.gif writes a file: give one of them"),
        ("--fps nan", "--fps"),
        ("--fps 99", "--fps"),
        ("--episodes 0", "--episodes"),
        ("--limit 0", "--limit"),
    ],
)
def test_what_cannot_be_done_is_said_before_playing(agonist, trained, tmp_path, words, sentence):
    (tmp_path / "folder.gif").mkdir()
    said = agonist("watch", "latest", *words.split(), "--store", trained[0])
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_an_environment_that_cannot_draw_is_a_sentence(agonist, trained, monkeypatch):
    def undrawn(game, joint):
        raise NotImplementedError

    monkeypatch.setattr("agonist.envs.matrix.render", undrawn)
    said = agonist("watch", "latest", "--out", "x.gif", "--store", trained[0])
    assert (said.code, said.out) == (2, "")
    assert "matrix:rps draws no pictures" in said.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_on_a_terminal_it_plays_there(script, trained, tmp_path):
    """Ctrl-C in the middle of a film: exit code 130, the screen given back, the cursor shown."""
    ours, theirs = os.openpty()
    words = [*script, "watch", "latest", "env.rounds=500", "--fps", "50", "--store", trained[0]]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm-256color"}) as run:
        os.close(theirs)
        seen = b""
        while b"step 3 " not in seen:
            seen += os.read(ours, 65536)
        run.send_signal(signal.SIGINT)
        try:
            while chunk := os.read(ours, 65536):
                seen += chunk
        except OSError:  # the other end has gone
            pass
        assert run.wait(20) == 130
    os.close(ours)
    assert seen.count(b"\x1b[?1049h") == seen.count(b"\x1b[?1049l") == 1
    assert seen.rfind(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l")
    assert "▀".encode() in seen
    assert not (tmp_path / "watch.gif").exists()

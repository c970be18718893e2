"""`agonist train`, by its words: what it says, what it leaves in the store, and what it refuses."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest


def test_json_is_one_object_and_the_rest_is_on_stderr(trained, agonist, tiny, tmp_path):
    said = agonist("train", "ppo", "matrix:rps", *tiny, "--steps", 200, "--seed", 3, "--store", tmp_path / "s", "--json")
    assert said.code == 0
    result = said.json
    assert result["status"] == "finished"
    assert result["steps"] == 192  # whole updates of 64
    assert result["eval/episodes"] == 40
    assert result["eval/play"] == "sampled"
    low, high = result["eval/interval"]
    assert low <= result["eval/return"] <= high
    assert {"run", "policy", "policy_last", "perf/env_steps_per_second", "wall_seconds"} <= set(result)
    assert "compiling" in said.err
    assert "finished" in said.err
    assert all(result["run"] in line for line in said.err.splitlines())


def test_a_person_sees_the_curve_and_what_to_type_next(agonist, tiny):
    said = agonist("train", "ppo", "matrix:rps", *tiny, "--steps", 320)
    assert said.code == 0
    run = agonist("runs", "list", "--json").json["runs"][0]["run"]
    words = run.split("-", 2)[-1]
    for part in ("eval/return", "320 steps", f"run     {run}", "mean of 40 sampled episodes", f"agonist watch {words}"):
        assert part in said.out
    assert said.out.isascii()  # the stream names no encoding


def test_a_finished_run_goes_on(agonist, trained, tmp_path):
    store = str(tmp_path / "copy")
    shutil.copytree(trained[0], store)
    before = trained[1]
    again = agonist("train", "--resume", "latest", "--store", store, "--json")
    assert again.json == before | {"status": "finished"}
    said = agonist("train", "--resume", before["run"], "--steps", 448, "--store", store, "--json")
    assert said.code == 0
    assert (said.json["run"], said.json["steps"]) == (before["run"], 448)
    assert said.json["policy_last"] != before["policy_last"]
    shrunk = agonist("train", "--resume", before["run"], "--steps", 64, "--store", store)
    assert shrunk.code == 2
    assert "448" in shrunk.err
    assert "64" in shrunk.err


def test_a_file_of_keys_says_the_same_again(agonist, tmp_path):
    words = [
        "ppo",
        "lighthouse:3x2",
        "lr=1e-3",
        "hidden=[16,8]",
        "env.rivals=true",
        "roles.ship.lr=5e-4",
        "players.keeper=random",
        "--seed",
        4,
    ]
    printed = agonist("train", *words, "--steps", "1e5", "--greedy", "--print-config")
    assert printed.code == 0
    path = tmp_path / "run.toml"
    path.write_text(printed.out)
    assert agonist("train", "--config", path, "--print-config").out == printed.out
    told = agonist("train", "--config", path, "--print-config", "--json").json
    assert (told["algo"], told["steps"], told["seed"], told["hidden"], told["sampled"]) == ("ppo", 100_000, 4, [16, 8], False)
    assert (told["env.rivals"], told["roles.ship.lr"], told["players.keeper"]) == ("true", 0.0005, "random")
    changed = agonist("train", "--config", path, "lr=0.5", "--seed", 9, "--print-config", "--json").json
    assert changed == told | {"lr": 0.5, "seed": 9}
    assert "# step size of every Adam" in printed.out


def test_a_dry_run_checks_and_changes_nothing(agonist, tmp_path):
    said = agonist("train", "mappo", "lbf:2s-8x8-2p-2f-coop", "--steps", "1e5", "--dry-run", "--json")
    assert said.code == 0
    assert said.json["updates"] == 24
    assert said.json["spec"]["steps"] == 24 * 4096
    assert said.json["evaluations"] == 4
    assert said.json["trains"] == ["agents"]
    assert agonist("train", "ppo", "lbf:2s-8x8-2p-2f-coop", "--steps", "1e5", "--dry-run").out.startswith("would train ppo on lbf")
    assert list(tmp_path.iterdir()) == []


BAD = [
    ("ppo lbx:8x8-2p-2f", "did you mean lbf?"),
    ("ppo lbf:2s-8x8-2p-2f-coo", "did you mean 2s-8x8-2p-2f-coop"),
    ("ppo lbf", "such as lbf:"),
    ("pppo matrix:rps", "did you mean ppo"),
    ("ppo matrix:rps gama=0.9", "no key 'gama'; did you mean gamma?"),
    ("ppo matrix:rps env.roundz=3", "no key 'roundz'; did you mean rounds?"),
    ("ppo matrix:rps lr=fast", "lr needs a number such as 0.99 or 3e-4, got 'fast'"),
    ("ppo matrix:rps rollout=1.5", "rollout needs a whole number"),
    ("ppo matrix:rps hidden=128", "hidden needs a list such as [128,128], got '128'"),
    ("ppo matrix:rps recurrent=perhaps", "recurrent needs true or false"),
    ("ppo matrix:rps gamma=1.5", "gamma needs a value from 0 to 1, got 1.5"),
    ("ppo matrix:rps critic=global", "critic is one of observation, state"),
    ("mappo matrix:rps critic=observation", "mappo means critic=state"),
    ("ppo matrix:rps minibatches=3 envs=4 shards=1", "got minibatches=3"),
    ("ppo matrix:rps recurrent=true chunk=48 rollout=32", "chunk=48, rollout=32"),
    ("ppo matrix:rps shards=3", "shards=3, envs=32"),
    ("ppo matrix:rps shards=0", "shards needs a value of 1 or more"),
    ("ppo matrix:rps torso=cnn", "torso=cnn needs observations"),
    ("ppo matrix:rps --steps 10", "steps=10 is less than one update, which is 4,096"),
    ("ppo matrix:rps --steps many", "steps needs a whole number"),
    ("ppo matrix:rps --steps -5", "steps needs a whole number"),
    ("ppo matrix:rps players.agent=random", "did you mean agents"),
    ("ppo matrix:rps players.agents=random", "nobody in this line-up learns"),
    ("ppo matrix:rps players.agents.0=no-such-run", "no run 'no-such-run'"),
    ("ppo lighthouse:3x2 roles.shipp.lr=1", "did you mean ship?"),
    ("ppo lighthouse:3x2 roles.ship.lrr=1", "did you mean lr?"),
    ("ppo lighthouse:3x2 roles.ship=1", "roles.ROLE.KEY=VALUE"),
    ("ppo", "need env, such as lbf:"),
    ("", "need algo, such as ppo"),
    ("ppo matrix:rps lr", "keys are written key=value; got ppo matrix:rps lr"),
    ("ppo matrix:rps lr=1 lr=2", "lr is given twice: '1' and '2'"),
    ("ppo matrix:rps store=x", "write --store"),
    ("--config no.toml", "cannot read no.toml"),
    ("--config bad.toml", "bad.toml is no TOML"),
    ("ppo matrix:rps --store ftp://x", "unknown scheme 'ftp'"),
    ("--resume nothing", "no run 'nothing'"),
    ("--resume nothing lr=3 --seed 1", "give --steps and nothing else, not lr, --seed"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD)
def test_what_is_wrong_is_said_in_a_sentence(agonist, words, sentence, tmp_path):
    (tmp_path / "bad.toml").write_text("lr = = 3")
    said = agonist("train", *words.split())
    assert (said.code, said.out) == (2, ""), said
    assert sentence in said.err
    assert "Traceback" not in said.err
    assert said.err.splitlines()[-1].startswith("agonist: ")


@pytest.mark.parametrize(
    "words", ["train ppo matrix:rps --steps 10", "evaluate nothing", "watch nothing", "runs show nothing", "envs nothing", "algos nothing"]
)
def test_a_refusal_leaves_stdout_empty_for_programs_too(agonist, words):
    said = agonist(*words.split(), "--json")
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1


def test_a_loss_that_is_no_number_fails_and_says_which(agonist, tiny):
    said = agonist("train", "ppo", "lbf:2s-5x5-2p-1f", *tiny, "lr=1e38", "max_grad_norm=1e38", "--steps", 640, "--json")
    assert (said.code, said.out) == (1, "")
    sentence = said.err.splitlines()[-1]
    assert "is nan at update" in sentence or "is inf at update" in sentence
    assert "loss/" in sentence or "policy/" in sentence or "grad/" in sentence
    [row] = agonist("runs", "list", "--json").json["runs"]
    assert row["status"] == "failed"
    assert row["run"] in sentence


def test_a_store_that_cannot_be_is_a_sentence(agonist, tiny, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for command in (["train", "ppo", "matrix:rps", *tiny], ["runs", "list"], ["evaluate", "latest"]):
        said = agonist(*command, "--store", tmp_path / "file", "--json")
        assert (said.code, said.out) == (1, ""), said
        assert str(tmp_path / "file") in said.err
        assert "Traceback" not in said.err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_saves_and_says_how_to_go_on(agonist, script, tiny, tmp_path):
    store = str(tmp_path / "store")
    words = [*script, "train", "ppo", "matrix:rps", *tiny, "--steps", "1e8", "--store", store, "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ""
    while " training " not in said:
        said = process.stderr.readline()
        assert said, "training never began"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    [row] = agonist("runs", "list", "--store", store, "--json").json["runs"]
    assert row["status"] == "interrupted"
    assert err.splitlines()[-1].endswith(f"go on with: agonist train --resume {row['run']} --store {store}")
    gone_on = agonist("train", "--resume", row["run"], "--store", store, "--steps", row["steps"] + 64, "--json")
    assert (gone_on.code, gone_on.json["steps"]) == (0, row["steps"] + 64)


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are of POSIX")
def test_on_a_terminal_there_is_a_panel_and_stdout_stays_pure(script, tiny, tmp_path):
    """stderr is a pseudo-terminal, stdout a pipe: the panel is drawn and the object is still alone."""
    import pty

    ours, theirs = pty.openpty()
    words = [*script, "train", "ppo", "matrix:rps", *tiny, "--steps", "320", "--store", str(tmp_path / "s"), "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "PYTHONUTF8": "1"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        seen += part
    out = process.communicate(timeout=60)[0]
    os.close(ours)
    assert process.returncode == 0
    assert json.loads(out)["status"] == "finished"
    text = seen.decode()
    assert "╭" in text
    assert "320 / 320 steps" in text
    assert "eval" not in out.partition("{")[0]


def test_training_imports_no_command_line(script):
    code = "import sys, agonist; agonist.train; sys.exit(bool({'typer', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

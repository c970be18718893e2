"""`agonist runs list` and `agonist runs show`."""

import json
import shutil

import pytest

from agonist.cli.runs import _fitting
from agonist.runs import create, open_store


def test_list_tells_a_row_a_run(agonist, trained):
    store, run = trained
    [row] = agonist("runs", "list", "--store", store, "--json").json["runs"]
    assert (row["run"], row["kind"], row["algo"], row["env"], row["seed"]) == (run["run"], "train", "ppo", "matrix:rps", 0)
    assert (row["status"], row["steps"], row["policy"]) == ("finished", 320, run["policy"])
    assert row["eval/return"] == run["eval/return"]
    assert row["eval/interval"] == run["eval/interval"]


def test_limit_takes_the_newest(agonist, tmp_path):
    store = open_store(str(tmp_path / "store"))
    ids = sorted(create(store, "train", {"algo": "ppo", "env": "x", "seed": i}, argv=[]).id for i in range(5))
    every = agonist("runs", "list", "--json").json["runs"]
    assert [row["run"] for row in every] == ids
    assert [row["run"] for row in agonist("runs", "list", "--limit", 2, "--json").json["runs"]] == ids[-2:]
    assert "2 of 5 runs in" in agonist("runs", "list", "--limit", 2).out


def test_an_empty_store_says_how_to_begin(agonist):
    said = agonist("runs", "list")
    assert said.code == 0
    assert "no runs in" in said.out
    assert "agonist train" in said.out
    assert agonist("runs", "list", "--json").json == {"runs": []}


def test_a_narrow_terminal_loses_columns_not_letters(agonist, trained, monkeypatch):
    store, run = trained
    wide = agonist("runs", "list", "--store", store).out
    assert run["run"] in wide
    for part in ("matrix:rps", "finished", "320", "1 run in"):
        assert part in wide
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = agonist("runs", "list", "--store", store).out.splitlines()
        assert max(len(line.rstrip()) for line in narrow[:-1]) <= width
        assert run["run"].split("-", 2)[-1] in narrow[1]
        assert "…" not in "".join(narrow)


def test_which_columns_fit():
    cell = {
        "run": "20261119-214342-fast-hoopoe",
        "kind": "train",
        "algo": "ppo",
        "env": "matrix:rps",
        "seed": "0",
        "return": "0.97 [0.95, 0.99]",
    }
    assert _fitting([cell], 200) == (list(cell), True)
    assert _fitting([cell], 70) == (list(cell), False)
    assert _fitting([cell], 55) == (["run", "algo", "env", "return"], False)


def test_show_tells_everything(agonist, trained):
    store, run = trained
    told = agonist("runs", "show", "latest", "--store", store, "--json").json
    assert told["run"] == run["run"]
    assert told["folder"].endswith(run["run"])
    assert told["spec"]["hidden"] == [8]
    assert told["summary"]["policy"] == run["policy"]
    assert [checkpoint["step"] for checkpoint in told["checkpoints"]] == [0, 64, 128, 192, 256, 320]
    assert told["checkpoints"][-1]["resumable"]
    assert told["metrics"]["eval/return"]["points"] == 6
    assert told["metrics"]["loss/policy"]["step"] == 320
    assert [event["kind"] for event in told["events"] if event["kind"] != "heartbeat"] == ["started", "finished"]
    assert told["problems"] == []
    shown = agonist("runs", "show", run["run"].split("-", 2)[-1], "--store", store)
    for part in (run["run"], "finished", "eval/return", "320 steps", "loss/policy", "resumable", "started", run["policy"]):
        assert part in shown.out


def test_show_of_a_damaged_run_is_a_sentence_and_what_is_left(agonist, trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained[0], copy)
    segment = next((copy / "runs").rglob("metrics/*.parquet"))
    segment.write_bytes(segment.read_bytes()[:50])
    said = agonist("runs", "show", "latest", "--store", copy, "--json")
    assert said.code == 0
    [problem] = said.json["problems"]
    assert segment.name in problem
    assert "Traceback" not in said.err


def test_a_run_of_a_newer_version_is_refused(agonist, trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained[0], copy)
    head = next((copy / "runs").glob("*/run.json"))
    head.write_text(json.dumps(json.loads(head.read_text()) | {"format": 999}))
    for words in (["runs", "show", "latest"], ["train", "--resume", "latest", "--steps", 640], ["evaluate", "latest"]):
        said = agonist(*words, "--store", copy)
        assert (said.code, said.out) == (1, ""), said
        assert "999" in said.err
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["nothing", "20261119", "", "*"])
def test_an_unknown_run(agonist, trained, name):
    said = agonist("runs", "show", name, "--store", trained[0])
    if name and trained[1]["run"].startswith(name):
        assert said.code == 0
        return
    assert (said.code, said.out) == (2, "")
    assert trained[1]["run"] in said.err

"""`agonist runs show`: one run, of whatever kind."""

import json
import shutil

import pytest

from agonist.runs import create, marks, open_store


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
    assert told["bytes"] > sum(checkpoint["bytes"] for checkpoint in told["checkpoints"]) / 2
    shown = agonist("runs", "show", run["run"].split("-", 2)[-1], "--store", store)
    for part in (run["run"], "finished", "eval/return", "320 steps", "loss/policy", "resumable", "started", run["policy"], "agonist watch"):
        assert part in shown.out
    assert f"--store {store}" in shown.out


def test_tags_notes_parents_and_what_comes_next(agonist, tmp_path):
    store = open_store(str(tmp_path / "store"))
    sweep = create(store, "sweep", {"algo": "ppo", "lr": [0.1, 0.2]}, argv=[], run_id="20260101-000000-calm-heron")
    for i in range(3):
        child = create(store, "train", {"algo": "ppo", "seed": i % 2, "lr": 0.1 * (i + 1)}, parents=[sweep.id], argv=[])
        child.checkpoint(8, 1, {}, {}, {})
        child.finish("interrupted")
    marks.change(store, sweep.id, marks.tag("paper"))
    marks.change(store, sweep.id, marks.note("looks\ngood"))
    marks.change(store, sweep.id, marks.archive())
    sweep.finish("finished")
    told = agonist("runs", "show", "calm-heron", "--json").json
    assert (told["kind"], told["summary"]["tags"], told["notes"][0]["text"]) == ("sweep", ["paper"], "looks\ngood")
    assert [row["keys"] for row in sorted(told["children"], key=lambda row: row["keys"]["lr"])] == [{"lr": 0.1 * (i + 1)} for i in range(3)]
    assert told["next"] == ["agonist runs compare calm-heron"]
    out = agonist("runs", "show", "calm-heron").out
    for part in ("#paper", "archived", "good", "child", "lr=0.1", "interrupted", "sweep"):
        assert part in out
    assert "checkpoint" not in out
    shown = agonist("runs", "show", told["children"][0]["run"])
    assert "part of  20260101-000000-calm-heron" in shown.out
    assert "agonist train --resume" in shown.out


def test_a_kind_that_is_not_known_is_shown_all_the_same(agonist, tmp_path):
    store = open_store(str(tmp_path / "store"))
    create(store, "tournament", {}, argv=[], parents=["gone"]).finish("failed", why="no player came")
    said = agonist("runs", "show", "latest")
    assert said.code == 0
    for part in ("tournament", "failed", "no player came", "part of  gone"):
        assert part in said.out
    assert "next" not in said.out


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
    head.write_text(json.dumps(json.loads(head.read_text()) | {"format": 999, "versions": {"agonist": "9.2"}}))
    for words in (["runs", "show", "latest"], ["train", "--resume", "latest", "--steps", 640], ["evaluate", "latest"]):
        said = agonist(*words, "--store", copy)
        assert (said.code, said.out) == (1, ""), said
        assert "999" in said.err
        assert "agonist>=9.2" in said.err
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["nothing", "20261119", "", "*"])
def test_an_unknown_run(agonist, trained, name):
    said = agonist("runs", "show", name, "--store", trained[0])
    if name and trained[1]["run"].startswith(name):
        assert said.code == 0
        return
    assert (said.code, said.out) == (2, "")
    assert trained[1]["run"] in said.err

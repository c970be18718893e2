import json
import re
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from agonist import runs
from agonist.checkpoints import PolicyContent
from agonist.runs import writer as module
from agonist.runs.folder import at
from agonist.runs.process import this_process
from agonist.runs.store import DirectoryStore, StoreError
from agonist.testing.store import MemoryStore

SPEC = {"algo": "ppo", "env": "lbf:x", "seed": 3, "lr": 3e-4}


def policy(step, role="agents"):
    return PolicyContent({"role": role}, {"w": np.full(4, step, np.float32)}, {"step": step})


def state(step):
    return {"a": np.arange(6.0) + step, "key": np.array([1, step], np.uint32), "count": np.asarray(step)}


def checkpoint(run, step, facts=None, **more):
    return run.checkpoint(step, step // 10, state(step), facts or {}, {"agents": policy(step)}, **more)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def run(store):
    return runs.create(store, "train", SPEC, parents=["p"], argv=["agonist", "train"], extra={"note": "x"})


def states(store, run):
    return [info.step for info in runs.checkpoints(store, run.id) if f"checkpoints/{info.name}/state.safetensors" in info.files]


def test_a_new_run_says_all_about_itself(store, run):
    head = runs.read_run(store, run.id)
    assert (head["format"], head["id"], head["kind"], head["spec"], head["parents"]) == (1, run.id, "train", SPEC, ["p"])
    assert (head["argv"], head["extra"]) == (["agonist", "train"], {"note": "x"})
    assert {"python", "agonist", "jax", "numpy"} <= set(head["versions"])
    assert head["machine"]["cpus"] >= 1
    summary = head["summary"]
    assert (summary["status"], summary["algo"], summary["env"], summary["seed"]) == ("running", "ppo", "lbf:x", 3)
    assert (summary["pid"], summary["host"]) == (this_process()["pid"], this_process()["host"])
    assert [event["kind"] for event in runs.read_events(store, run.id)] == ["started"]


def test_a_spec_that_json_cannot_hold_is_refused_before_anything_is_written(store):
    with pytest.raises(ValueError, match=r"spec\.lr is nan"):
        runs.create(store, "train", {"lr": float("nan")})
    assert not store.objects


def test_two_runs_of_one_second_have_two_ids(store, monkeypatch):
    ids = iter(["20260101-000000-calm-heron"] * 3 + ["20260101-000000-wise-otter"])
    monkeypatch.setattr(module, "new_id", lambda: next(ids))
    assert runs.create(store, "train", {}).id != runs.create(store, "train", {}).id
    assert len(runs.list_runs(store)) == 2


def test_a_reserved_id_is_used_once(store):
    assert runs.create(store, "train", {}, argv=[], run_id="20260101-000000-calm-heron").id == "20260101-000000-calm-heron"
    with pytest.raises(ValueError, match="has a run 20260101-000000-calm-heron already"):
        runs.create(store, "sweep", {}, argv=[], run_id="20260101-000000-calm-heron")
    assert runs.read_run(store, "20260101-000000-calm-heron")["kind"] == "train"


def test_the_summary_tells_the_whole_spec_and_the_parent(store, run):
    for summary in (runs.list_runs(store)[0], runs.read_run(store, run.id)["summary"]):
        assert (summary["spec"], summary["parent"]) == (SPEC, "p")
    run.finish("interrupted")
    again, _ = runs.open_for_resume(store, run.id)
    assert again.summary["spec"] == SPEC


def test_points_are_visible_with_the_heartbeat(store, run):
    run.metrics(5, {"loss/a": np.float32(0.5), "loss/b": float("-inf")}, time_s=123.0)
    assert runs.read_metrics(store, run.id) == {}
    run.heartbeat(5)
    series = runs.read_metrics(store, run.id)
    assert [column.tolist() for column in series["loss/a"]] == [[5], [123.0], [0.5]]
    assert series["loss/b"][2].tolist() == [float("-inf")]
    assert list(runs.read_metrics(store, run.id, ["loss/b", "loss/none"])) == ["loss/b"]


def test_heartbeats_write_at_their_own_pace(store, run, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    live, written = at(run.id, "metrics/live.jsonl"), []
    for _ in range(60):
        now[0] += 0.1
        run.metrics(1, {"a": 1.0})
        run.heartbeat()
        written.append(store.objects.get(live))
    assert 5 <= len(set(written)) <= 7


def test_live_points_and_log_are_not_rewritten_without_news(store, run):
    run.metrics(1, {"a": 1.0})
    run.log("hello")
    run.heartbeat()
    del store.objects[at(run.id, "metrics/live.jsonl")], store.objects[at(run.id, "logs/000001-000001.log")]
    run._next_live = 0.0
    run.heartbeat()
    assert not [*store.list(at(run.id, "metrics/")), *store.list(at(run.id, "logs/"))]


def test_summary_event_log_and_media(store, run):
    run.metrics(7, {"loss/a": 1.0})
    run.metrics(8, {"loss/a": float("nan"), "loss/b": 2.0})
    run.summarise(best={"eval/return": np.float64(0.5)}, policy="abc", steps=8)
    run.event("noted", text="é", loss=float("nan"))
    run.log("one")
    run.log("two\n")
    run.media("clips/a.gif", b"GIF")
    run.finish("failed", why="NaN in loss/a")
    summary = runs.read_run(store, run.id)["summary"]
    assert summary["last"] == {"loss/a": None, "loss/b": 2.0}
    assert (summary["best"], summary["policy"], summary["steps"], summary["status"]) == ({"eval/return": 0.5}, "abc", 8, "failed")
    events = runs.read_events(store, run.id)
    assert [event["kind"] for event in events] == ["started", "noted", "failed"]
    assert (events[1]["text"], events[1]["loss"], events[2]["why"]) == ("é", None, "NaN in loss/a")
    assert runs.read_log(store, run.id) == "one\ntwo\n"
    assert store.get(at(run.id, "media/clips/a.gif")) == b"GIF"
    assert set(runs.read_metrics(store, run.id)) == {"loss/a", "loss/b"}  # what a failed run had not sealed is there
    with pytest.raises(ValueError, match="cannot name"):
        run.media("../run.json", b"")
    with pytest.raises(ValueError, match="finished, interrupted, failed"):
        run.finish("done")


def test_a_long_log_goes_on_in_parts(store, run):
    for i in range(3000):
        run.log(f"{i:060d}")
        run.heartbeat()
    run.finish("finished")
    assert len([*store.list(at(run.id, "logs/"))]) > 1
    assert runs.read_log(store, run.id) == "".join(f"{i:060d}\n" for i in range(3000))


def test_a_checkpoint_holds_state_and_policies_to_the_bit(store, run):
    run.metrics(10, {"loss/a": 1.0})
    name = checkpoint(run, 10, {"best": {"step": 10, "value": 0.5}}, best={"agents": policy(5)})
    content = runs.load_checkpoint(store, run.id)
    assert (content.info.name, content.info.step, content.info.update, content.info.segments) == (name, 10, 1, 1)
    for key, array in state(10).items():
        assert (content.state[key].dtype, content.state[key].tobytes()) == (array.dtype, array.tobytes())
    assert content.policies["agents"].name == policy(10).name == content.info.policy_names["agents"]
    assert content.best["agents"].name == policy(5).name == content.info.best_names["agents"]
    for info_file, record in content.info.files.items():
        assert len(store.get(at(run.id, info_file))) == record["size"]


def test_a_checkpoints_hash_is_of_step_arrays_and_policies_only(monkeypatch):
    def name_of(step=10, provenance="a", facts=None, delay=0, **change):
        run = runs.create(MemoryStore(), "train", SPEC)
        monkeypatch.setattr(module, "now", lambda: f"2026-01-01T00:00:{delay:02d}+00:00")
        run.metrics(step, {"loss": 1.0}, time_s=float(delay))
        content = PolicyContent({}, {"w": np.zeros(3)}, {"run": provenance})
        return run.checkpoint(step, 1, {**state(10), **change}, facts or {}, {"agents": content})

    same = name_of()
    assert same == name_of(provenance="b", facts={"x": 1}, delay=7)
    assert len({same, name_of(step=11), name_of(a=np.arange(6.0)), name_of(more=np.zeros(1))}) == 4


def test_a_policy_of_a_run_is_stored_once(store, run):
    checkpoint(run, 10, best={"agents": policy(10)})
    checkpoint(run, 20, best={"agents": policy(10)})
    assert len([name for name in store.list("") if name.endswith("tensors.safetensors")]) == 2
    second = runs.load_checkpoint(store, run.id)
    assert second.best["agents"].name == policy(10).name
    runs.open_for_resume(store, run.id)[0].checkpoint(30, 3, state(30), {}, {"agents": policy(10)}, best={"agents": policy(20)})
    assert len([name for name in store.list("") if name.endswith("tensors.safetensors")]) == 2
    assert runs.load_checkpoint(store, run.id).best["agents"].name == policy(20).name


def test_old_checkpoints_let_their_state_go_but_the_best_stays(store):
    run = runs.create(store, "train", SPEC, keep=2)
    for step in range(10, 70, 10):
        checkpoint(run, step, {"best": {"step": 20, "value": 1.0}})
    assert states(store, run) == [20, 50, 60]
    assert [info.resumable for info in runs.checkpoints(store, run.id)] == [False, True, False, False, True, True]
    assert len([name for name in store.list("") if name.endswith("state.safetensors")]) == 3
    assert runs.load_checkpoint(store, run.id, "best").info.step == 20
    assert runs.run_policies(store, run.id, 30)["agents"].name == policy(30).name
    with pytest.raises(ValueError, match=r"step 30\) let its state go"):
        runs.load_checkpoint(store, run.id, 30)
    checkpoint(run, 70, {"best": {"step": 70, "value": 2.0}})
    assert states(store, run) == [60, 70]
    with pytest.raises(ValueError, match="keep >= 1"):
        runs.create(store, "train", {}, keep=0)


def test_the_same_checkpoint_again_is_one_with_the_newest_facts(store, run):
    run.metrics(10, {"loss/a": 1.0})
    name = checkpoint(run, 10)
    assert checkpoint(run, 10, {"final": True}) == name
    assert runs.load_checkpoint(store, run.id).info.facts == {"final": True}
    assert [line["kind"] for line in runs.read_ledger(store, run.id)] == ["segment", "checkpoint"]


def test_the_ledger_is_a_line_a_segment_checkpoint_and_transcript(store, run):
    run.metrics(10, {"loss/a": 1.0})
    run.evaluation(10, {"returns": [1.0, 0.5]})
    checkpoint(run, 10)
    ledger = runs.read_ledger(store, run.id)
    assert [(line["step"], line["kind"]) for line in ledger] == [(10, "evaluation"), (10, "segment"), (10, "checkpoint")]
    assert all(set(line) == {"step", "kind", "sha256"} and len(line["sha256"]) == 64 for line in ledger)
    assert ledger[2]["sha256"].startswith(runs.checkpoints(store, run.id)[0].name)
    assert json.loads(store.get(at(run.id, "evaluations/000000000010-eval.json"))) == {"returns": [1.0, 0.5]}


def test_a_run_without_checkpoint_resumes_from_its_beginning(store, run):
    run.metrics(5, {"a": 1.0})
    run.heartbeat(5)
    again, content = runs.open_for_resume(store, run.id)
    assert content is None
    assert (again.id, again.summary["steps"], again.warnings) == (run.id, 0, ())
    assert runs.read_metrics(store, run.id) == {}


def harm(store, name, how):
    store.objects[name] = how(store.objects[name])


@pytest.mark.parametrize(
    ("file", "how", "words"),
    [
        ("state.safetensors", lambda d: d[:-3], "truncated: .* of .* bytes"),
        ("state.safetensors", lambda d: d[:-3] + b"abc", "altered"),
        ("checkpoint.json", lambda d: d[: len(d) // 2], "is damaged"),
        ("checkpoint.json", lambda d: b"{}", "does not say its format"),
        ("tensors.safetensors", lambda d: b"", "truncated: 0 of"),
    ],
)
def test_a_damaged_checkpoint_is_told_and_passed_over(store, run, file, how, words):
    for step in (10, 20):
        run.metrics(step, {"a": float(step)})
        checkpoint(run, step)
    run.evaluation(20, {"returns": [1.0]})
    newest = runs.checkpoints(store, run.id)[-1].name
    harm(store, next(name for name in store.list(at(run.id, "checkpoints", newest)) if name.endswith(file)), how)
    again, content = runs.open_for_resume(store, run.id)
    assert content.info.step == 10
    assert len(again.warnings) == 1
    assert re.search(words, again.warnings[0])
    assert [line["step"] for line in runs.read_ledger(store, run.id)] == [10, 10]
    assert runs.read_metrics(store, run.id)["a"][0].tolist() == [10]
    assert [info.step for info in runs.checkpoints(store, run.id)] == [10]
    assert not [*store.list(at(run.id, "evaluations/"))]
    again.metrics(20, {"a": 20.0})
    checkpoint(again, 20)
    assert [line["step"] for line in runs.read_ledger(store, run.id)] == [10, 10, 20, 20]
    assert [info.step for info in runs.checkpoints(store, run.id)] == [10, 20]


def test_a_run_with_no_whole_checkpoint_left_is_not_begun_again_in_silence(store, run):
    for step in (10, 20, 30):
        run.metrics(step, {"a": float(step)})
        checkpoint(run, step)
    for name in [*store.list("")]:
        if name.endswith("state.safetensors"):
            harm(store, name, lambda data: data[:-1])
    before = dict(store.objects)
    with pytest.raises(ValueError, match=r"no checkpoint that it could resume from: .*step 30.*step 20.*metrics and policies are there"):
        runs.open_for_resume(store, run.id)
    assert store.objects == before


def test_an_interim_checkpoint_turns_regular_where_the_run_goes_on(store, run):
    """Stopped exactly where a regular one was due."""
    run.metrics(10, {"a": 1.0})
    name = checkpoint(run, 10, interim=True)
    assert runs.read_ledger(store, run.id) == []
    again, content = runs.open_for_resume(store, run.id)
    assert (content.info.name, content.points.step.tolist()) == (name, [10])
    assert runs.read_metrics(store, run.id)["a"][0].tolist() == [10]
    assert checkpoint(again, 10) == name
    assert checkpoint(again, 10, interim=True) == name
    assert [line["kind"] for line in runs.read_ledger(store, run.id)] == ["segment", "checkpoint"]
    assert [info.interim for info in runs.checkpoints(store, run.id)] == [False]
    assert runs.read_metrics(store, run.id)["a"][0].tolist() == [10]


def test_a_lost_ledger_is_told(store, run):
    for step in (10, 20):
        run.metrics(step, {"a": 1.0})
        checkpoint(run, step)
    store.delete(at(run.id, "ledger.jsonl"))
    again, _ = runs.open_for_resume(store, run.id)
    assert "lost lines: 0 of 2" in again.warnings[0]


def test_a_run_of_a_newer_version_is_refused_naming_both(store, run):
    harm(store, at(run.id, "run.json"), lambda data: data.replace(b'"format": 1', b'"format": 7'))
    for act in (runs.open_for_resume, runs.read_run, runs.read_metrics):
        with pytest.raises(ValueError, match=r"has format 7; this Agonist reads formats up to 1"):
            act(store, run.id)
    assert runs.list_runs(store)[0]["id"] == run.id


def test_a_writer_whose_run_was_taken_over_writes_no_more(store, run):
    checkpoint(run, 10)
    again, _ = runs.open_for_resume(store, run.id)
    for act in (lambda: checkpoint(run, 20), run.summarise, lambda: run.finish("finished")):
        with pytest.raises(StoreError, match="taken over by another process"):
            act()
    checkpoint(again, 20)
    assert [event["kind"] for event in runs.read_events(store, run.id)] == ["started", "resumed"]


def test_of_two_that_resume_at_once_one_wins(store, run, monkeypatch):
    checkpoint(run, 10)
    monkeypatch.setattr(module, "last_writer", lambda *_: 1)  # both looked before either claimed
    runs.open_for_resume(store, run.id)
    with pytest.raises(StoreError, match="another process a moment ago"):
        runs.open_for_resume(store, run.id)


def elsewhere(store, run, seconds_ago):
    """As if another host had written it, and was last heard of so long ago."""
    when = datetime.fromtimestamp(time.time() - seconds_ago, UTC).isoformat()
    for file in ("summary.json", "events/000001.jsonl", "run.json"):
        text = store.objects[at(run.id, file)].decode()
        document = json.loads(text)
        document |= {"host": "other"} | {key: when for key in ("updated", "created", "time") if key in document}
        store.objects[at(run.id, file)] = json.dumps(document).encode()


def test_a_run_of_another_host_is_live_by_its_heartbeat(store, run):
    elsewhere(store, run, 20)
    assert runs.list_runs(store)[0]["status"] == "running"
    with pytest.raises(ValueError, match=r"on other \(last heard of 2\d s ago\)"):
        runs.open_for_resume(store, run.id)
    elsewhere(store, run, 90)
    assert runs.list_runs(store)[0]["status"] == "interrupted"
    runs.open_for_resume(store, run.id)


def test_a_finished_run_of_a_living_process_may_be_taken_up(store, run):
    elsewhere(store, run, 1)
    with pytest.raises(ValueError, match="last heard of"):
        runs.open_for_resume(store, run.id)
    store.objects[at(run.id, "events/000001.jsonl")] += b'\n{"kind": "finished"}\n'
    again, _ = runs.open_for_resume(store, run.id)
    assert (again.number, again.summary["status"]) == (2, "running")
    assert [event["kind"] for event in runs.read_events(store, run.id)] == ["started", "finished", "resumed"]


def test_writing_a_checkpoint_is_quick(tmp_path):
    """Half a megabyte, without waiting for the disk: a generous bound on a busy machine."""

    class NoSync(DirectoryStore):
        def replace(self, name, data, durable=True):
            super().replace(name, data, durable=False)

    run = runs.create(NoSync(tmp_path), "train", SPEC)
    took = []
    for step in range(1, 8):
        run.metrics(step, {f"loss/{i}": 0.5 for i in range(12)})
        big = {"w": np.full(125_000, step, np.float32)}
        content = PolicyContent({}, {"w": big["w"][:60_000]})
        started = time.perf_counter()
        run.checkpoint(step, step, big, {}, {"agents": content})
        took.append(time.perf_counter() - started)
    assert sorted(took)[3] < 0.06, took

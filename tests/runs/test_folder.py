import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agonist import runs
from agonist.checkpoints import PolicyContent
from agonist.runs.folder import at
from agonist.testing.store import MemoryStore

GOLDEN = Path(__file__).parents[1] / "golden" / "store.v1"


def make(store, steps=(), **spec):
    run = runs.create(store, "train", spec, argv=[])
    for step in steps:
        run.metrics(step, {"loss/a": float(step)})
        run.checkpoint(step, step, {"x": np.full(3, step)}, {}, {"agents": PolicyContent({}, {"x": np.full(2, step)})})
    return run


def test_the_first_run_ever_written_is_read_for_ever(tmp_path):
    store = runs.open_store(shutil.copytree(GOLDEN, tmp_path / "store"))
    (listed,) = runs.list_runs(store)
    run_id = "20260102-030405-calm-heron"
    assert (listed["id"], listed["status"], listed["steps"], listed["algo"]) == (run_id, "finished", 20, "ppo")
    assert runs.read_run(store, run_id)["spec"] == {"algo": "ppo", "env": "matrix:rps", "seed": 1}
    steps, times, values = runs.read_metrics(store, run_id)["loss/policy"]
    assert (steps.tolist(), times.tolist(), values.tolist()) == ([10, 20], [1000.5, 2000.5], [0.25, -0.125])
    content = runs.load_checkpoint(store, run_id)
    assert {name: (array.dtype.name, array.tolist()) for name, array in content.state.items()} == {
        "count": ("int32", 20),
        "key": ("uint32", [0, 20]),
        "w": ("float32", [0.5, 20.0]),
    }
    policy = runs.find_policy(store, "calm-heron@20")
    assert policy.name == "52c026ede80ffa936704"
    assert PolicyContent(policy.spec, policy.tensors).name == policy.name  # written today it has the same name
    assert runs.read_ledger(store, run_id)[-1]["sha256"].startswith(content.info.name)
    before = store.get(at(run_id, "ledger.jsonl"))
    writer, resumed = runs.open_for_resume(store, run_id)
    assert (resumed.info.step, writer.warnings, store.get(at(run_id, "ledger.jsonl"))) == (20, (), before)


def test_listing_survives_whatever_lies_in_the_store():
    store = MemoryStore()
    good = make(store, algo="a")
    store.replace("runs/no-run/readme.txt", b"")
    store.replace("runs/stray-file", b"")
    store.replace(at("broken", "run.json"), b"{")
    newborn = make(store)
    store.delete(at(newborn.id, "summary.json"))
    torn = make(store)
    store.replace(at(torn.id, "summary.json"), b'{"id": ')
    listed = {run["id"]: run["status"] for run in runs.list_runs(store)}
    assert listed == {good.id: "running", newborn.id: "running", torn.id: "running", "broken": "damaged"}


def test_a_newborn_run_whose_process_is_gone_is_interrupted():
    store = MemoryStore()
    run = make(store)
    store.delete(at(run.id, "summary.json"))
    document = json.loads(store.get(at(run.id, "run.json")))
    document["process"]["started"] = "long ago"
    store.replace(at(run.id, "run.json"), json.dumps(document).encode())
    assert runs.list_runs(store)[0]["status"] == "interrupted"
    assert runs.read_run(store, run.id)["summary"]["status"] == "interrupted"


def test_runs_are_listed_oldest_first():
    store = MemoryStore()
    for name in ("20260301-000000-a-b", "20250301-000000-z-z", "20260301-000001-a-a"):
        store.replace(at(name, "run.json"), json.dumps({"id": name, "format": 1}).encode())
    assert [run["id"] for run in runs.list_runs(store)] == ["20250301-000000-z-z", "20260301-000000-a-b", "20260301-000001-a-a"]


def test_a_damaged_segment_is_a_sentence_and_the_rest_is_read():
    store = MemoryStore()
    run = make(store, steps=(10, 20, 30))
    store.objects[at(run.id, "metrics/000002.parquet")] = b"PAR1"
    told = []
    assert runs.read_metrics(store, run.id, on_problem=told.append)["loss/a"][0].tolist() == [10, 30]
    assert "metrics/000002.parquet is damaged" in told[0]
    assert "after step 10 and before step 30" in told[0]
    with pytest.warns(UserWarning, match="is damaged"):
        runs.read_metrics(store, run.id)


def test_lines_before_a_torn_one_are_read():
    store = MemoryStore()
    run = make(store)
    run.event("noted")
    store.objects[at(run.id, "events/000001.jsonl")] += b'{"kind": "torn'
    with pytest.warns(UserWarning, match=r"events/000001.jsonl is damaged at line 3"):
        assert [event["kind"] for event in runs.read_events(store, run.id)] == ["started", "noted"]


def test_a_checkpoint_is_chosen_by_last_best_step_or_hash():
    store = MemoryStore()
    run = make(store, steps=(10, 20))
    infos = runs.checkpoints(store, run.id)
    assert runs.load_checkpoint(store, run.id).info.step == 20
    assert runs.load_checkpoint(store, run.id, 10).info.step == runs.load_checkpoint(store, run.id, "10").info.step == 10
    assert runs.load_checkpoint(store, run.id, infos[0].name[:8]).info.step == 10
    with pytest.raises(ValueError, match="names no best checkpoint; @last is step 20"):
        runs.load_checkpoint(store, run.id, "best")
    with pytest.raises(ValueError, match="has no checkpoint 13; there are 2, such as those of the steps 10, 20"):
        runs.load_checkpoint(store, run.id, 13)
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        runs.load_checkpoint(store, make(store).id)
    with pytest.raises(ValueError, match="has no run 'nobody'"):
        runs.read_run(store, "nobody")


def test_reading_runs_imports_neither_jax_nor_pyarrow():
    code = "import sys, agonist.runs; print(sorted({'jax', 'pyarrow', 'safetensors'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_run_of_a_newer_version_is_listed_with_a_remark(tmp_path):
    store = MemoryStore()
    one, two = make(store, seed=1), make(store, seed=2)
    head = json.loads(store.get(at(one.id, "run.json")))
    store.replace(at(one.id, "run.json"), json.dumps(head | {"format": 3, "versions": {"agonist": "9.1.0"}}).encode())
    store.replace(at(one.id, "summary.json"), b'{"format": 3, "id": "%s", "algo": "new", "spec": 7, "status": {}}' % one.id.encode())
    listed = {run["id"]: run for run in runs.list_runs(store)}
    assert listed[two.id]["status"] == "running"
    assert (listed[one.id]["status"], listed[one.id]["algo"]) == ("newer", "new")
    assert "has format 3" in listed[one.id]["problem"]
    with pytest.raises(ValueError, match=r"written by Agonist 9\.1\.0 and has format 3.* pip install 'agonist>=9\.1\.0'"):
        runs.read_run(store, one.id)
    store.delete(at(one.id, "summary.json"))
    assert next(run for run in runs.list_runs(store) if run["id"] == one.id)["status"] == "newer"


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"format": 1, "id": "another"}'])
def test_a_damaged_summary_is_made_again_of_run_json(tmp_path, data):
    store = MemoryStore()
    run = make(store, algo="ppo", lr=0.5)
    store.replace(at(run.id, "summary.json"), data)
    (listed,) = runs.list_runs(store)
    assert (listed["id"], listed["algo"], listed["spec"]["lr"], listed["steps"]) == (run.id, "ppo", 0.5, 0)


def test_what_cannot_be_read_at_all_is_listed_as_damaged():
    store = MemoryStore()
    one, two = make(store), make(store)
    store.replace(at(one.id, "summary.json"), b'{"format": 1, "id": "%s", "last": 3}' % one.id.encode())
    for name in ("summary.json", "run.json"):
        store.replace(at(two.id, name), b"not json")
    listed = {run["id"]: run for run in runs.list_runs(store)}
    assert [listed[run.id]["status"] for run in (one, two)] == ["damaged", "damaged"]
    assert "its last is 3, where a mapping belongs" in listed[one.id]["problem"]

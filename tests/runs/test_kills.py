"""A kill at any instant leaves a run that lists, shows and resumes, and whose ledger ends as that of one never killed.

Two ways: a store that dies at its k-th write, for every k, before or after doing it; and a real process, killed with -9.
"""

import os
import random
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter

import numpy as np
import pytest

from agonist import runs
from agonist.checkpoints import PolicyContent
from agonist.runs import segments, writer
from agonist.runs.folder import at
from agonist.runs.store import DirectoryStore, StoreError
from agonist.testing.store import MemoryStore

EVERY = 3  # steps between checkpoints


def live(store, run_id=None, total=12, stop_at=None, pause=0.0):
    """A small program that "trains": every number follows from the step, through a state that must be restored to the bit."""
    x, best, step = np.linspace(0.1, 0.9, 50), (0.0, -1), 0
    if run_id is None:
        run = runs.create(store, "train", {"algo": "none", "env": "x", "seed": 1}, argv=[])
    else:
        run, content = runs.open_for_resume(store, run_id)
        if content:
            step, x = content.info.step, content.state["x"]
            best = content.info.facts["best"]["value"], content.info.facts["best"]["step"]
    while step < total:
        step += 1
        x = 3.9 * x * (1 - x)  # chaotic: any bit lost shows
        run.metrics(step, {"loss/x": float(x[0]), "loss/nan": float("nan")})
        run.metrics(step, {"eval/return": float(x.mean()), "perf/clock": time.time()})
        run.heartbeat(step)
        run.log(f"step {step}")
        if pause:
            time.sleep(pause)
        on_grid = step % EVERY == 0
        if on_grid:
            best = max(best, (float(x.mean()), step))
        if step % 2 == 0:
            run.evaluation(step, {"returns": x[:3]})
        if on_grid or step in (total, stop_at):
            facts = {"best": {"value": best[0], "step": best[1]}}
            policy = PolicyContent({"algo": "none"}, {"x": x[:5]}, {"run": run.id, "written": time.time()})
            run.checkpoint(step, step, {"x": x}, facts, {"agents": policy}, interim=not on_grid)
        if step == stop_at:
            return run.finish("interrupted")
    run.evaluation(step, {"absolute": x[:5]}, name="absolute")
    run.finish("finished")


@pytest.fixture(autouse=True)
def _write_all_the_time(monkeypatch):
    monkeypatch.setattr(writer, "LIVE_EVERY", 0.0)
    monkeypatch.setattr(writer, "LIVE_SHARE", 0.0)
    monkeypatch.setattr(writer, "SUMMARY_EVERY", 0.0)


def only_run(store):
    (run,) = runs.list_runs(store)
    return run["id"]


def outcome(store, run_id):
    """All that must not depend on having been killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = segments.read(store, at(run_id, "metrics/"))
    infos = runs.checkpoints(store, run_id)
    return {
        "ledger": store.get(at(run_id, "ledger.jsonl")),
        "metrics": segments.canonical_bytes(points),
        "timings": sum(segments.series(points)["perf/clock"][0].tolist()),
        "checkpoints": [(info.name, info.resumable, info.policy_names, info.facts) for info in infos if not info.interim],
        "state": runs.load_checkpoint(store, run_id).state["x"].tobytes(),
        "evaluations": {name.rpartition("/")[2]: store.get(name) for name in store.list(at(run_id, "evaluations/"))},
        "status": runs.read_run(store, run_id)["summary"]["status"],
    }


def never_killed(total=12):
    store = MemoryStore()
    live(store, total=total)
    return outcome(store, only_run(store))


def assert_readable(store, run_id):
    """Whatever a killed writer left: it lists, shows, and no point is seen twice."""
    assert [run["id"] for run in runs.list_runs(store)] == [run_id]
    assert runs.read_run(store, run_id)["kind"] == "train"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, (steps, _, _) in runs.read_metrics(store, run_id).items():
            assert steps.tolist() == list(range(1, len(steps) + 1)), name
        for info in runs.checkpoints(store, run_id):
            assert set(runs.run_policies(store, run_id, info.step)) == {"agents"}
    runs.read_ledger(store, run_id), runs.read_events(store, run_id), runs.read_log(store, run_id)


class Killed(BaseException):
    pass


class DyingStore:
    """Its process dies at the k-th write, before or after it was done; what others would do at that moment is done no more."""

    def __init__(self, store, k, after):
        self.store, self.left, self.after, self.lock = store, k, after, threading.Lock()

    def __getattr__(self, name):
        act = getattr(self.store, name)
        if name not in ("put_if_absent", "replace", "delete", "append_segment"):
            return act

        def write(*args, **kwargs):
            with self.lock:
                self.left -= 1
                if self.left > 0 or (self.left == 0 and self.after):
                    result = act(*args, **kwargs)
                if self.left <= 0:
                    raise Killed
                return result

        return write


def writes_of(life, store):
    counting = DyingStore(store, 10**9, False)
    life(counting)
    return 10**9 - counting.left


@pytest.mark.parametrize("after", [False, True])
def test_dying_at_every_write_of_a_run(after):
    expected = never_killed()
    for k in range(1, writes_of(live, MemoryStore()) + 1):
        store = MemoryStore()
        with pytest.raises(Killed):
            live(DyingStore(store, k, after))
        if not store.objects:
            continue  # before run.json: nothing was begun
        run_id = only_run(store)
        assert_readable(store, run_id)
        live(store, run_id)
        assert_readable(store, run_id)
        assert outcome(store, run_id) == expected, k


@pytest.mark.parametrize("after", [False, True])
def test_dying_at_every_write_of_a_resumed_run(after):
    """Died in its middle, with points that must be rolled back, and again at every write of its second life."""
    expected, first = never_killed(), MemoryStore()
    with pytest.raises(Killed):
        live(DyingStore(first, 75, True))
    run_id = only_run(first)
    assert runs.checkpoints(first, run_id)
    copy = MemoryStore()
    copy.objects = dict(first.objects)
    for k in range(1, writes_of(lambda store: live(store, run_id), copy) + 1):
        store = MemoryStore()
        store.objects = dict(first.objects)
        with pytest.raises(Killed):
            live(DyingStore(store, k, after), run_id)
        assert_readable(store, run_id)
        live(store, run_id)
        assert outcome(store, run_id) == expected, k


@pytest.mark.parametrize("stops", [[4], [5, 6, 7], [3, 11], [1, 2]])
def test_a_run_stopped_between_seals_leaves_no_trace_in_the_ledger(stops):
    """Ctrl-C at any step, also one that is on the grid: an interim checkpoint, then resumed."""
    store, run_id = MemoryStore(), None
    for stop in stops:
        live(store, run_id, stop_at=stop)
        run_id = only_run(store)
        assert runs.read_run(store, run_id)["summary"]["status"] == "interrupted"
        assert_readable(store, run_id)
    live(store, run_id)
    assert outcome(store, run_id)["ledger"] == never_killed()["ledger"]
    assert outcome(store, run_id)["metrics"] == never_killed()["metrics"]


@pytest.mark.parametrize("first", [5, 6, 11])
def test_a_finished_run_that_is_extended_is_one_that_was_always_so_long(first):
    store = MemoryStore()
    live(store, total=first)
    run_id = only_run(store)
    assert outcome(store, run_id) == never_killed(first)
    live(store, run_id)
    longer = outcome(store, run_id)
    assert {**longer, "evaluations": 0} == {**never_killed(), "evaluations": 0}
    assert set(longer["evaluations"]) == {*never_killed()["evaluations"], f"{first:012d}-absolute.json"}


def test_a_finished_run_accounts_for_everything_in_its_ledger():
    store = MemoryStore()
    live(store, total=11)
    expected = (
        "evaluation 2, segment 3, checkpoint 3, evaluation 4, evaluation 6, segment 6, checkpoint 6, evaluation 8, segment 9, checkpoint 9"
    )
    expected += ", evaluation 10, evaluation 11, segment 11, checkpoint 11"
    assert ", ".join(f"{line['kind']} {line['step']}" for line in runs.read_ledger(store, only_run(store))) == expected


def test_a_full_disk_stops_the_run_with_a_sentence_and_it_goes_on_when_there_is_room(tmp_path, monkeypatch):
    store = DirectoryStore(tmp_path)
    real, left = os.fsync, [20]

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="no space is left"):
            live(store)
    run_id = only_run(store)
    assert_readable(store, run_id)
    live(store, run_id)
    assert outcome(store, run_id) == never_killed()


TOTAL_IN_CHILD = 60


def start_child(folder, *run_id):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, __file__, str(folder), *run_id], env=environment)


def test_killed_minus_nine_at_random_instants(tmp_path):
    """A real process, killed several times at moments that nobody chose; SIGKILL on POSIX, TerminateProcess on Windows."""
    chance, store, run_id, kills = random.Random(), DirectoryStore(tmp_path), None, 0
    for _ in range(4):
        child = start_child(tmp_path, *([run_id] if run_id else []))
        writers = len([*store.list(at(run_id, "events/"))]) if run_id else 0
        while child.poll() is None and not (run_id and len([*store.list(at(run_id, "events/"))]) > writers):
            time.sleep(0.005)  # it has started to write
            run_id = run_id or next(store.folders("runs/"), None)
        time.sleep(chance.uniform(0.0, 0.5))
        kills += child.poll() is None
        child.kill()
        child.wait()
        if (summary := runs.list_runs(store)[-1])["status"] == "finished":
            break
        assert summary["status"] == "interrupted"
        assert_readable(store, run_id)
    assert kills
    assert Counter(event["kind"] for event in runs.read_events(store, run_id))["started"] <= 1
    live(store, run_id, total=TOTAL_IN_CHILD)
    assert outcome(store, run_id) == never_killed(TOTAL_IN_CHILD)


def test_a_run_that_another_process_writes_is_refused(tmp_path):
    store = DirectoryStore(tmp_path)
    child = start_child(tmp_path)
    try:
        while not runs.list_runs(store) or not runs.read_events(store, only_run(store)):
            time.sleep(0.01)
        run_id = only_run(store)
        with pytest.raises(ValueError, match=f"is being written by process {child.pid} on .*stop that one first"):
            runs.open_for_resume(store, run_id)
        assert runs.list_runs(store)[0]["status"] == "running"
    finally:
        child.kill()
        child.wait()
    runs.open_for_resume(store, run_id)


if __name__ == "__main__":
    writer.LIVE_EVERY = writer.LIVE_SHARE = writer.SUMMARY_EVERY = 0.0
    live(DirectoryStore(sys.argv[1]), *sys.argv[2:3], total=TOTAL_IN_CHILD, pause=0.01)

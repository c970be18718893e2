"""What people write on runs: each change on the newest, none lost."""

import json
import threading

import pytest

from agonist import runs
from agonist.checkpoints import Newer
from agonist.runs import marks
from agonist.runs.store import DirectoryStore
from agonist.testing.store import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def run(store):
    return runs.create(store, "train", {}, argv=[]).id


def test_marks_come_and_go(store, run):
    assert marks.read(store, run) == marks.NONE
    marks.change(store, run, marks.tag("a", "b"))
    marks.change(store, run, marks.tag("b", "c"))
    marks.change(store, run, marks.untag("a"))
    marks.change(store, run, marks.note("one"))
    marks.change(store, run, marks.note("two"))
    now = marks.change(store, run, marks.archive())
    assert now == marks.read(store, run)
    assert now.tags == ("b", "c")
    assert [note["text"] for note in now.notes] == ["one", "two"]
    assert now.summary()["note"] == "two"
    assert marks.change(store, run, marks.unarchive()).archived is None


def test_a_change_that_changes_nothing_writes_nothing(store, run):
    marks.change(store, run, marks.tag("a"))
    before = dict(store.objects)
    for edit in (marks.tag("a"), marks.untag("b"), marks.unarchive(), marks.restore()):
        marks.change(store, run, edit)
    assert store.objects == before


def test_many_at_once_lose_nothing_while_the_run_is_written(tmp_path):
    store = DirectoryStore(tmp_path)
    writer = runs.create(store, "train", {}, argv=[])
    threads = [
        threading.Thread(target=lambda i=i: [marks.change(store, writer.id, marks.tag(f"{i}-{k}")) for k in range(5)]) for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for step in range(20):
        writer.metrics(step, {"a": 1.0})
        writer.heartbeat(step)
        writer.summarise()
    for thread in threads:
        thread.join()
    assert set(marks.read(store, writer.id).tags) == {f"{i}-{k}" for i in range(6) for k in range(5)}
    writer.finish("finished")  # still its writer's
    (listed,) = runs.list_runs(store)
    assert (listed["status"], len(listed["marks"]["tags"])) == ("finished", 30)


def test_one_that_loses_the_race_makes_its_change_on_what_won(store, run, monkeypatch):
    put = store.put_if_absent

    def late(name, data):
        monkeypatch.undo()
        marks.change(store, run, marks.tag("first"))
        return put(name, data)

    monkeypatch.setattr(store, "put_if_absent", late)
    assert marks.change(store, run, marks.tag("second")).tags == ("first", "second")


def test_a_damaged_annotation_leaves_the_one_before(store, run):
    marks.change(store, run, marks.tag("a"))
    marks.change(store, run, marks.tag("b"))
    store.objects[f"runs/{run}/annotations/000002.json"] = b'{"format": 1, "tags": 3'
    assert marks.read(store, run).tags == ("a",)
    assert marks.change(store, run, marks.tag("c")).tags == ("a", "c")
    assert marks.read(store, run).tags == ("a", "c")


def test_one_of_a_newer_version_is_refused_and_its_run_listed(store, run):
    marks.change(store, run, marks.tag("a"))
    name = f"runs/{run}/annotations/000001.json"
    store.objects[name] = json.dumps(json.loads(store.objects[name]) | {"format": 9}).encode()
    with pytest.raises(Newer, match="format 9"):
        marks.change(store, run, marks.tag("b"))
    (listed,) = runs.list_runs(store)
    assert (listed["id"], "format 9" in listed["problem"]) == (run, True)


@pytest.mark.parametrize("name", ["", "a b", "a,b", "-x", "(x)", "a=b", 'a"b', "not", "has:x"])
def test_what_cannot_be_a_tag(name):
    with pytest.raises(ValueError, match="cannot be a tag"):
        marks.check_tag(name)
    assert marks.check_tag("figure-2:é") == "figure-2:é"


def test_a_second_deletion_only_shortens_the_time(store, run):
    first = marks.change(store, run, marks.delete(100.0, along="p")).deleted
    assert marks.change(store, run, marks.delete(1000.0)).deleted == first
    shorter = marks.change(store, run, marks.delete(0.0)).deleted
    assert shorter["until"] < first["until"]
    assert shorter["along"] == "p"
    assert marks.change(store, run, marks.restore()).deleted is None

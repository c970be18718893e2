"""Runs deleted, restored and purged, also by somebody who is killed on the way."""

import pytest

from agonist import runs
from agonist.runs import marks, removal
from agonist.runs.store import StoreError
from agonist.testing.store import MemoryStore


class Killed(BaseException):
    pass


@pytest.fixture
def store():
    return MemoryStore()


def make(store, name, kind="train", parents=(), status="finished"):
    out = runs.create(store, kind, {"algo": "ppo"}, parents=parents, argv=[], run_id=f"20260101-000000-{name}")
    out.metrics(1, {"a": 1.0})
    out.heartbeat(1)
    if status:
        out.finish(status)
    return out.id


def ids(store):
    return [summary["id"] for summary in runs.list_runs(store)]


def test_a_deleted_run_is_neither_listed_nor_found_and_comes_back(store):
    one, two = make(store, "a-a"), make(store, "b-b")
    removal.delete(store, removal.plan(store, [two]), 60.0)
    assert ids(store) == [one]
    assert [summary["id"] for summary in runs.list_runs(store, deleted=True)] == [one, two]
    assert runs.find_run(store, "latest") == one
    for text in (two, "b-b", "20260101-000000-b"):
        with pytest.raises(ValueError, match=r"run 20260101-000000-b-b is deleted; bring back .* agonist runs restore 20260101-000000-b-b"):
            runs.find_run(store, text)
    assert runs.find_run(store, "20260101") == one  # of two, the one that is there
    assert runs.find_run(store, "b-b", deleted=True) == two
    assert removal.over(store) == []
    assert removal.restore(store, two, dry_run=True) == [two]
    assert ids(store) == [one]
    assert removal.restore(store, two) == [two]
    assert ids(store) == [one, two]


def test_a_sweep_takes_its_children_along_and_brings_them_back(store):
    study, sweep = make(store, "s-t", "study"), make(store, "s-s", "sweep", ["20260101-000000-s-t"])
    children = [make(store, f"c-{i}", parents=[sweep]) for i in range(3)]
    other = make(store, "o-o")
    removal.delete(store, removal.plan(store, [children[0]]), 60.0)
    plan = removal.plan(store, [study])
    assert dict(plan.runs) == {study: None, sweep: study, children[1]: sweep, children[2]: sweep}
    assert plan.orphans == {}
    removal.delete(store, plan, 60.0)
    assert ids(store) == [other]
    assert removal.restore(store, study) == sorted([study, sweep, *children[1:]])  # the one deleted before stays deleted
    assert children[0] not in ids(store)


def test_other_children_stay(store):
    parent = make(store, "p-p")
    child = make(store, "c-c", "evaluate", [parent])
    assert removal.plan(store, [parent]) == ({parent: None}, {parent: [child]})
    assert removal.plan(store, [parent, child]).orphans == {}


def test_a_running_run_is_not_deleted_nor_is_a_sweep_of_it(store):
    sweep = make(store, "s-s", "sweep")
    child = make(store, "c-c", parents=[sweep], status=None)
    for asked in (child, sweep):
        with pytest.raises(ValueError, match=r"run 20260101-000000-c-c.* is being written by process \d+ on .*; stop it first"):
            removal.plan(store, [asked])


def test_a_purge_leaves_nothing(store):
    one, two = make(store, "a-a"), make(store, "b-b")
    marks.change(store, one, marks.tag("x"))
    removal.delete(store, removal.plan(store, [one]), -1.0)
    assert removal.over(store) == [one]
    told = []
    removal.purge(store, removal.over(store), told.append)
    assert told == [one]
    assert not [name for name in store.objects if one in name]
    assert ids(store) == [two]


def test_a_purge_killed_anywhere_is_finished_by_the_next(store, monkeypatch):
    keep = make(store, "k-k")
    one = make(store, "a-a")
    marks.change(store, one, marks.tag("x"))
    whole = dict(store.objects)
    count = sum(f"/{one}/" in name for name in whole)
    delete = store.delete
    for survive in range(count + 1):
        store.objects = dict(whole)
        left = [survive]

        def dying(name, left=left):
            if not left[0]:
                raise Killed
            left[0] -= 1
            delete(name)

        monkeypatch.setattr(store, "delete", dying)
        with pytest.raises(Killed):
            removal.purge(store, [one])
        monkeypatch.setattr(store, "delete", delete)
        assert ids(store) == [keep], survive
        assert removal.over(store) == [one]
        removal.purge(store, removal.over(store))
        assert not [name for name in store.objects if one in name]


def test_a_full_disk_can_be_purged(store, monkeypatch):
    one = make(store, "a-a")
    put, room = store.put_if_absent, [False]

    def full(name, data):
        if not room[0]:
            raise StoreError("no space is left")
        return put(name, data)

    delete = store.delete
    monkeypatch.setattr(store, "put_if_absent", full)
    monkeypatch.setattr(store, "delete", lambda name: (delete(name), room.__setitem__(0, True)))
    removal.purge(store, [one])
    assert store.objects == {}


def test_a_family_is_whole(store):
    study, sweep = make(store, "s-t", "study"), make(store, "s-s", "sweep", ["20260101-000000-s-t"])
    child, lone = make(store, "c-c", parents=[sweep]), make(store, "o-o")
    every = runs.list_runs(store)
    assert removal.family(every, [lone, study]) == {lone: None, study: None, sweep: study, child: sweep}
    assert removal.family(every, [child]) == {child: None}

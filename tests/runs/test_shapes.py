"""Whatever JSON lies in a store, the listing of the others goes on."""

import json
from io import StringIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agonist import runs
from agonist.checkpoints import Damaged
from agonist.cli.output import console
from agonist.cli.runs import STANDARD, Listing, _drawn
from agonist.runs import folder, marks, removal, rows, shapes
from agonist.testing.store import MemoryStore

ID = "20260101-000000-calm-heron"
BAD = (
    ("summary.json", {"marks": 3, "tags": 3}),
    ("summary.json", {"final": {"eval/return": "x", "eval/interval": 3, "tags": 3, "run": 5}}),
    ("summary.json", {"last": {"eval/return": 10**400}, "spec": {"eval/interval": 3, "eval/return": "x"}}),
    ("summary.json", {"status": "running", "pid": 1e999, "created": 3}),
    ("summary.json", {"status": "running", "host": "elsewhere", "updated": "0001-01-01T00:00+12:00"}),
    ("summary.json", {"format": 9, "created": [1], "eval/return": "x", "steps": "y", "versions": 3}),
    ("run.json", {"parents": 3}),
    ("run.json", {"format": 9, "spec": 3, "versions": 3, "process": []}),
    ("annotations/000001.json", {"notes": [{}]}),
    ("annotations/000001.json", {"deleted": {"x": 1}}),
    ("annotations/000001.json", {"tags": [[]], "archived": 5}),
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([10**400, "2026-01-01"])
keys = st.sampled_from([*shapes.SUMMARY, *shapes.HEAD, *shapes.FIGURES, *shapes.MARKS, "time", "until", "by", "text"]) | st.text(max_size=3)
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=8)
documents = st.dictionaries(keys, anything, max_size=6)


@pytest.fixture(scope="module")
def clean():
    store = MemoryStore()
    runs.create(store, "train", {"algo": "ppo", "env": "e", "seed": 1}, argv=[], run_id=ID).finish("finished")
    marks.change(store, ID, marks.tag("a"))
    return store


def with_changed(clean, file, changes):
    store = MemoryStore()
    store.objects = dict(clean.objects)
    for name, data in clean.objects.items():  # a good one beside it
        store.objects[name.replace(ID, "20260102-000000-wise-otter")] = data.replace(ID.encode(), b"20260102-000000-wise-otter")
    if file == "run.json":  # it is asked where there is no summary
        store.delete(folder.at(ID, "summary.json"))
    name = folder.at(ID, file)
    whole = json.loads(store.get(name)) | changes if isinstance(changes, dict) else changes
    store.replace(name, json.dumps(whole).encode())
    return store


def look(store):
    for where, order in ((None, None), ("eval/return > 0 or tag:a or age > 1 or created > 2026-01-01 or lr = [1]", "-steps")):
        found = rows.select(store, where, order, archived=True)
        drawn = _drawn(Listing(found.rows, found.total, "url", False), None, 120)
        console(StringIO()).print(drawn)
        for row in found.rows:
            _drawn(Listing([row], 1, "url", False), [*STANDARD, *row, "created", "updated"], 80)
    removal.over(store)
    return {one["id"]: one for one in runs.list_runs(store, deleted=True)}


@pytest.mark.parametrize(("file", "changes"), BAD)
def test_what_broke_a_listing_once(file, changes, clean):
    listed = look(with_changed(clean, file, changes))
    assert listed["20260102-000000-wise-otter"]["status"] == "finished"
    assert ID in listed


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(["summary.json", "run.json", "annotations/000001.json"]), documents | anything)
@example("summary.json", {"last": {"x": json.loads("[" * 200 + "1" + "]" * 200)}})
def test_no_document_breaks_the_listing_of_the_others(clean, file, changes):
    listed = look(with_changed(clean, file, changes))
    assert listed["20260102-000000-wise-otter"]["status"] == "finished"


def test_what_is_wrong_is_said_with_its_key():
    with pytest.raises(Damaged, match="s is damaged: its steps is '5', where a number belongs"):
        shapes.check_summary({"steps": "5"}, "s")
    with pytest.raises(Damaged, match="s, final, is damaged: its eval/interval is 3, where a list of two numbers belongs"):
        shapes.check_summary({"final": {"eval/interval": 3}}, "s")
    with pytest.raises(Damaged, match="nested more than 32 deep"):
        shapes.check_summary({"a": json.loads("[" * 40 + "1" + "]" * 40)}, "s")
    with pytest.raises(Damaged, match="speaks of the run 'b'"):
        shapes.check_head({"id": "b"}, "a", "h")


def test_what_a_newer_agonist_wrote_is_told_as_far_as_it_is_understood(clean):
    listed = look(with_changed(clean, "run.json", {"format": 9, "created": [], "spec": {"algo": "sac", "env": 3}}))[ID]
    assert (listed["status"], listed["algo"]) == ("newer", "sac")
    assert "env" not in listed
    assert "created" not in listed


def test_a_checkpoint_of_another_shape_is_passed_over(clean):
    store = with_changed(clean, "summary.json", {})
    writer, _ = runs.open_for_resume(store, ID)
    writer.checkpoint(1, 1, {}, {}, {})
    writer.checkpoint(2, 2, {}, {}, {})
    one, _ = runs.checkpoints(store, ID)
    name = folder.at(ID, "checkpoints", one.name, "checkpoint.json")
    for change in ({"step": "x"}, {"policies": {"a": 3}}, {"files": {"x": {}}}, {"lines": 3}):
        store.objects[name] = json.dumps(one.document() | change).encode()
        told = []
        assert [info.step for info in runs.checkpoints(store, ID, told.append)] == [2]
        assert "that checkpoint is passed over" in told[0]

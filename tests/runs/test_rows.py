import pytest

from agonist import runs
from agonist.runs import marks, rows
from agonist.testing.store import MemoryStore

SUMMARY = {
    "format": 1, "id": "20260101-000000-calm-heron", "kind": "train", "algo": "ppo", "env": "x", "seed": 1, "status": "finished",
    "steps": 64, "parent": None, "best": {}, "last": {"loss/policy": 0.5,
    "eval/return": 0.25, "eval/return_low": 0.2, "eval/return_high": 0.3},
    "final": {}, "pid": 4, "host": "h", "started": "s", "spec": {"algo": "ppo", "steps": 100, "lr": 0.1, "env.sight": 2},
}  # fmt: skip


def test_a_row_is_flat_and_the_runs_own_facts_come_first():
    row = rows.row_of(SUMMARY)
    assert (row["run"], row["steps"], row["lr"], row["env.sight"], row["loss/policy"]) == ("20260101-000000-calm-heron", 64, 0.1, 2, 0.5)
    assert (row["eval/return"], row["eval/interval"]) == (0.25, [0.2, 0.3])
    assert (row["tags"], row["note"], row["archived"]) == ([], None, False)
    assert not {"pid", "host", "started", "spec", "last", "final", "marks", "format"} & set(row)
    final = {**SUMMARY, "final": {"eval/return": 0.9, "policy": "abc"}, "marks": {"tags": ["a"], "note": "n", "archived": "2026"}}
    row = rows.row_of(final)
    assert (row["eval/return"], row["policy"], row["tags"], row["note"], row["archived"]) == (0.9, "abc", ["a"], "n", True)
    assert "eval/interval" not in row  # the last evaluation's is not that of the final one
    assert "lr" not in rows.brief_of(SUMMARY)


def test_sorting_puts_what_is_missing_last_either_way():
    found = [{"x": 2}, {"x": "b"}, {}, {"x": 1.5}, {"x": None}, {"x": "a"}]
    assert [row.get("x") for row in rows.sort(found, "x")] == [1.5, 2, "a", "b", None, None]
    assert [row.get("x") for row in rows.sort(found, "-x")] == ["b", "a", 2, 1.5, None, None]
    ages = [{"created": "2026-01-02"}, {"created": "2026-01-01"}]
    assert rows.sort(ages, "-age") == ages[::-1]  # the oldest first


def test_what_differs():
    assert rows.differing([{"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 1}]) == ["b", "c"]
    assert rows.differing([{"a": 1}]) == []


@pytest.fixture
def store():
    store = MemoryStore()
    for i in range(4):
        runs.create(store, "train", {"algo": "ppo", "env": "x", "seed": i}, argv=[], run_id=f"2026010{i + 1}-000000-calm-heron").finish(
            "finished"
        )
    marks.change(store, "20260102-000000-calm-heron", marks.archive())
    return store


def seeds(found):
    return [row["seed"] for row in found.rows]


def test_selecting(store):
    assert seeds(rows.select(store)) == [0, 2, 3]
    assert seeds(rows.select(store, archived=True)) == [0, 1, 2, 3]
    assert seeds(rows.select(store, "seed > 0")) == [2, 3]
    assert seeds(rows.select(store, "archived = true")) == [1]
    assert seeds(rows.select(store, order="-seed", limit=2)) == [3, 2]
    newest = rows.select(store, limit=2)
    assert (seeds(newest), newest.total) == ([2, 3], 3)
    assert seeds(rows.select(store, "seed < 9", limit=1)) == [3]


def test_a_field_that_no_run_has(store):
    assert rows.select(store, "sed = 1").hint == "no run has a field 'sed'; did you mean seed or steps?"
    assert rows.select(store, "seed = 77").hint == ""
    assert rows.select(store, "age > 1000w").hint == ""
    with pytest.raises(ValueError, match=r"no run has a field 'sed'; did you mean seed or steps\?"):
        rows.select(store, order="-sed")
    assert rows.select(MemoryStore(), "sed = 1", order="sed").rows == []

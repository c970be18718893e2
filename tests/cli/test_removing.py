"""`agonist runs delete`, `restore`, `purge`."""

import pytest

from agonist.runs import create, open_store

IDS = [f"2026010{i}-000000-{name}" for i, name in enumerate(["calm-heron", "wise-otter", "bold-lynx"])]


@pytest.fixture
def store(tmp_path):
    """A sweep, its run, and another run."""
    store = open_store(str(tmp_path / "store"))
    for kind, run_id, parents in (("sweep", IDS[0], []), ("train", IDS[1], [IDS[0]]), ("train", IDS[2], [])):
        create(store, kind, {}, parents=parents, argv=[], run_id=run_id).finish("finished")
    return store


def there(store):
    return [*store.folders("runs/")]


def listed(agonist):
    return [row["run"] for row in agonist("runs", "list", "--json").json["runs"]]


def test_delete_and_restore(agonist, store):
    said = agonist("runs", "delete", "calm-heron", "--dry-run", "--json").json
    assert said["deleted"] == [{"run": IDS[0], "along_with": None}, {"run": IDS[1], "along_with": IDS[0]}]
    assert listed(agonist) == IDS
    out = agonist("runs", "delete", "calm-heron").out
    assert f"{IDS[1]}  deleted, with {IDS[0]}" in out
    assert f"for 7d they come back with: agonist runs restore {IDS[0]}" in out
    out = agonist("runs", "delete", "bold-lynx", "--store", "store", "--dry-run").out
    assert f"for 7d it comes back with: agonist runs restore {IDS[2]} --store store" in out
    assert listed(agonist) == IDS[2:]
    assert agonist("runs", "show", "calm-heron").err.startswith(f"agonist: run {IDS[0]} is deleted; bring back")
    waiting = agonist("runs", "restore", "--json").json["deleted"]
    assert [row["run"] for row in waiting] == IDS[:2]
    assert 6.9 * 86400 < waiting[0]["restorable_seconds"] <= 7 * 86400
    assert agonist("runs", "restore", "calm-heron", "--json").json["restored"] == IDS[:2]
    assert listed(agonist) == IDS
    assert agonist("runs", "restore", "calm-heron").code == 2


def test_what_is_over_goes_with_the_next_deletion(agonist, store, monkeypatch):
    monkeypatch.setenv("AGONIST_UNDO_TIME", "0s")
    assert agonist("runs", "delete", "wise-otter").code == 0
    assert there(store) == IDS
    monkeypatch.delenv("AGONIST_UNDO_TIME")
    said = agonist("runs", "delete", "--where", "kind = train", "--json").json
    assert (said["purged"], [row["run"] for row in said["deleted"]]) == ([IDS[1]], [IDS[2]])
    assert there(store) == [IDS[0], IDS[2]]
    assert agonist("runs", "purge", "--json").json["purged"] == []


def test_purging(agonist, store):
    assert agonist("runs", "delete", "bold-lynx", "--undo-time", "0").code == 0
    assert agonist("runs", "purge", "--dry-run", "--json").json["purged"] == [IDS[2]]
    said = agonist("runs", "purge")
    assert (said.code, "say --yes" in said.err) == (2, True)
    assert there(store) == IDS
    assert "removed for good" in agonist("runs", "purge", "--yes").out
    assert there(store) == IDS[:2]


def test_at_once_only_when_it_is_confirmed(agonist, store):
    said = agonist("runs", "delete", "bold-lynx", "--now")
    assert (said.code, there(store)) == (2, IDS)
    assert agonist("runs", "delete", "bold-lynx", "--now", "--dry-run").code == 0
    assert there(store) == IDS
    assert agonist("runs", "delete", "bold-lynx", "--now", "--yes", "--json").json["purged"] == [IDS[2]]
    assert there(store) == IDS[:2]


def test_a_running_run_is_refused(agonist, store):
    run = create(store, "train", {}, parents=[IDS[0]], argv=[]).id
    for name in (run, "calm-heron"):
        said = agonist("runs", "delete", name, "--now", "--yes")
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert f"run {run}" in said.err
        assert "stop it first" in said.err
    assert listed(agonist) == [*IDS, run]


def test_wrong_words(agonist, store):
    for words, why in ((["delete"], "which runs?"), (["delete", "latest", "--undo-time", "soon"], "--undo-time needs seconds or a time")):
        said = agonist("runs", *words)
        assert said.code == 2
        assert why in said.err

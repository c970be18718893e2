"""`agonist runs tag`, `note`, `archive`."""

import pytest

from agonist.runs import create, open_store

IDS = [f"2026010{i}-000000-{name}" for i, name in enumerate(["calm-heron", "wise-otter", "bold-lynx"])]


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "store"))
    for i, run_id in enumerate(IDS):
        create(store, "train", {"algo": "ppo", "seed": i}, argv=[], run_id=run_id)
    return store


def listed(agonist, *words):
    return [row["run"] for row in agonist("runs", "list", *words, "--json").json["runs"]]


def test_tags(agonist, store):
    said = agonist("runs", "tag", "calm-heron,wise-otter", "paper", "figure-2", "--json").json
    assert [(row["run"], row["tags"], row["changed"]) for row in said["runs"]] == [(run, ["paper", "figure-2"], True) for run in IDS[:2]]
    assert listed(agonist, "tag:paper and tag:figure-2") == IDS[:2]
    assert agonist("runs", "tag", "--where", "seed = 2", "odd").code == 0
    assert agonist("runs", "tag", "calm-heron", "paper", "--remove").code == 0
    assert listed(agonist, "tag:paper or tag:odd") == IDS[1:]
    out = agonist("runs", "tag", "wise-otter", "paper").out
    assert "as it was" in out


def test_notes(agonist, store):
    assert agonist("runs", "note", "calm-heron", "reward", "scaled").code == 0
    assert agonist("runs", "note", "--where", "seed = 0 or seed = 1", "second: é").code == 0
    assert listed(agonist, "note ~ SECOND") == IDS[:2]
    notes = agonist("runs", "show", "calm-heron", "--json").json["notes"]
    assert [note["text"] for note in notes] == ["reward scaled", "second: é"]
    assert set(notes[0]) == {"time", "by", "text"}


def test_archive_and_back(agonist, store):
    assert agonist("runs", "archive", *IDS[:2]).code == 0
    assert listed(agonist) == IDS[2:]
    assert listed(agonist, "--all") == IDS
    assert agonist("runs", "archive", "--where", "seed = 0 or seed = 2", "--undo").code == 0
    assert listed(agonist) == [IDS[0], IDS[2]]


@pytest.mark.parametrize("words", [["tag", "calm-heron", "x"], ["note", "calm-heron", "x"], ["archive", "calm-heron"]])
def test_a_dry_run_writes_nothing(agonist, store, words):
    said = agonist("runs", *words, "--dry-run", "--json").json
    assert (said["dry_run"], said["runs"][0]["changed"]) == (True, True)
    assert not list(store.list(f"runs/{IDS[0]}/annotations/"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["tag", "calm-heron"], "which tag?"),
        (["tag", "calm-heron", "a b"], "cannot be a tag"),
        (["tag", "calm-heron", "x", "--remove"], "has no tag 'x'"),
        (["tag", "nobody", "x"], "no run 'nobody'"),
        (["tag", "--where", "seed = 9", "x"], "meets seed = 9"),
        (["note", "calm-heron"], "what is the note?"),
        (["note", "calm-heron", "  "], "what is the note?"),
        (["archive"], "which runs?"),
        (["archive", "--where", "seed ="], "this is no filter"),
    ],
)
def test_wrong_words(agonist, store, words, why):
    said = agonist("runs", *words)
    assert (said.code, said.out) == (2, "")
    assert why in said.err


def test_a_sweep_is_archived_with_its_runs_and_comes_back_with_them(agonist, store):
    sweep, child = "20260201-000000-red-owl", "20260202-000000-grey-owl"
    create(store, "sweep", {}, argv=[], run_id=sweep)
    create(store, "train", {}, parents=[sweep], argv=[], run_id=child)
    out = agonist("runs", "archive", "red-owl").out
    assert f"{child}  archived, with {sweep}" in out
    assert listed(agonist) == IDS
    assert agonist("runs", "archive", "red-owl", "--undo").code == 0
    assert listed(agonist) == [*IDS, sweep, child]

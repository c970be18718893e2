"""Runs as archives and tables, read again by other people's readers."""

import csv
import json
import tarfile
import zipfile

import pandas as pd
import pytest

from agonist import runs
from agonist.importers import archives
from agonist.runs import export as module
from agonist.runs import marks
from agonist.runs.export import export, guarded, kind_of, unguarded
from agonist.runs.store import open_store


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "store"))
    for i, lr in enumerate((1e-3, 1e-4)):
        spec = {"algo": "ppo", "env": "x", "seed": 7, "lr": lr, "clip": 0.2, "hidden": [8] * (i + 1), "step": i, "mixed": [i, "a"][i]}
        out = runs.create(store, "train", spec, argv=[], run_id=f"20260101-00000{i}-calm-heron")
        for step in (10, 20):
            out.metrics(step, {"eval/return": step / 100 + i, "loss/value": float("nan")}, time_s=1.5)
        out.checkpoint(20, 2, {}, {}, {})
        out.metrics(30, {"eval/return": 0.5}, time_s=2.5)  # not sealed
        out.finish("interrupted")
    marks.change(store, "20260101-000000-calm-heron", marks.note("é"))
    return store


IDS = ["20260101-000000-calm-heron", "20260101-000001-calm-heron"]


def test_archives_hold_every_file(store, tmp_path):
    export(store, IDS[:1], tmp_path / "x.zip")
    export(store, IDS, tmp_path / "x.tar.gz")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            name: store.get(name) for name in store.list(f"runs/{IDS[0]}/")
        }
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        held = {entry.name: archive.extractfile(entry).read() for entry in archive}
    assert held == {name: store.get(name) for name in store.list("runs/")}
    assert f"runs/{IDS[0]}/annotations/000001.json" in held


def test_tables_are_long_and_name_what_differs(store, tmp_path):
    told = []
    export(store, IDS, tmp_path / "x.csv", told.append)
    export(store, IDS, tmp_path / "x.parquet")
    assert told == IDS
    with open(tmp_path / "x.csv", newline="", encoding="utf8") as file:
        head, *lines = csv.reader(file)
    assert head == ["run", "algo", "env", "seed", "lr", "hidden", "spec.step", "mixed", "step", "time", "name", "value"]
    assert len(lines) == 2 * 5
    assert lines[0] == [IDS[0], "ppo", "x", "7", "0.001", "[8]", "0", "0", "10", "1.5", "eval/return", "0.1"]
    table = pd.read_parquet(tmp_path / "x.parquet")
    assert [*table.columns] == head
    assert (table["lr"].dtype, table["seed"].dtype, table["step"].dtype) == ("float64", "int64", "int64")
    assert table.groupby(["run", "lr"], observed=True).value.max().to_dict() == {(IDS[0], 1e-3): 0.5, (IDS[1], 1e-4): 1.2}
    text = pd.read_csv(tmp_path / "x.csv")
    assert text.value.tolist()[:3:2] == table.value.tolist()[:3:2]
    assert set(table["mixed"]) == {"0", "a"}


def test_json_tells_all(store, tmp_path):
    export(store, IDS, tmp_path / "x.json")
    first, second = json.loads((tmp_path / "x.json").read_text(encoding="utf8"))["runs"]
    assert (first["id"], first["marks"]["note"], second["spec"]["lr"]) == (IDS[0], "é", 1e-4)
    assert first["metrics"]["eval/return"] == {"step": [10, 20, 30], "time": [1.5, 1.5, 2.5], "value": [0.1, 0.2, 0.5]}
    assert first["metrics"]["loss/value"]["value"] == [None, None]


def test_a_run_without_points_is_no_trouble(tmp_path):
    store = open_store(str(tmp_path / "store"))
    run = runs.create(store, "sweep", {}, argv=[]).id
    for kind in ("csv", "parquet", "json", "zip", "tar.gz"):
        export(store, [run], tmp_path / f"x.{kind}")
    assert len(pd.read_parquet(tmp_path / "x.parquet")) == len(pd.read_csv(tmp_path / "x.csv")) == 0


def test_what_fails_leaves_what_was_there(store, tmp_path, monkeypatch):
    (tmp_path / "x.zip").write_bytes(b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*x\.zip'"):
        export(store, IDS, tmp_path / "x.zip")
    assert (tmp_path / "x.zip").read_bytes() == b"before"
    assert {path.name for path in tmp_path.iterdir()} == {"store", "x.zip"}


@pytest.mark.parametrize("name", ["x", "x.txt", ".zip", "x.gz"])
def test_the_name_says_the_kind(name):
    assert kind_of("a/X.TAR.GZ") == ".tar.gz"
    with pytest.raises(ValueError, match=r"end it in \.zip, \.tar\.gz, \.csv, \.parquet, \.json"):
        kind_of(name)


def test_a_folder_that_is_not_there(store, tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        export(store, IDS, tmp_path / "no" / "x.zip")


def test_final_figures_close_a_table(tmp_path):
    store = open_store(str(tmp_path / "store"))
    out = runs.create(store, "train", {"algo": "ppo"}, argv=[])
    out.metrics(10, {"eval/return": 0.1}, time_s=1.0)
    out.metrics(20, {"loss/value": 0.2}, time_s=2.0)
    out.summarise(final={"eval/return": 0.5, "eval/interval": [0.4, 0.6], "eval/episodes": 40, "eval/play": "greedy", "policy": "abc"})
    out.finish("finished")
    for kind, reader in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        export(store, [out.id], tmp_path / f"x.{kind}")
        table = reader(tmp_path / f"x.{kind}")
        rows = list(zip(table.step, table.time, table.name.astype(str), table.value, strict=True))
        assert rows[2:] == [
            (20, 2.0, f"final/eval/{name}", value)
            for name, value in (("return", 0.5), ("episodes", 40), ("return_low", 0.4), ("return_high", 0.6))
        ]


def test_texts_that_a_spreadsheet_would_run_are_only_texts(tmp_path):
    store = open_store(str(tmp_path / "store"))
    out = runs.create(store, "train", {"algo": "=cmd|A1", "env": "@x", "seed": -5, "=key": "+1e3", "b": "'=quoted"}, argv=[], run_id="a")
    out.metrics(1, {"-metric": -2.0, "loss": -1.0})
    out.finish("finished")
    runs.create(store, "train", {"algo": "plain", "env": "x-y", "seed": 1}, argv=[], run_id="b").finish("finished")
    export(store, ["a", "b"], tmp_path / "x.csv")
    with open(tmp_path / "x.csv", encoding="utf8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["run", "algo", "env", "seed", "'=key", "b", "step", "time", "name", "value"]
    assert [[*row[:7], *row[8:]] for row in rows] == [
        ["a", "'=cmd|A1", "'@x", "-5", "+1e3", "''=quoted", "1", "'-metric", "-2.0"],
        ["a", "'=cmd|A1", "'@x", "-5", "+1e3", "''=quoted", "1", "loss", "-1.0"],
    ]
    for text in ("=a", "'=a", "''+a", "-1", "-a", "a=", "'a", "", "@", "\t=a"):
        assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_an_archive_never_unfolds_to_more_than_is_taken_back(name, store, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FREE", 1 << 20)
    store.replace(f"runs/{IDS[0]}/media/zeros", bytes(20 << 20))  # a thousandth when packed
    told = []
    export(store, IDS, tmp_path / name, told.append)
    assert told == IDS
    assert module.unfolds_to(tmp_path / name) > 22 << 20
    archives.restore(other := open_store(str(tmp_path / "other")), tmp_path / name)
    assert other.get(f"runs/{IDS[0]}/media/zeros") == bytes(20 << 20)
    monkeypatch.setattr(module, "MOST_FILES", 3)
    with pytest.raises(ValueError, match="an archive holds 3; export fewer at a time"):
        export(store, IDS, tmp_path / name)
    monkeypatch.setattr(module, "LARGEST", 1 << 20)
    with pytest.raises(ValueError, match="media/zeros has 20,971,520 bytes, and archives hold files of up to 1,048,576"):
        export(store, IDS, tmp_path / name)

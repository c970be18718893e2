"""Archives of exported runs: they come back whole; nothing hostile gets anywhere."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from agonist.importers import archives, bring
from agonist.runs import create, export, open_store, read_metrics, read_run
from agonist.runs.folder import came_from_elsewhere


@pytest.fixture
def exported(tmp_path):
    """(id of a finished run, its files as an archive has them)"""
    store = open_store(tmp_path / "there")
    out = create(store, "train", {"algo": "ppo", "env": "e:t", "seed": 5}, argv=[])
    out.metrics(64, {"eval/return": 0.5})
    out.summarise(steps=64)
    out.finish("finished")
    return out.id, {name: store.get(name) for name in store.list("runs/")}


def pack(path, files, prefix=""):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(prefix + name, data)
    else:
        with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(prefix + name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tgz", "a.tar"])
def test_runs_come_back_as_they_were(name, exported, tmp_path):
    run, files = exported
    path = pack(tmp_path / name, files, "./" if name == "a.tar" else "")
    store = open_store(tmp_path / "here")
    [dry] = bring(store, path, dry=True)
    assert (dry.run, dry.new) == (run, True)
    assert not list(store.list(""))
    [one] = bring(store, path)
    assert (one.run, one.new, one.spec, one.steps) == (run, True, {"algo": "ppo", "env": "e:t", "seed": 5}, 64)
    assert came_from_elsewhere(store, run)
    assert {name: store.get(name) for name in store.list("runs/") if not name.endswith("/imported.json")} == files
    assert read_run(store, run)["summary"]["status"] == "finished"
    assert read_metrics(store, run)["eval/return"][2].tolist() == [0.5]
    [again] = bring(store, path)
    assert (again.run, again.new) == (run, False)


def test_another_run_of_the_same_id_is_left_alone(exported, tmp_path):
    _, files = exported
    store = open_store(tmp_path / "here")
    bring(store, pack(tmp_path / "a.zip", files))
    before = {name: store.get(name) for name in store.list("runs/")}
    changed = {name: data.replace(b'"seed": 5', b'"seed": 6') for name, data in files.items()}
    with pytest.raises(ValueError, match="has another run of the id"):
        bring(store, pack(tmp_path / "b.zip", changed))
    assert {name: store.get(name) for name in store.list("runs/")} == before


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/etc/outside",
        "runs/../outside",
        "runs/r/../../outside",
        "runs/r\\..\\outside",
        "other/r/x",
        "runs/r",
        "runs//x",
        "runs/.x/y",
    ],
)
@pytest.mark.parametrize("kind", ["a.zip", "a.tar"])
def test_ways_out_are_refused(name, kind, exported, tmp_path):
    _, files = exported
    store = open_store(tmp_path / "here")
    with pytest.raises(ValueError, match=r"does not belong there|cannot name something"):
        bring(store, pack(tmp_path / kind, {**files, name: b"x"}))
    assert not list(store.list(""))
    assert not list(Path(tmp_path).rglob("outside"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(kind, exported, tmp_path):
    run, files = exported
    path = pack(tmp_path / "a.tar", files)
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo(f"runs/{run}/media/x")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    store = open_store(tmp_path / "here")
    with pytest.raises(ValueError, match="is a link or no plain file"):
        bring(store, path)
    assert not list(store.list(""))


def test_links_in_a_zip_are_refused(exported, tmp_path):
    run, files = exported
    path = pack(tmp_path / "a.zip", files)
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo(f"runs/{run}/media/x")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ValueError, match="is a link or no plain file"):
        bring(open_store(tmp_path / "here"), path)


def test_bombs_are_refused(exported, tmp_path, monkeypatch):
    run, files = exported
    monkeypatch.setattr(export, "FREE", 1 << 20)
    bomb = {**files, f"runs/{run}/media/big": bytes(30 << 20)}
    for name in ("a.zip", "a.tar.gz"):
        with pytest.raises(ValueError, match="would unfold to more than"):
            bring(open_store(tmp_path / "here"), pack(tmp_path / name, bomb))
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 30 << 20  # tarfile reads such a header whole, before anybody sees it
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(header.tobuf() + bytes(30 << 20)))
    with pytest.raises(ValueError, match="would unfold to more than"):
        bring(open_store(tmp_path / "here"), tmp_path / "b.tar.gz")
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    with pytest.raises(ValueError, match="or 2 files"):
        bring(open_store(tmp_path / "here"), pack(tmp_path / "c.zip", files))


def test_a_name_twice_a_size_that_lies_and_runs_that_are_none(exported, tmp_path):
    run, files = exported
    store = open_store(tmp_path / "here")
    doubled = pack(tmp_path / "a.tar", files)
    with tarfile.open(doubled, "a") as archive:
        archive.addfile(tarfile.TarInfo(f"runs/{run}/run.json"))
    for path, sentence in [
        (doubled, "twice"),
        (pack(tmp_path / "b.zip", {name: data for name, data in files.items() if not name.endswith("run.json")}), "has no run.json"),
        (pack(tmp_path / "c.zip", {name.replace(run, "other"): data for name, data in files.items()}), "speaks of the run"),
        (pack(tmp_path / "d.zip", {f"runs/{run}/run.json": b"{"}), "is damaged"),
        (pack(tmp_path / "e.zip", {}), "holds no run"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            bring(store, path)
    assert not list(store.list(""))


def test_damaged_archives_are_a_sentence(exported, tmp_path):
    _, files = exported
    store = open_store(tmp_path / "here")
    for name in ("a.zip", "a.tar.gz"):
        whole = pack(tmp_path / name, files).read_bytes()
        for end in (0, 10, len(whole) // 2, len(whole) - 30):
            (tmp_path / name).write_bytes(whole[:end])
            with pytest.raises(ValueError, match=r"is damaged|holds no run|is no"):
                bring(store, tmp_path / name)
        first = 30 + len(next(iter(files)))  # of what the first file holds, in a zip
        for place in (first, first + 9) if name == "a.zip" else range(first, len(whole), 11):
            flipped = bytearray(whole)
            flipped[place] ^= 0xFF
            (tmp_path / name).write_bytes(flipped)
            with pytest.raises(ValueError, match=r".+"):
                bring(store, tmp_path / name)
    assert not [name for name in store.list("") if name.endswith("run.json")]

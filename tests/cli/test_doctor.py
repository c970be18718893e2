"""`agonist doctor`."""

import os
import shutil
from pathlib import Path

import pytest

import agonist as package
from agonist import devices
from agonist.cli import doctor, repeats

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "store.v1"


def checks_of(said):
    return {check["what"]: check for check in said.json["checks"]}


@pytest.fixture
def quick(monkeypatch):
    """Without computing anything: that is looked at elsewhere."""
    monkeypatch.setattr(repeats, "computed", lambda: repeats.Repeats(True, 2, 0.0))


def test_a_healthy_machine(agonist, tmp_path):
    said = agonist("doctor", "--store", tmp_path / "s", "--json")
    assert said.code == 0
    assert said.json["ok"]
    checks = checks_of(said)
    assert {"agonist", "python", "jax", "compile cache", "repeats", "store", "runs", "its disk", "ffmpeg"} <= set(checks)
    assert package.__version__ in checks["agonist"]["says"]
    assert f"{devices.cores()} cores" in checks["python"]["says"]
    assert checks["jax"]["facts"]["devices"] == {"cpu": 2}
    assert checks["repeats"]["facts"]["same"]
    assert checks["store"]["facts"]["url"] == str(tmp_path / "s")


def test_one_screen(agonist, quick, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = agonist("doctor", "--store", tmp_path / "s").out.splitlines()
    assert lines[-1] == "ready to train"
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 80


def test_it_leaves_nothing_in_the_store(agonist, quick, tmp_path):
    agonist("doctor", "--store", tmp_path / "s")
    assert [path for path in (tmp_path / "s").rglob("*") if path.is_file()] == []
    assert agonist("runs", "list", "--store", tmp_path / "s", "--json").json == {"runs": []}


def test_a_broken_store_is_exit_code_1(agonist, quick, tmp_path):
    (tmp_path / "file").write_text("")
    said = agonist("doctor", "--store", tmp_path / "file", "--json")
    assert said.code == 1
    assert not said.json["ok"]
    [broken] = [check for check in said.json["checks"] if check["state"] == "broken"]
    assert broken["what"] == "store"
    assert "broken: store" in agonist("doctor", "--store", tmp_path / "file").out


def test_hosts_are_told(agonist, quick, monkeypatch):
    for name in ("AGONIST_HOSTS", "AGONIST_COORDINATOR", "AGONIST_HOST", "SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    assert checks_of(agonist("doctor", "--json"))["hosts"]["says"] == "this one alone"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "a job of Slurm" in checks_of(agonist("doctor", "--json"))["hosts"]["says"]
    for name, value in {"AGONIST_HOSTS": "4", "AGONIST_COORDINATOR": "node0:4567", "AGONIST_HOST": "2"}.items():
        monkeypatch.setenv(name, value)
    found = checks_of(agonist("doctor", "--json"))["hosts"]
    assert "host 2 of 4" in found["says"]
    assert found["facts"]["coordinator"] == "node0:4567"
    monkeypatch.setenv("AGONIST_HOST", "9")
    assert checks_of(agonist("doctor", "--json"))["hosts"]["state"] == "warn"


def test_jax_that_cannot_be_imported_is_exit_code_1(agonist, monkeypatch):
    def missing():
        raise ImportError("no jaxlib for this machine\nand a long story")

    monkeypatch.setattr(doctor, "_jax", missing)
    said = agonist("doctor", "--json")
    assert said.code == 1
    assert checks_of(said)["jax"]["says"] == "ImportError: no jaxlib for this machine"
    assert "repeats" not in checks_of(said)


def test_a_missing_extra_says_how_to_get_it(agonist, quick, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "gymnasium" else "1.0")
    said = agonist("doctor", "--json")
    extra = checks_of(said)["extra gymnasium"]
    assert extra["state"] == "absent"
    assert "pip install 'agonist[gymnasium]'" in extra["says"]
    assert said.code == 0
    lines = agonist("doctor").out.splitlines()
    assert sum("extra gymnasium" in line for line in lines) == 1
    assert [line for line in lines if " extras " in line and "stats" in line and "gymnasium" not in line]


def test_no_ffmpeg(agonist, quick, monkeypatch):
    monkeypatch.setenv("PATH", "")
    said = checks_of(agonist("doctor", "--json"))["ffmpeg"]
    assert said["state"] == "absent"
    assert "install ffmpeg" in said["says"]


def test_runs_that_say_they_run_but_are_dead(agonist, quick, tmp_path):
    store = tmp_path / "s"
    shutil.copytree(GOLDEN, store)
    [summary] = store.glob("runs/*/summary.json")
    assert checks_of(agonist("doctor", "--store", store, "--json"))["runs"]["facts"]["status"] == {"finished": 1}
    summary.write_text(summary.read_text().replace('"finished"', '"running"'))
    runs = checks_of(agonist("doctor", "--store", store, "--json"))["runs"]
    assert runs["state"] == "warn"
    assert runs["facts"]["killed"] == [summary.parent.name]
    assert f"agonist train --resume {summary.parent.name}" in runs["says"]


def test_a_cache_that_cannot_be_written(agonist, quick, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "file" / "programs"))
    cache = checks_of(agonist("doctor", "--json"))["compile cache"]
    assert cache["state"] == "warn"
    assert "set AGONIST_CACHE" in cache["says"]
    assert not cache["facts"]["writable"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits")
def test_a_cache_that_others_may_write(agonist, quick, tmp_path, monkeypatch):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(0o777)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "programs"))
    said = checks_of(agonist("doctor", "--json"))["compile cache"]
    assert said["state"] == "warn"
    assert "chmod 700" in said["says"]
    (tmp_path / "programs").chmod(0o700)
    assert checks_of(agonist("doctor", "--json"))["compile cache"]["state"] == "ok"


def test_a_disk_without_hard_links_or_with_another_clock(agonist, quick, monkeypatch):
    def link(*_):
        raise OSError("not here")

    monkeypatch.setattr(doctor.os, "link", link)
    assert "no hard links" in checks_of(agonist("doctor", "--json"))["its disk"]["says"]
    now = doctor.time.time()
    monkeypatch.setattr(doctor.time, "time", lambda: now + 60)
    assert "its clock is -60 s" in checks_of(agonist("doctor", "--json"))["its disk"]["says"]


def test_a_broken_plugin_is_told_and_breaks_nothing(agonist, quick, monkeypatch):
    row = {"group": "agonist.envs", "name": "ring", "package": "rings", "version": "0.1", "problem": "ring is broken: it raises"}
    monkeypatch.setattr(doctor.plugins, "listing", lambda: [row, {**row, "name": "gym", "package": None, "problem": None}])
    said = agonist("doctor", "--json")
    assert said.code == 0
    assert checks_of(said)["plugins"]["says"] == "rings 0.1"
    assert checks_of(said)["plugin ring"]["state"] == "warn"


def test_full_trains(agonist, monkeypatch):
    monkeypatch.setattr(repeats, "trained", lambda: repeats.Repeats(False, 1, 0.0))
    found = checks_of(agonist("doctor", "--full", "--json"))["repeats"]
    assert found["state"] == "warn"
    assert "cannot be repeated" in found["says"]

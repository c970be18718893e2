"""What is settled before jax starts: seen in the environment, and in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agonist import devices

NAMES = ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "AGONIST_CACHE", "XDG_CACHE_HOME")


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A process in which nothing is set and jax is not imported; four cores."""
    for name in (*NAMES, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"):
        monkeypatch.setenv(name, "")  # so that monkeypatch takes back what prepare sets
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGONIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(devices, "sys", SimpleNamespace(modules={}, platform="linux", stderr=sys.stderr))
    monkeypatch.setattr(devices, "cores", lambda: 4)
    return monkeypatch


@pytest.mark.parametrize(
    ("shards", "cores", "count", "one_thread"),
    [
        (2, 4, 2, False),
        (2, 2, 2, True),
        (4, 2, 2, True),
        (6, 4, 3, False),
        (4, 64, 4, False),
        (5, 4, 1, False),
        (1, 4, 1, False),
        (2, 1, 1, False),
    ],
)
def test_a_device_a_shard_where_there_are_cores(bare, shards, cores, count, one_thread):
    bare.setattr(devices, "cores", lambda: cores)
    devices.prepare(shards)
    flags = os.environ.get("XLA_FLAGS", "")
    assert (f"--xla_force_host_platform_device_count={count}" in flags) == (count > 1)
    assert ("--xla_cpu_multi_thread_eigen=false" in flags) == one_thread


@pytest.mark.parametrize(
    ("shards", "wanted", "hosts", "count"), [(4, 3, 1, 3), (4, 1, 1, None), (4, None, 2, 2), (2, None, 2, 1), (2, 2, 2, 2), (1, None, 4, 1)]
)
def test_as_many_as_are_asked_for_and_shared_out_among_hosts(bare, shards, wanted, hosts, count):
    """A process that is one of several says how many it has also where that is one: on a CPU each would have as many as it likes."""
    bare.setattr(devices, "_wanted", None)
    devices.use(wanted)
    assert devices.wanted() == wanted
    devices.prepare(shards, hosts)
    flags = os.environ.get("XLA_FLAGS", "")
    assert (f"--xla_force_host_platform_device_count={count}" in flags) if count else not flags


def test_what_the_user_has_set_stays(bare, tmp_path):
    bare.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=7 --xla_other=1")
    bare.setenv("JAX_COMPILATION_CACHE_DIR", "/theirs")
    devices.prepare(2)
    assert os.environ["XLA_FLAGS"] == "--xla_force_host_platform_device_count=7 --xla_other=1"
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "/theirs"
    assert not (tmp_path / "cache").exists()


def test_other_flags_are_kept(bare):
    bare.setenv("XLA_FLAGS", "--xla_other=1")
    devices.prepare(2)
    assert os.environ["XLA_FLAGS"].startswith("--xla_other=1 --xla_force_host_platform_device_count=2")


def test_the_cache_is_the_users_alone(bare, tmp_path):
    devices.prepare(2)
    folder = tmp_path / "cache" / "programs"
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(folder)
    assert float(os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"]) == 0
    if os.name != "nt":
        assert folder.stat().st_mode & 0o077 == 0


def test_a_cache_that_cannot_be_is_said_and_nothing_fails(bare, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    bare.setenv("AGONIST_CACHE", str(tmp_path / "file"))
    devices.sys.stderr = sys.stderr
    devices.prepare(2)
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    assert "compiled programs cannot be kept in" in capsys.readouterr().err


def test_once_jax_is_there_only_the_cache_changes(bare, tmp_path):
    told = {}
    devices.sys.modules["jax"] = SimpleNamespace(config=SimpleNamespace(update=told.__setitem__))
    devices.prepare(2)
    assert "XLA_FLAGS" not in os.environ
    assert told["jax_compilation_cache_dir"] == str(tmp_path / "cache" / "programs")


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/agonist"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/agonist"),
        ("darwin", {"HOME": "/home/me"}, "/home/me/Library/Caches/agonist"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/agonist/cache"),
        ("linux", {"AGONIST_CACHE": "/mine"}, "/mine"),
    ],
)
def test_where_the_cache_is(bare, platform, variables, folder):
    bare.delenv("AGONIST_CACHE")
    devices.sys.platform = platform
    for name, value in variables.items():
        bare.setenv({"HOME": "USERPROFILE"}.get(name, name) if os.name == "nt" else name, value)
    assert devices.cache_folder() == Path(folder)


def test_cores_are_those_that_this_process_may_use():
    assert 1 <= devices.cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        assert devices.cores() == len(os.sched_getaffinity(0))


def test_a_fresh_process_has_a_device_a_shard(tmp_path):
    code = "from agonist import devices; devices.cores = lambda: 3; devices.prepare(3); import jax; print(len(jax.devices()))"
    environment = {key: value for key, value in os.environ.items() if key not in NAMES} | {"AGONIST_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]
    assert (tmp_path / "programs").is_dir()


def test_looking_at_the_package_imports_no_jax():
    code = "import sys, agonist; from agonist import devices; devices.prepare(); assert 'jax' not in sys.modules; print(dir(agonist))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "train" in done.stdout

"""Names made safe, whole writes, and a lock that dies with its holder."""

import errno
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agonist.sinks.paths import locked, part, write_whole
from agonist.sinks.records import SinkError


@pytest.mark.parametrize("text", ["ppo", "20261119-211433-calm-heron", "lr=0.001", "a_b.c+d@e"])
def test_plain_names_stay(text):
    assert part(text) == text


@pytest.mark.parametrize("text", ["", ".", "..", "../../etc", "a/b", "a\\b", "C:\\x", "con", "NUL.txt", "x" * 300, "a\0b", "ünï"])
def test_others_become_one_part_of_a_path(text, tmp_path):
    safe = part(text)
    assert safe not in ("", ".", "..")
    assert not set(safe) & set('/\\:\0<>|?*"')
    assert len(safe) <= 120
    (tmp_path / safe).write_text("")
    assert [file.name for file in tmp_path.iterdir()] == [safe]
    assert not safe.lower().startswith(("con~", "nul."))


@given(st.text(), st.text())
def test_two_texts_stay_two(a, b):
    assert (part(a) == part(b)) == (a == b)


def test_a_write_is_whole_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "deep" / "file"
    write_whole(path, b"one")
    path.with_name(".file.half").write_bytes(b"a killed writer's")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in path.parent.iterdir()] == ["file"]


def test_one_at_a_time_and_others_wait_no_longer_than_told(tmp_path):
    path = tmp_path / "file"
    with locked(path, 1) as first:
        began = time.monotonic()
        with locked(path, 0.1) as second:
            assert (first, second) == (True, False)
        assert 0.1 <= time.monotonic() - began < 0.5
    with locked(path, 0.1) as third:
        assert third


def test_a_killed_holder_leaves_no_lock(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from agonist.sinks.paths import locked\n"
        "with locked(Path(sys.argv[1]), 1): print('got', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "file")], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"got\n"
    with locked(tmp_path / "file", 0.1) as got:
        assert not got
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with locked(tmp_path / "file", 2) as got:
        assert got


@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS])
def test_a_disk_without_locks_is_said_at_once(number, tmp_path, monkeypatch):
    def flock(descriptor, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    began = time.monotonic()
    with pytest.raises(SinkError, match="locks no files") as told, locked(tmp_path / "metrics.json", 10):
        pass
    assert os.strerror(number) in str(told.value)
    assert time.monotonic() - began < 1

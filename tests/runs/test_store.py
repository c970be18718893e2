import errno
import os
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agonist.runs import store as module
from agonist.runs.store import ABANDONED, TEMPORARY, DirectoryStore, Missing, StoreError, open_store
from agonist.testing.store import MemoryStore, StoreSuite


class TestDirectoryStore(StoreSuite):
    def make_store(self, folder):
        return DirectoryStore(folder / "store")


class TestMemoryStore(StoreSuite):
    def make_store(self, folder):
        return MemoryStore()


class TestDirectoryStoreWithoutHardLinks(StoreSuite):
    """A disk such as exFAT or some network disks."""

    @pytest.fixture(autouse=True)
    def _no_links(self, monkeypatch):
        def refuse(*_):
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", refuse)

    def make_store(self, folder):
        return DirectoryStore(folder / "store")


NAMES = st.sampled_from(["a", "b/c", "b/d", "b/d-e", "b-c", "f/1/x", "f/1/y", "f/2/x", "g/000001.s", "g/000004.s"])
DATA = st.binary(max_size=40)
OPERATION = st.one_of(
    st.tuples(st.just("put_if_absent"), NAMES, DATA),
    st.tuples(st.just("replace"), NAMES, DATA),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("get"), NAMES, st.integers(0, 50), st.none() | st.integers(0, 50)),
    st.tuples(st.just("list"), st.sampled_from(["", "b", "b/", "f/1", "f/", "g/", "x"]), NAMES | st.just("")),
    st.tuples(st.just("folders"), st.sampled_from(["", "b/", "f/", "x/"])),
    st.tuples(st.just("append_segment"), st.just("g"), st.just(".s"), DATA),
)


def answer(store, operation):
    try:
        result = getattr(store, operation[0])(*operation[1:])
    except Missing:
        return "missing"
    return list(result) if operation[0] in ("list", "folders") else result


@settings(max_examples=60, deadline=None)
@given(st.lists(OPERATION, max_size=25))
def test_a_directory_answers_as_a_mapping_would(tmp_path_factory, operations):
    directory, memory, model = DirectoryStore(tmp_path_factory.mktemp("s")), MemoryStore(), {}
    for operation in operations:
        assert answer(directory, operation) == answer(memory, operation)
        match operation:
            case ("put_if_absent", name, data):
                model.setdefault(name, data)
            case ("replace", name, data):
                model[name] = data
            case ("delete", name):
                model.pop(name, None)
            case ("append_segment", _, _, data):
                model[f"g/{max((int(n[2:8]) for n in model if n.startswith('g/')), default=0) + 1:06d}.s"] = data
    for store in (directory, memory):
        assert {name: store.get(name) for name in store.list("")} == model


def test_the_default_store_is_here_and_is_created(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGONIST_STORE", raising=False)
    open_store()
    assert (tmp_path / ".agonist").is_dir()
    monkeypatch.setenv("AGONIST_STORE", str(tmp_path / "else" / "where"))
    assert open_store().url == str((tmp_path / "else" / "where").resolve())
    assert open_store("given").url == str((tmp_path / "given").resolve())
    assert open_store((tmp_path / "a b").as_uri()).url == str((tmp_path / "a b").resolve())


@pytest.mark.parametrize(
    ("url", "words"), [("s3://bucket/prefix", "S3 yet"), ("ftp://x/y", "scheme 'ftp'"), ("file://host/x", "three slashes")]
)
def test_a_store_that_cannot_be_had_is_refused_with_a_sentence(url, words):
    with pytest.raises(ValueError, match=words):
        open_store(url)


def test_a_file_where_the_store_should_be(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match="a file where a directory belongs"):
        open_store(tmp_path / "taken")
    store = open_store(tmp_path / "s")
    store.replace("runs", b"")
    with pytest.raises(StoreError, match="a file where a directory belongs"):
        store.replace("runs/x/run.json", b"")


@pytest.mark.skipif(os.name == "nt", reason="making symbolic links needs a privilege on Windows")
def test_no_link_leads_out_of_the_store(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("x")
    store = DirectoryStore(tmp_path / "s")
    (tmp_path / "s" / "out").symlink_to(secret)
    (tmp_path / "s" / "circle").symlink_to(tmp_path / "s")
    (tmp_path / "s" / "file").symlink_to(secret / "key")
    for act in (store.get, store.delete, lambda name: store.replace(name, b""), lambda name: store.put_if_absent(name, b"")):
        for name in ("out/key", "out/new", "file"):
            with pytest.raises(StoreError, match="leads out of the store"):
                act(name)
    with pytest.raises(StoreError, match="leads out of the store"):
        store.list("out/key")
    assert [*store.list("o"), *store.list("circle")] == []
    assert (secret / "key").read_text() == "x"
    assert os.listdir(secret) == ["key"]


def test_a_killed_writers_leftovers_are_never_shown_and_swept_when_old(tmp_path):
    store = DirectoryStore(tmp_path)
    store.replace("runs/a/x", b"")
    fresh, old = (tmp_path / "runs" / "a" / f"{TEMPORARY}{name}" for name in ("fresh", "old"))
    for path in (fresh, old):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - ABANDONED - 5,) * 2)
    assert [*store.list("runs/")] == ["runs/a/x"]
    assert fresh.exists()
    assert not old.exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "no space is left for runs/x.* unharmed"),
        (errno.EROFS, "does not let runs/x.* be written"),
        (errno.EACCES, "does not let runs/x.* be written"),
        (errno.EIO, "runs/x"),
    ],
)
@pytest.mark.parametrize("call", ["fsync", "replace", "open", "link"])
def test_what_the_disk_refuses_is_said_in_a_sentence_and_harms_nothing(tmp_path, monkeypatch, code, words, call):
    store = DirectoryStore(tmp_path)
    store.replace("runs/x", b"old")

    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    act = (lambda: store.put_if_absent("runs/x2", b"new")) if call == "link" else (lambda: store.replace("runs/x", b"new"))
    if (code, call) == (errno.EACCES, "link") and os.name == "nt":
        pytest.skip("Windows then renames")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(StoreError, match=words) as caught:
            act()
        assert "Traceback" not in str(caught.value)
    assert store.get("runs/x") == b"old"
    assert os.listdir(tmp_path / "runs") == ["x"]


def test_a_disk_that_is_really_full(tmp_path):
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)]
    mounted = sys.platform == "linux" and subprocess.run(command, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("a tiny disk can only be mounted by root on Linux; the full disk is injected in the test above")
    try:
        store = DirectoryStore(tmp_path)
        store.replace("x", b"old" * 100)
        for act in (store.replace, store.put_if_absent):
            with pytest.raises(StoreError, match="no space is left"):
                act("x" if act == store.replace else "y", b"n" * 200_000)
        assert store.get("x") == b"old" * 100
        assert [*store.list("")] == ["x"]
        assert os.listdir(tmp_path) == ["x"]
        store.replace("x", b"fits")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_folder_taken_along_by_a_delete_comes_back_with_the_next_write(tmp_path):
    """Two threads, one deleting the last file of a folder while the other writes into it."""
    store = DirectoryStore(tmp_path)
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            store.replace("a/b/c/x", b"", durable=False)
            store.delete("a/b/c/x")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for i in range(200):
            store.replace("a/b/c/y", b"%d" % i, durable=False)
            assert store.get("a/b/c/y") == b"%d" % i
            store.delete("a/b/c/y")
    finally:
        stop.set()
        thread.join()


def test_windows_way_of_creating_only_where_nothing_is(tmp_path, monkeypatch):
    """There `os.rename` fails where the target exists; here it is imitated."""

    def rename(source, target):
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "exists", target)
        os.replace(source, target)

    def refuse(*_):
        raise OSError(errno.EINVAL, "no links")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "rename", rename)
    (tmp_path / "new").write_bytes(b"n")
    (tmp_path / "there").write_bytes(b"t")
    monkeypatch.setattr(module.os, "name", "nt")
    try:
        module._link_new(str(tmp_path / "new"), str(tmp_path / "made"))
        (tmp_path / "new").write_bytes(b"n")
        with pytest.raises(FileExistsError):
            module._link_new(str(tmp_path / "new"), str(tmp_path / "there"))
    finally:
        monkeypatch.undo()
    assert (tmp_path / "made").read_bytes() == b"n"
    assert (tmp_path / "there").read_bytes() == b"t"

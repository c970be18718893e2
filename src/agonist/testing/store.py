"""What every store must do, and one in memory for tests.

Subclass `StoreSuite` in a test file and say how to make a store; pytest runs the rest:

    class TestMine(StoreSuite):
        def make_store(self, folder): return MyStore(folder)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agonist.runs.store import Missing, Store, append_numbered, check_name


class MemoryStore:
    """A store that is gone with its process."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return "memory"

    def put_if_absent(self, name: str, data: bytes) -> bool:
        with self._lock:
            fresh = check_name(name) not in self.objects
            if fresh:
                self.objects[name] = bytes(data)
            return fresh

    def replace(self, name: str, data: bytes, durable: bool = True) -> None:
        self.objects[check_name(name)] = bytes(data)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        if check_name(name) not in self.objects:
            raise Missing(f"the store {self.url} has no {name}")
        return self.objects[name][start:end]

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        return iter([name for name in sorted(self.objects) if name.startswith(prefix) and name > after])

    def folders(self, prefix: str) -> Iterator[str]:
        inside = [name[len(prefix) :].split("/") for name in sorted(self.objects) if name.startswith(prefix)]
        return iter(sorted({parts[0] for parts in inside if len(parts) > 1}))

    def append_segment(self, prefix: str, suffix: str, data: bytes) -> str:
        return append_numbered(self, prefix, suffix, data)

    def delete(self, name: str) -> None:
        self.objects.pop(check_name(name), None)


class StoreSuite:
    """The contract of `agonist.runs.store.Store`."""

    def make_store(self, folder: Path) -> Store:
        raise NotImplementedError("say which store to test")

    def test_what_was_put_is_got(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        data = bytes(range(256)) * 300
        assert store.put_if_absent("runs/a/x.bin", data)
        assert store.get("runs/a/x.bin") == data

    def test_a_range_is_a_slice(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.replace("x", b"0123456789")
        for start, end in [(0, None), (3, None), (3, 7), (0, 0), (7, 3), (8, 99), (10, None), (99, None)]:
            assert store.get("x", start, end) == b"0123456789"[start:end], (start, end)

    def test_the_first_to_create_wins_and_nothing_of_the_second_is_kept(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        assert store.put_if_absent("a/b", b"first")
        assert not store.put_if_absent("a/b", b"second")
        assert store.get("a/b") == b"first"

    def test_of_many_that_create_at_once_one_wins(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda i: store.put_if_absent("deep/er/name", b"%d" % i), range(32)))
        assert sum(won) == 1
        assert store.get("deep/er/name") == b"%d" % won.index(True)

    def test_replace_creates_and_replaces(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        for durable in (True, False):
            store.replace("a/b", b"1", durable=durable)
            store.replace("a/b", b"22", durable=durable)
            assert store.get("a/b") == b"22"
        store.replace("a/b", b"")
        assert store.get("a/b") == b""

    def test_a_reader_sees_the_old_or_the_new(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.replace("x", b"0" * 50_000)
        done = threading.Event()

        def write() -> None:
            for i in range(60):
                store.replace("x", b"%d" % (i % 10) * 50_000, durable=False)
            done.set()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(write)
            seen = []
            while not done.is_set():
                seen.append(store.get("x"))
        assert all(len(data) == 50_000 and data == data[:1] * 50_000 for data in seen)

    def test_what_is_not_there_is_missing(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.replace("a/b/c", b"")
        for name in ("x", "a", "a/b", "a/b/c/d"):
            try:
                store.get(name)
            except Missing as error:
                sentence = str(error)
            else:
                sentence = "it was got"
            assert f"no {name}" in sentence

    def test_delete_is_quiet_about_what_is_not_there(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.replace("a/b/c", b"")
        store.delete("a/b/c")
        store.delete("a/b/c")
        assert [*store.list("")] == []
        assert [*store.folders("")] == []
        assert store.put_if_absent("a/b/c", b"again")

    def test_list_is_sorted_by_name_and_cut_by_prefix_and_after(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        names = sorted(["a", "b/c", "b/c-d", "b-c", "b.c", "b/d/e", "b/d/f/g", "b/é", "bb/1", "c"])
        for name in reversed(names):
            store.replace(name, b"")
        assert [*store.list("")] == names
        for prefix in ("b", "b/", "b/d", "b/d/", "b/d/e", "b/x", "x/y", "bb"):
            for after in ("", "b/c", "b/c-d", "b/d", "b/d/e", "b/d/f/h", "zz"):
                assert [*store.list(prefix, after)] == [n for n in names if n.startswith(prefix) and n > after], (prefix, after)

    def test_folders_are_those_directly_below(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        for name in ("runs/b/x", "runs/a/y/z", "runs/file", "other/1"):
            store.replace(name, b"")
        assert [*store.folders("runs/")] == ["a", "b"]
        assert [*store.folders("")] == ["other", "runs"]
        assert [*store.folders("none/")] == []

    def test_segments_are_numbered_and_none_is_lost(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        assert store.append_segment("m", ".bin", b"x") == "m/000001.bin"
        store.replace("m/000007.bin", b"a gap")
        store.replace("m/live.jsonl", b"no segment")
        assert store.append_segment("m", ".bin", b"y") == "m/000008.bin"
        with ThreadPoolExecutor(6) as pool:
            names = list(pool.map(lambda i: store.append_segment("m", ".bin", b"%d" % i), range(24)))
        assert len(set(names)) == 24
        assert [store.get(name) for name in names] == [b"%d" % i for i in range(24)]

    def test_names_that_a_store_cannot_hold_are_refused(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        for name in ("", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", "a\\b", "C:/a", "a\nb", "a\0b", ".tmp-x", "a/.tmp-1/b"):
            for act in (store.get, store.delete, lambda n: store.replace(n, b""), lambda n: store.put_if_absent(n, b"")):
                try:
                    act(name)
                except ValueError:
                    continue
                raise AssertionError(f"{name!r} should be refused")

"""Where runs are kept: the few operations that a directory and S3 both honour. No rename and no append.

In: names (`runs/<id>/run.json`, parts joined by `/`) and bytes. Out: bytes, or a `StoreError` whose sentence a user can act
on. Every write is whole or not there at all, whenever the process is killed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

TEMPORARY = ".tmp-"  # a file that is being written begins so; `list` never shows it
PART = rf"(?!\.\.?(?:/|\Z)|{re.escape(TEMPORARY)})[^/\\:]+"
NAME = re.compile(rf"{PART}(?:/{PART})*")
ABANDONED = 3600.0  # seconds after which a temporary file is nobody's: its writer was killed


class StoreError(Exception):
    """The store could not do it; the message says what, where and what to do."""


class Missing(StoreError):
    """There is nothing of that name."""


class Store(Protocol):
    """What holds runs, policies and datasets."""

    @property
    def url(self) -> str: ...

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create it, whole and durable. False, and nothing is changed, where there is one already: of many callers one wins."""

    def replace(self, name: str, data: bytes, durable: bool = True) -> None:
        """Create or replace it. A reader sees the old or the new. `durable=False`: a power cut may lose it, a kill does not."""

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`, as a slice. Raises `Missing`."""

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        """Every name that begins with `prefix` and sorts behind `after`, sorted."""

    def folders(self, prefix: str) -> Iterator[str]:
        """The folders directly under `prefix` (which ends in `/` or is empty), by their last part, sorted."""

    def append_segment(self, prefix: str, suffix: str, data: bytes) -> str:
        """Create the next of `prefix/000001suffix`, `prefix/000002suffix` ... and return its name."""

    def delete(self, name: str) -> None:
        """Remove it. Not being there is no error."""


def open_store(url: str | os.PathLike[str] | None = None) -> Store:
    """The store of that URL or path; by default that of AGONIST_STORE, else `.agonist` here. One not there is created."""
    text = os.fspath(url) if url is not None else os.environ.get("AGONIST_STORE") or ".agonist"
    scheme, colon, _ = text.partition("://")
    if not colon:
        return DirectoryStore(text)
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise ValueError(f"store {text!r} names the host {parts.netloc!r}; a file URL has three slashes: file:///path")
        return DirectoryStore(_path_of(parts.path))
    if scheme == "s3":
        raise ValueError(f"store {text!r}: this version cannot keep runs in S3 yet; give a directory, as in --store .agonist")
    raise ValueError(f"store {text!r} has the unknown scheme {scheme!r}; give a directory or file:///path")


def _path_of(url_path: str) -> str:
    if os.name != "nt":
        return unquote(url_path)
    from urllib.request import url2pathname  # brings http along

    return url2pathname(url_path)


def check_name(name: str) -> str:
    """`name` if every store can hold it. What a user's program chose (a picture's name) passes here too."""
    if not NAME.fullmatch(name) or not name.isprintable():
        raise ValueError(
            f"{name!r} cannot name something in a store: it needs parts joined by '/', none of them empty, '.' or '..', without \\ or :"
        )
    return name


def number_of(name: str, suffix: str) -> int:
    """7 of `metrics/000007.parquet`; 0 where the name is not a segment's."""
    digits = name.rpartition("/")[2].removesuffix(suffix)
    return int(digits) if digits.isascii() and digits.isdigit() and name.endswith(suffix) else 0


def append_numbered(store: Store, prefix: str, suffix: str, data: bytes) -> str:
    """`append_segment` of any store that has `list` and `put_if_absent`."""
    number = max((number_of(name, suffix) for name in store.list(f"{prefix}/")), default=0)
    while True:
        number += 1
        name = f"{prefix}/{number:06d}{suffix}"
        if store.put_if_absent(name, data):
            return name


class DirectoryStore:
    """A store in a directory, on a local or a shared disk. Files appear by link or rename, never half-written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        root = Path(path).expanduser()
        with _sentences(str(root), "the store's directory"):
            root.mkdir(parents=True, exist_ok=True)
            self.root = os.path.realpath(root)

    @property
    def url(self) -> str:
        return self.root

    def put_if_absent(self, name: str, data: bytes) -> bool:
        path = self._path(name)
        with _sentences(self.root, name, len(data)):
            if os.path.isdir(path):
                raise IsADirectoryError(errno.EISDIR, "is a directory", path)
            if os.path.lexists(path):
                return False
            temporary = _write_beside(path, data, durable=True)
            try:
                _link_new(temporary, path)
            except FileExistsError:
                return False
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
            _sync_folder(path)
        return True

    def replace(self, name: str, data: bytes, durable: bool = True) -> None:
        path = self._path(name)
        with _sentences(self.root, name, len(data)):
            temporary = _write_beside(path, data, durable)
            try:
                _replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
            if durable:
                _sync_folder(path)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        path = self._path(name)
        with _sentences(self.root, name):
            try:
                with open(path, "rb", buffering=0 if end is None else -1) as file:
                    if start:
                        file.seek(start)
                    return file.read() if end is None else file.read(max(end - start, 0))
            except (IsADirectoryError, NotADirectoryError):
                raise FileNotFoundError(path) from None

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        folder = prefix.rpartition("/")[0]
        if folder and not os.path.isdir(os.path.join(self.root, check_name(folder))):
            return iter(())
        if folder:
            self._path(folder)
        return self._walk(f"{folder}/" if folder else "", prefix, after)

    def folders(self, prefix: str) -> Iterator[str]:
        if prefix:
            self._path(prefix.rstrip("/"))
        return iter(sorted(entry.name for entry in self._scan(prefix) if entry.is_dir(follow_symlinks=False)))

    def append_segment(self, prefix: str, suffix: str, data: bytes) -> str:
        return append_numbered(self, prefix, suffix, data)

    def delete(self, name: str) -> None:
        path = self._path(name)
        with _sentences(self.root, name), suppress(FileNotFoundError):
            os.unlink(path)
            self._prune(os.path.dirname(path))

    def _prune(self, folder: str) -> None:
        """A folder is its files: the last one takes it along."""
        with suppress(OSError):
            while folder != self.root:
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    def _path(self, name: str) -> str:
        path, links = self.root, False
        for part in check_name(name).split("/"):
            path = f"{path}{os.sep}{part}"
            links = links or os.path.islink(path)
        real = os.path.realpath(path) if links else path
        if real != path and os.path.commonpath([self.root, real]) != self.root:
            raise StoreError(
                f"{name!r} leads out of the store {self.root} by a symbolic link to {real}; open that directory as a store instead"
            )
        return path

    def _scan(self, prefix: str) -> Sequence[os.DirEntry[str]]:
        path = os.path.join(self.root, *prefix.split("/"))
        with _sentences(self.root, prefix or "its directory"):
            try:
                with os.scandir(path) as entries:
                    return [*entries]
            except FileNotFoundError:
                return []

    def _walk(self, folder: str, prefix: str, after: str) -> Iterator[str]:
        """Names sort as strings, so a folder `a/` sorts behind a file `a-b`: entries are ordered by name with that slash.
        Links to directories are not followed: they may lead out, or round in a circle."""
        entries = {folder + entry.name + "/" * entry.is_dir(follow_symlinks=False): entry for entry in self._scan(folder)}
        for name in sorted(entries):
            if entries[name].name.startswith(TEMPORARY):
                _sweep(entries[name])
            elif not name.endswith("/"):
                if name.startswith(prefix) and name > after and entries[name].is_file():
                    yield name
            elif (name.startswith(prefix) or prefix.startswith(name)) and (name > after or after.startswith(name)):
                yield from self._walk(name, prefix, after)


def _write_beside(path: str, data: bytes, durable: bool) -> str:
    """A new file next to `path` with these bytes; it is removed again where they do not fit."""
    temporary = os.path.join(os.path.dirname(path), TEMPORARY + secrets.token_hex(8))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for _ in range(100):  # the folder may not be there yet, or a `delete` may just take it along
        try:
            descriptor = os.open(temporary, flags, 0o666)
            break
        except FileNotFoundError:
            with suppress(FileNotFoundError, FileExistsError):
                os.makedirs(os.path.dirname(path), exist_ok=True)
    else:
        raise OSError(errno.EBUSY, "its folder vanishes as often as it is made", path)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            if durable:
                os.fsync(file.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _link_new(temporary: str, path: str) -> None:
    """Let `path` be this file, or raise FileExistsError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        if os.name == "nt":
            os.rename(temporary, path)  # fails on Windows where the target exists
        elif error.errno in (
            errno.EPERM,
            errno.ENOTSUP,
            errno.ENOSYS,
            errno.EMLINK,
        ):  # a disk without hard links (exFAT, some network disks)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            os.replace(temporary, path)
        else:
            raise


def _replace(temporary: str, path: str) -> None:
    for wait in (0.01, 0.05, 0.2, 1.0):
        try:
            return os.replace(temporary, path)
        except PermissionError:  # on Windows a reader holds the old file for a moment
            if os.name != "nt":
                raise
            time.sleep(wait)
    return os.replace(temporary, path)


def _sync_folder(path: str) -> None:
    if os.name == "nt":  # directories cannot be synced there, and NTFS journals them
        return
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks cannot sync a directory
            raise
    finally:
        os.close(descriptor)


def _sweep(entry: os.DirEntry[str]) -> None:
    with suppress(OSError):
        if time.time() - entry.stat().st_mtime > ABANDONED:
            os.unlink(entry.path)


@contextmanager
def _sentences(root: str, name: str, size: int | None = None) -> Iterator[None]:
    """What the system refuses, said so that a user can act on it."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"the store {root} has no {name}") from None
    except OSError as error:
        what = f"{name} ({size:,} bytes)" if size is not None else name
        if error.errno in (errno.ENOSPC, errno.EDQUOT if hasattr(errno, "EDQUOT") else -1):
            sentence = (
                f"no space is left for {what} in the store {root}; what was there is unharmed. Free some space, or use another --store"
            )
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            use = "written" if size is not None else "used"
            sentence = f"the store {root} does not let {what} be {use} ({error.strerror}); use another --store"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
            sentence = f"the store {root}: {what} meets a file where a directory belongs, or the other way about ({error.filename})"
        else:
            sentence = f"the store {root}: {what}: {error.strerror or error}"
        raise StoreError(sentence) from error

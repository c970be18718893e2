"""Archives of `agonist runs export` (.zip, .tar, .tar.gz): runs come back as they were, under their own ids.

Everything in it must be a plain file `runs/<id>/...` with a name that a store can hold: no link, no device, no way out of the folder, no
two of one name, not more than the limits. All of it is looked at before anything is written; run.json, which makes a run, comes last.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from agonist.checkpoints import parse_json, pretty_json
from agonist.importers.foreign import head_of
from agonist.runs import shapes
from agonist.runs.export import LARGEST, MOST_FILES, unfolds_to
from agonist.runs.folder import IMPORTED, at, read_head
from agonist.runs.store import Missing, Store, check_name

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
LAST = ("summary.json", "run.json")  # written last, in this order


class Entry(NamedTuple):
    run: str
    name: str  # within the run's folder
    size: int
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    if path.is_dir():
        return False
    begin = head_of(path) if path.suffix.lower() not in (".zip", ".tar", ".gz", ".tgz") else b""
    return path.suffix.lower() in (".zip", ".tar", ".gz", ".tgz") or begin[:4] == b"PK\x03\x04"


def runs_in(path: Path) -> dict[str, tuple[int, int]]:
    """run -> (files, bytes), all of it checked but for what the files hold."""
    with _sentences(path), _entries(path) as entries:
        found: dict[str, tuple[int, int]] = {}
        for entry in _checked(path, entries):
            files, size = found.get(entry.run, (0, 0))
            found[entry.run] = (files + 1, size + entry.size)
        if not found:
            raise ValueError(f"{path} holds no run: its files should be called runs/<id>/...")
        return found


def restore(store: Store, path: Path) -> tuple[list[str], list[str]]:
    """(runs that are new in the store, runs that were there already). A run of the same id that is another is refused."""
    ids = runs_in(path)
    held: dict[str, dict[str, bytes]] = {run: {} for run in ids}
    with _sentences(path), _entries(path) as entries:
        for entry in _checked(path, entries):
            if entry.name in LAST:
                held[entry.run][entry.name] = _read(path, entry)
    known = [run for run in ids if _is_known(store, path, run, held[run])]
    with _sentences(path), _entries(path) as entries:
        for entry in _checked(path, entries):
            if entry.run not in known and entry.name not in LAST:
                store.replace(at(entry.run, entry.name), _read(path, entry), durable=False)
    new = [run for run in ids if run not in known]
    for run in new:
        store.replace(at(run, IMPORTED), pretty_json({"file": path.name}))
        for name in LAST:
            if name in held[run]:
                store.replace(at(run, name), held[run][name])
    return new, known


def _is_known(store: Store, path: Path, run: str, held: dict[str, bytes]) -> bool:
    if "run.json" not in held:
        raise ValueError(f"{path}: runs/{run} has no run.json; it is no whole run")
    head = parse_json(held["run.json"], f"{path}: runs/{run}/run.json")
    shapes.check_head(head, run, f"{path}: runs/{run}/run.json")
    try:
        if store.get(at(run, "run.json")) == held["run.json"]:
            return True
    except Missing:
        return False
    read_head(store, run)
    raise ValueError(f"the store {store.url} has another run of the id {run}; import into another store: --store")


def _read(path: Path, entry: Entry) -> bytes:
    file = entry.open()
    data = file.read(entry.size + 1) if file else b""
    if len(data) != entry.size:
        raise ValueError(
            f"{path}: {entry.run}/{entry.name} says it has {entry.size:,} bytes and has not; it is damaged or not what it says"
        )
    return data


def _checked(path: Path, entries: Iterator[tuple[str, int, bool, Callable[[], Any]]]) -> Iterator[Entry]:
    seen: set[str] = set()
    total, most = 0, unfolds_to(path)
    for name, size, plain, opener in entries:
        total += size
        if len(seen) >= MOST_FILES or total > most or size > LARGEST:
            raise ValueError(f"{path} would unfold to more than {most:,} bytes or {MOST_FILES:,} files: it is refused")
        if not plain:
            raise ValueError(f"{path}: {name[:100]!r} is a link or no plain file; only files are imported")
        name = name.removeprefix("./")
        top, _, rest = name.partition("/")
        run, _, inner = rest.partition("/")
        if top != "runs" or not inner or not RUN_ID.fullmatch(run):
            raise ValueError(f"{path}: {name[:100]!r} does not belong there: every file should be called runs/<id>/...")
        try:
            check_name(inner)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        if name in seen:
            raise ValueError(f"{path} holds {name[:100]!r} twice")
        seen.add(name)
        yield Entry(run, inner, size, opener)


@contextmanager
def _entries(path: Path) -> Iterator[Iterator[tuple[str, int, bool, Callable[[], Any]]]]:
    """(name, bytes, whether it is a plain file, how to open it) of everything but folders."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield (_of_zip(archive, info) for info in archive.infolist() if not info.is_dir())
    else:
        with _Bounded(path) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield ((info.name, info.size, info.isreg(), partial(tar.extractfile, info)) for info in tar if not info.isdir())
            while file.read(1 << 20):  # to the very end, where gzip's checksum of all of it stands
                pass


class _Bounded(io.BufferedIOBase):
    """The bytes of a tar, unpacked, up to a limit: a header may claim any length, and is read before anybody sees it."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self._file: Any = gzip.open(path) if packed else open(path, "rb")  # noqa: SIM115  `close` closes it
        self._path, self._most = path, 2 * unfolds_to(path)

    def read(self, size: int | None = -1) -> bytes:
        return self._file.read(self._within(self._file.tell() + (self._most + 1 if size is None or size < 0 else size), size))

    def seek(self, to: int, whence: int = 0) -> int:
        return self._file.seek(self._within(to, to), whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def _within(self, end: int, value: Any) -> Any:
        if end > self._most:
            raise ValueError(f"{self._path} would unfold to more than {self._most:,} bytes: it is refused")
        return value


def _of_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[str, int, bool, Callable[[], Any]]:
    kind = info.external_attr >> 16 & 0o170000
    return info.filename, info.file_size, kind in (0, 0o100000), partial(archive.open, info)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged, or no archive: {error}") from None
    except RuntimeError as error:  # a zip with a password
        raise ValueError(f"{path}: {error}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None

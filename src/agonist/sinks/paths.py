"""Files that several processes share: names made safe, writes that are whole or not there, a lock that no killed process leaves behind."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agonist.sinks.records import SinkError

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows opens devices by these names
LONGEST = 100
HELD = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK, errno.EINTR}  # what a lock says that somebody else has
PAUSE = 0.02  # seconds between two tries of the lock


def part(text: str) -> str:
    """One part of a path that stands for this text. What had to be changed carries a hash, so that two texts stay two."""
    safe = re.sub(r"[^\w+=@.-]", "_", text, flags=re.ASCII).strip(".")[:LONGEST]
    if safe == text and safe and not RESERVED.fullmatch(safe):
        return safe
    return f"{'_' * bool(RESERVED.fullmatch(safe))}{safe}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_whole(path: Path, data: bytes) -> None:
    """Create or replace it. One process at a time: what a killed one left half is overwritten by the next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.half")
    half.write_bytes(data)
    for wait in (0.01, 0.05, 0.2, 1.0):
        try:
            return os.replace(half, path)
        except PermissionError:  # on Windows a reader holds the old file for a moment
            if os.name != "nt":
                raise
            time.sleep(wait)
    os.replace(half, path)


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[bool]:
    """Alone with this file; the lock is the system's own, on a file beside it, and ends with its process however that ends.

    False where others held it for that long. A disk that knows no locks is refused: writing there would lose somebody's figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        until = time.monotonic() + seconds
        while not (got := _try(descriptor, path)) and time.monotonic() < until:
            time.sleep(PAUSE)
        yield got
    finally:
        os.close(descriptor)  # which unlocks


def _try(descriptor: int, path: Path) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        why = f"the disk of {path.parent} locks no files ({error.strerror}), and without a lock runs that write {path.name} at once"
        raise SinkError(f"{why} would lose each other's figures: give a base_exp_path on another disk") from None
    return True

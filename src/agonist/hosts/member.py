"""The process that trains, on one of several hosts: what it knows of the others, and how it is told to stop.

It is begun by the process that watches over it (`watch`), with a pipe as its standard input: a line `stop` asks it to stop after the
chunk that is under way, and when the pipe closes, which is how a killed watcher looks from here, it ends at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import NamedTuple, NoReturn

VARIABLE = "AGONIST_HOSTS_MEMBER"
LOST = 86  # exit code: another host is gone, and the watchers know which


class Member(NamedTuple):
    host: int
    hosts: int
    jax: str  # where jax's own runtime meets, as address and port
    shards: int
    wait: float  # seconds
    note: str  # a file that tells the watcher which run this is


_me: Member | None = None
_stop = threading.Event()


def me() -> Member | None:
    """What this process is among several hosts; None where it is alone."""
    return _me


def begin() -> Member | None:
    """To be called first where a command may train on several hosts. Once: what this process begins is no member by itself."""
    global _me
    told = os.environ.pop(VARIABLE, None)
    if told is None:
        return _me
    _me = Member(**json.loads(told))
    for number in (signal.SIGINT, signal.SIGTERM):  # the watcher is told as well, and tells all hosts
        signal.signal(number, signal.SIG_IGN)
    _keep_streams()
    threading.Thread(target=_listen, daemon=True).start()
    return _me


def stopping() -> bool:
    """Whether somebody, on any host, has asked for the end."""
    return _stop.is_set()


def note(run: str) -> None:
    """Which run this is, for the sentence that says how to go on with it."""
    if _me is not None:
        half = Path(f"{_me.note}.new")
        half.write_text(run, encoding="utf8")
        half.replace(_me.note)


def join() -> None:
    """Become one of jax's processes: from here on `jax.devices()` are those of all hosts."""
    assert _me is not None
    import jax

    patience, bind = max(1, round(_me.wait)), _me.jax if _me.host == 0 else None
    jax.distributed.initialize(_me.jax, _me.hosts, _me.host, initialization_timeout=patience, coordinator_bind_address=bind)


def leave(code: int) -> NoReturn:
    """The end of a process. A member does not wait, as jax would, until the others come to their end too: they are waiting for orders."""
    if _me is None:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _listen() -> None:
    while said := os.read(0, 64):  # no buffer of Python's, which would be locked when the interpreter ends
        if b"stop" in said:
            _stop.set()
    os._exit(LOST)


def _keep_streams() -> None:
    """What is below Python writes on the file descriptors 1 and 2 (`[Gloo] Rank 0 is connected ...`, and pages when a host is gone).
    Python's own words go on to where they went; those go nowhere, or with AGONIST_TRACE to stderr."""
    trace = os.environ.get("AGONIST_TRACE")
    elsewhere = os.dup(2) if trace else os.open(os.devnull, os.O_WRONLY)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        stream.flush()
        kept = os.fdopen(os.dup(number), "w", buffering=1, encoding=stream.encoding, errors=stream.errors)
        setattr(sys, name, kept)
        os.dup2(elsewhere, number)
    os.close(elsewhere)

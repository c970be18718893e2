"""Calling the roll: who has come, and whether all were told the same.

Each host says which it is of how many, its versions and its keys; host 0 compares them with its own. What does not agree is refused
with one sentence to all, before anything is computed.
"""

from __future__ import annotations

import hashlib
import json
import platform
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from agonist.hosts import link
from agonist.hosts.detect import Company

FORMAT = 1
PACKAGES = "agonist", "jax", "jaxlib"
LONGEST = 120  # characters of a key's value that are compared as they are
STRANGERS = 128  # links that have said nothing yet; of more, the one that has been silent for longest is hung up on
HELLO = 5.0  # seconds within which a link says who it is: a host does so at once
BEAT = 1.0  # seconds between two words


class Job(NamedTuple):
    """What is to be done, as this host was told."""

    company: Company
    command: Sequence[str]  # of the process that trains
    keys: Mapping[str, Any]  # which have to be the same on all hosts
    shards: int  # host 0 tells the others
    wait: float  # seconds until all have to be there
    go_on: str  # options of the command that goes on with the run


class Verdict(NamedTuple):
    """How it ends, everywhere. No sentence where host 0's own words were said."""

    code: int
    why: str = ""


class Peer(NamedTuple):
    link: socket.socket
    name: str  # the machine's


class Signalled(NamedTuple):
    number: int


class Ended(NamedTuple):
    """The process that trains has, with this code."""

    code: int


Events = SimpleQueue[Any]  # of Line, Signalled, Ended, and sockets newly accepted


def next_of(events: Events, patience: float) -> Any:
    try:
        return events.get(timeout=max(0.0, patience))
    except Empty:
        return None


def hello(job: Job) -> dict[str, Any]:
    """What a host says of itself."""
    keys = {key: _short(value) for key, value in job.keys.items()}
    return {
        "format": FORMAT,
        "host": job.company.host,
        "hosts": job.company.hosts,
        "name": platform.node(),
        "versions": {package: _version(package) for package in PACKAGES},
        "keys": keys,
    }


def _short(value: Any) -> str:
    said = value if isinstance(value, str) else json.dumps(value, default=str)
    return said if len(said) <= LONGEST else f"{said[:20]}... ({hashlib.sha256(said.encode()).hexdigest()[:12]})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def call(server: socket.socket, job: Job, peers: dict[int, Peer], events: Events) -> Verdict | None:
    """Wait until every host has come, into `peers`; or why it does not begin."""
    until, mine = time.monotonic() + job.wait, hello(job)
    unknown: dict[socket.socket, float] = {}  # link -> until when it may be silent
    with _accepting(server, events):
        while len(peers) < job.company.hosts - 1:
            for peer in peers.values():
                link.send(peer.link, {"beat": ""})
            if time.monotonic() >= until:
                return Verdict(1, _missing(job, peers))
            _hang_up_on_silent(unknown)
            event = next_of(events, min(BEAT, until - time.monotonic()))
            verdict = None
            if isinstance(event, Signalled):
                verdict = Verdict(130, "stopped before training began")
            elif isinstance(event, socket.socket):
                _look_at(event, unknown, events)
            elif isinstance(event, link.Line) and event.link in unknown:
                del unknown[event.link]
                verdict = _welcome(event, mine, peers)
            elif isinstance(event, link.Line):
                verdict = _changed(event, peers)
            if verdict:
                return verdict
    return None


def _missing(job: Job, peers: Mapping[int, Peer]) -> str:
    missing = [str(k) for k in range(1, job.company.hosts) if k not in peers]
    came = f"host{'s' * (len(missing) > 1)} {', '.join(missing)} did not come to {job.company.coordinator} within {job.wait:g} s"
    return f"{came}: start them, or allow more time with --wait"


@contextmanager
def _accepting(server: socket.socket, events: Events) -> Iterator[None]:
    done = threading.Event()
    server.settimeout(0.1)  # a socket that somebody waits at would not be free when it is closed

    def accept() -> None:
        while not done.is_set():
            with suppress(OSError):
                events.put(server.accept()[0])

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _look_at(stranger: socket.socket, unknown: dict[socket.socket, float], events: Events) -> None:
    unknown[stranger] = time.monotonic() + HELLO
    link.read_into(events, stranger)


def _hang_up_on_silent(unknown: dict[socket.socket, float]) -> None:
    """The oldest first: no crowd of strangers keeps a host out."""
    for stranger, until in list(unknown.items()):
        if len(unknown) > STRANGERS or until <= time.monotonic():
            del unknown[stranger]
            link.hang_up(stranger)


def _changed(line: link.Line, peers: dict[int, Peer]) -> Verdict | None:
    """A host that has come and is stopped, or gone again before all are there."""
    host = next((k for k, peer in peers.items() if peer.link is line.link), None)
    if host is None:
        return None
    if line.message is None:
        del peers[host]  # it may come again
    elif "stop" in line.message:
        return Verdict(130, f"stopped on host {host} before training began")
    return None


def _welcome(line: link.Line, mine: Mapping[str, Any], peers: dict[int, Peer]) -> Verdict | None:
    """Take a host in, or say why all have to end; a stranger is hung up on."""
    theirs = line.message or {}
    host, hosts = link.number(theirs, "host", 0, 1 << 16), link.number(theirs, "hosts", 1, 1 << 16)
    name = link.text(theirs, "name", 100)
    if theirs.get("format") != FORMAT or host is None or hosts is None:
        link.hang_up(line.link)
        return None
    refused = _refused(host, hosts, name, theirs, mine, peers)
    if refused:
        link.send(line.link, {"end": 2, "why": refused})
        return Verdict(2, refused)
    peers[host] = Peer(line.link, name)
    return None


def _refused(host: int, hosts: int, name: str, theirs: Mapping[str, Any], mine: Mapping[str, Any], peers: Mapping[int, Peer]) -> str:
    who = f"host {host} ({name})"
    if hosts != mine["hosts"]:
        return f"{who} was told of {hosts} hosts and host 0 of {mine['hosts']}: say the same --hosts on all"
    if host == 0 or host in peers:
        other = mine["name"] if host == 0 else peers[host].name
        return f"two say that they are host {host}, on {other} and on {name}: give each its own --host, from 0 to {hosts - 1}"
    for what, joint in (("versions", " "), ("keys", "=")):
        told = theirs.get(what)
        told = told if isinstance(told, Mapping) else {}
        for key in sorted({*mine[what], *map(str, told)}):
            here, there = mine[what].get(key), link.text(told, key, 2 * LONGEST) or None
            if here != there:
                said, ours = (f"{key}{joint}{value}" if value else f"no {key}" for value in (there, here))
                verb, cure = ("has", "install the same on all") if what == "versions" else ("was told", "give all hosts the same words")
                return f"{who} {verb} {link.printable(said)}, host 0 {ours}: {cure}"
    return ""

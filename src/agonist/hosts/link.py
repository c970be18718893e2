"""The line between the processes that watch over the hosts: small JSON objects, one a line, over TCP.

A line has a limit, must be a JSON object, and what it says is checked by who asked for it (`number`, `text`): nothing is unpickled
or run. Who sends anything else is hung up on. `read_into` gives everything that a link brings to one queue.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

LIMIT = 1 << 16  # bytes of a line
SENDING = 2.0  # seconds that a line may take to leave


class Line(NamedTuple):
    """What a link has brought; None when it has come to its end."""

    link: socket.socket
    message: Mapping[str, Any] | None


def listen(host: str, port: int, patience: float = 0.0) -> socket.socket:
    """On that address alone. A cluster may take a while until it knows a name."""
    until = time.monotonic() + patience
    while True:
        try:
            [family, _, _, _, where] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            return socket.create_server(where[:2], family=family)
        except socket.gaierror:
            if time.monotonic() >= until:
                raise
            time.sleep(0.5)


def free_port(host: str) -> int:
    """One that nobody uses just now."""
    with listen(host, 0) as server:
        return int(server.getsockname()[1])


def connect(host: str, port: int, patience: float, stopped: Callable[[], bool]) -> socket.socket | None:
    """To whoever listens there, tried again and again; None when patience is at an end or it was stopped."""
    until = time.monotonic() + patience
    while not stopped():
        try:
            return socket.create_connection((host, port), timeout=max(0.1, min(2.0, until - time.monotonic())))
        except OSError:
            if time.monotonic() >= until:
                return None
            time.sleep(0.1)
    return None


def send(link: socket.socket, message: Mapping[str, Any]) -> None:
    """A line; one that cannot be said any more is lost, and the link's reader will tell."""
    try:
        link.settimeout(SENDING)
        link.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        hang_up(link)


def hang_up(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
    link.close()


def read_into(events: SimpleQueue[Any], link: socket.socket) -> None:
    """A `Line` for each."""

    def read() -> None:
        rest = b""
        try:
            while (data := _some(link)) and len(rest := rest + data) <= LIMIT:
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    if not isinstance(message, dict):
                        raise ValueError
                    events.put(Line(link, message))
        except (OSError, ValueError, RecursionError):
            pass
        events.put(Line(link, None))

    threading.Thread(target=read, daemon=True).start()


def _some(link: socket.socket) -> bytes:
    while True:
        try:
            return link.recv(4096)
        except TimeoutError:
            continue


def number(message: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
    value = message.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None


def text(message: Mapping[str, Any], key: str, most: int = 500) -> str:
    """What others say is shown to people: printable, and no longer than that."""
    value = message.get(key)
    return printable(value[:most]) if isinstance(value, str) else ""


def printable(said: str) -> str:
    return "".join(c for c in said if c.isprintable())

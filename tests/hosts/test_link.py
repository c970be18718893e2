"""Lines of JSON over TCP: addresses, limits, and what others say."""

import socket
import threading
import time
from queue import SimpleQueue

import pytest

from agonist.hosts import link


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    yield here, there
    here.close()
    there.close()


def brought(end):
    events = SimpleQueue()
    link.read_into(events, end)
    return events


def test_lines_arrive_one_by_one_however_they_are_cut(ends):
    here, there = ends
    events = brought(there)
    link.send(here, {"a": 1})
    for part in (b'{"b": "', "é".encode()[:1], "é".encode()[1:], b'"}\n{"c":', b" [2]}\n"):
        here.sendall(part)
        time.sleep(0.01)
    assert [events.get(timeout=5).message for _ in range(3)] == [{"a": 1}, {"b": "é"}, {"c": [2]}]
    here.close()
    assert events.get(timeout=5) == link.Line(there, None)


@pytest.mark.parametrize(
    "data", [b"x\n", b"7\n", b"[]\n", b"null\n", b"\xff\n", b"[" * 60_000 + b"\n", b"1" * 60_000 + b"\n", b" " * (link.LIMIT + 1)]
)
def test_anything_else_is_the_end_of_the_link(ends, data):
    here, there = ends
    events = brought(there)
    threading.Thread(target=here.sendall, args=(data,), daemon=True).start()
    assert events.get(timeout=5).message is None


def test_what_cannot_be_said_any_more_is_lost(ends):
    here, there = ends
    there.close()
    for _ in range(3):
        link.send(here, {"a": 1})
    assert here.fileno() == -1


def test_somebody_who_does_not_listen_holds_nobody_up(ends, monkeypatch):
    monkeypatch.setattr(link, "SENDING", 0.2)
    began = time.monotonic()
    for _ in range(100):
        link.send(ends[0], {"a": "x" * 60_000})
    assert time.monotonic() - began < 5
    assert ends[0].fileno() == -1


def test_numbers_and_texts_are_what_they_say():
    said = {"n": 3, "yes": True, "float": 3.0, "text": "3", "long": "a\x1b[31m\n" + "b" * 600, "list": ["a"]}
    assert link.number(said, "n", 0, 3) == 3
    for key, most in (("n", 2), ("yes", 5), ("float", 5), ("text", 5), ("none", 5)):
        assert link.number(said, key, 0, most) is None
    assert link.text(said, "long", 10) == "a[31mbbb"
    assert link.text(said, "list") == link.text(said, "n") == link.text(said, "none") == ""


def test_nobody_there_costs_the_patience_and_no_more():
    port = link.free_port("127.0.0.1")
    began = time.monotonic()
    assert link.connect("127.0.0.1", port, 0.5, lambda: False) is None
    assert 0.5 <= time.monotonic() - began < 3
    assert link.connect("127.0.0.1", port, 60, lambda: True) is None


def test_who_comes_later_is_found():
    port = link.free_port("127.0.0.1")
    found = []
    thread = threading.Thread(target=lambda: found.append(link.connect("127.0.0.1", port, 10, lambda: False)))
    thread.start()
    time.sleep(0.3)
    with link.listen("127.0.0.1", port) as server:
        server.accept()[0].close()
        thread.join(5)
    assert found[0] is not None
    found[0].close()


def test_a_name_that_is_not_known():
    with pytest.raises(OSError, match=r"."):
        link.listen("no-such-host.invalid", 4567)

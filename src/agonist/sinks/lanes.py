"""From the training thread to the sinks: each has a thread and a bounded queue of its own, so that none stops or slows training.

A queue that is full drops points and counts them. A sink that raises is left out from then on, with one sentence on stderr and in the
run's log. `close` waits for nobody, so that runs that train together never wait for one's sink; `settle`, after all training, waits
`PATIENCE` seconds for all of them together. Who is not done then is left (threads are daemons and hold up no exit; what works in a
process of its own is killed).
"""

from __future__ import annotations

import importlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from agonist import plugins
from agonist.sinks.config import LogConfig, chosen, key_of
from agonist.sinks.records import Beginning, Card, Ending, Evaluation, Sink, said

GROUP = "agonist.sinks"
ROOM = 10_000  # calls that wait for a sink before metrics are dropped
SPARE = 1_000  # more room for evaluations, which are few and matter more
FLUSH_EVERY = 1.0  # seconds
FLUSH_SHARE = 50  # flushing takes at most a 50th of a lane's time, and a 50th of a processor for all lanes of the process together
PATIENCE = 15.0  # seconds that `settle` waits
SILENCE = 3.0  # seconds after which it says so

Array = Any  # a numpy or jax array


def card(name: str) -> Card:
    """A sink by name, or a sentence that says why not."""
    try:
        return plugins.load(GROUP, name)
    except ValueError as error:
        raise ValueError(f"{key_of(name)}: {error}") from None


def check(config: LogConfig) -> None:
    """Refuse what cannot be: an unknown sink, a package that is not installed, a folder that is a file."""
    for name in chosen(config):
        told = card(name)
        if told.needs and find_spec(told.needs) is None:
            raise ValueError(f"{key_of(name)} needs the package {told.needs}: {told.install or f'pip install {told.needs}'}")
    base = Path(config.base_exp_path)
    for folder in (base, *base.parents) if chosen(config) else ():
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"base_exp_path={config.base_exp_path} is no folder: {folder} is a file; give another")


def open_sinks(config: LogConfig, beginning: Beginning) -> Sinks:
    """The sinks that the keys ask for; with none, one that does nothing. Call it before training starts: it may refuse."""
    check(config)
    return Sinks({name: _opener(name, beginning, config) for name in chosen(config)}, beginning.log)


def places(config: LogConfig) -> str:
    """Which sinks write where, in words; "" with none."""
    names = [name for name in chosen(config) if name != "console"]
    away = [name for name in names if card(name).apart]
    said = [f"{', '.join(names)} under {Path(config.base_exp_path).resolve()}"] if names else []
    said += [f"{', '.join(away)} also where its package's own settings and login lead (project {config.project})"] if away else []
    return "; ".join(said)


def _opener(name: str, beginning: Beginning, config: LogConfig) -> Callable[[], Sink]:
    told = card(name)
    beginning = beginning._replace(log=None, time=time.time())
    if told.apart:
        from agonist.sinks.apart import open_apart

        return lambda: open_apart(told.open, beginning, config)
    return lambda: opened(told.open, beginning, config)


def opened(path: str, beginning: Beginning, config: LogConfig) -> Sink:
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(module), function)(beginning, config)


class Sinks:
    """All of a run's sinks. Its methods belong to the training thread; each returns at once."""

    def __init__(self, openers: Mapping[str, Callable[[], Sink]], log: Callable[[str], None] | None) -> None:
        self._notes: SimpleQueue[str] = SimpleQueue()  # sentences for the run's log, which only the training thread may write
        self._log, self._closed = log, False
        self.lanes = [Lane(name, opener, self._tell) for name, opener in openers.items()]

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if self.lanes and values and not self._closed:
            self._put(ROOM, ("metrics", int(step), time.time(), {name: float(value) for name, value in values.items()}))

    def evaluation(self, step: int, returns: Mapping[str, Array], length: Array, absolute: bool) -> None:
        if self.lanes and not self._closed:
            plain = {role: _numbers(values) for role, values in returns.items()}
            self._put(ROOM + SPARE, ("evaluation", Evaluation(int(step), time.time(), plain, _numbers(length), absolute)))

    def close(self, status: str, final: Mapping[str, Any], policies: Mapping[str, Any]) -> None:
        """The run has ended. Its sinks finish meanwhile; `settle` waits for them."""
        if self._closed:
            return
        self._closed = True
        for lane in self.lanes:
            lane.put(math.inf, ("close", Ending(status, dict(final), dict(policies))))
        self._write_notes()
        for done in [sinks for sinks in _closed.sinks if all(lane.done.is_set() for lane in sinks.lanes)]:
            _closed.sinks.remove(done)
            done.leave(0.0)
        if self.lanes:
            _closed.sinks.append(self)

    def leave(self, patience: float) -> None:
        """What is to be said at the very end."""
        for lane in self.lanes:
            lane.leave(patience)
        with suppress(Exception):  # it was said on stderr, and the store itself may be what failed
            self._write_notes()

    def _put(self, room: float, call: tuple[Any, ...]) -> None:
        for lane in self.lanes:
            lane.put(room, call)
        self._write_notes()

    def _tell(self, sentence: str) -> None:
        _say(sentence)
        self._notes.put(sentence)

    def _write_notes(self) -> None:
        while self._log and not self._notes.empty():
            self._log(self._notes.get())


class _Closed(threading.local):
    """Of the runs that this thread has trained: those whose sinks may not be done yet."""

    def __init__(self) -> None:
        self.sinks: list[Sinks] = []


_closed = _Closed()


def settle(patience: float = PATIENCE) -> None:
    """All training is over: wait for the sinks of all its runs, no longer than that for all of them together, and leave the rest."""
    lanes = [lane for sinks in _closed.sinks for lane in sinks.lanes]
    until = time.monotonic() + patience
    try:
        _wait(lanes, min(until, time.monotonic() + SILENCE))
        if late := list(dict.fromkeys(lane.name for lane in lanes if not lane.done.is_set())):
            _say(f"waiting up to {patience:.0f} s for the sink{'s' * (len(late) > 1)} {', '.join(late)}")
            _wait(lanes, until)
    finally:  # also on Ctrl-C
        while _closed.sinks:
            _closed.sinks.pop(0).leave(patience)


def _wait(lanes: Iterable[Lane], until: float) -> None:
    for lane in lanes:
        lane.done.wait(max(0.0, until - time.monotonic()))


class _Share:
    """What all lanes of the process may spend on flushing, by the processor's time: who waits for a lock or a disk takes none away."""

    def __init__(self) -> None:
        self.due, self._lock = 0.0, threading.Lock()

    def spend(self, seconds: float) -> None:
        with self._lock:
            self.due = max(self.due, time.monotonic()) + FLUSH_SHARE * seconds


_share = _Share()


class Lane:
    """One sink, its queue and its thread."""

    def __init__(self, name: str, opener: Callable[[], Sink], tell: Callable[[str], None]) -> None:
        self.name, self.dropped, self.failed, self.done = name, 0, False, threading.Event()
        self._opener, self._tell, self._sink = opener, tell, Sink()
        self._queue: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        threading.Thread(target=self._work, name=f"sink {name}", daemon=True).start()

    def put(self, room: float, call: tuple[Any, ...]) -> None:
        if self.failed:
            return
        if self._queue.qsize() < room:
            self._queue.put(call)
            return
        self.dropped += 1
        if self.dropped == 1:
            self._tell(f"the sink {self.name} is too slow: points are dropped (the run's own folder has them all)")

    def leave(self, patience: float) -> None:
        """What is to be said at the end; a sink that is not done is left to itself."""
        if not self.done.is_set():
            self.failed = True
            with suppress(Exception):
                self._sink.abandon()
            self._tell(f"the sink {self.name} was not done within {patience:.0f} s and is left; what it had not written is lost there")
        if self.dropped:
            self._tell(f"the sink {self.name} dropped {self.dropped:,} points that it was too slow for")

    def _work(self) -> None:
        try:
            self._sink = self._opener()
            self._serve(self._sink)
        except BaseException as error:  # a plugin may fail in any way
            if not self.failed:
                self.failed = True
                self._queue = SimpleQueue()
                self._tell(f"the sink {self.name} failed and is left out from here on; training goes on ({said(error)})")
        finally:
            self.done.set()

    def _serve(self, sink: Sink) -> None:
        dirty, due = False, 0.0
        while True:
            if dirty and time.monotonic() >= max(due, _share.due):
                began, worked = time.monotonic(), time.thread_time()
                sink.flush()
                _share.spend(time.thread_time() - worked)
                dirty, due = False, began + max(FLUSH_EVERY, FLUSH_SHARE * (time.monotonic() - began))
            try:
                kind, *what = self._queue.get(timeout=max(0.0, max(due, _share.due) - time.monotonic()) if dirty else None)
            except Empty:
                continue
            getattr(sink, kind)(*what)
            if kind == "close":
                return
            dirty = True


def _numbers(values: Array) -> Sequence[float]:
    return np.asarray(values, np.float64).ravel().tolist()


def _say(sentence: str) -> None:
    with suppress(Exception):  # nobody may be listening any more
        print(f"agonist: {sentence}", file=sys.stderr, flush=True)

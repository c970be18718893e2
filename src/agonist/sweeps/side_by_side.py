"""Processes that train side by side: each is given an order on stdin, and tells its progress in JSON lines on stdout.

`work_off(orders, workers, told, log, stopped)` in the process that owns the sweep; `python -m agonist.worker` is what it starts.
Where several orders are of one compiled program, the first goes ahead until it has compiled: the others find it in the cache.
A worker whose sweep is gone (its stdin ends) ends at once, which a run survives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from queue import Empty, Queue
from typing import Any


@dataclass(frozen=True)
class Order:
    """What one process trains."""

    store: str
    sweep: str
    trials: Sequence[int]
    steps: int | None
    shards: int  # as many devices as the runs would have alone: they come out to the bit
    group: str  # orders of one group share a compiled program


def work_off(
    orders: Sequence[Order], workers: int, told: Callable[[Any], None], log: Callable[[str], None], stopped: Callable[[], bool]
) -> list[str]:
    """Let so many processes at once carry out the orders. What kept some from it, in sentences."""
    from agonist.training import Progress

    waiting, active = list(orders), list[_Worker]()
    compiled: set[str] = set()
    said: Queue[tuple[_Worker, dict[str, Any] | None]] = Queue()
    problems: list[str] = []
    try:
        while (waiting and not stopped()) or active:
            for order in [] if stopped() else _next(waiting, workers - len(active), {w.order.group for w in active}, compiled):
                waiting.remove(order)
                active.append(_Worker(order, said))
            if stopped():
                for worker in active:
                    worker.stop()
            try:
                worker, line = said.get(timeout=0.2)
            except Empty:
                continue
            if line is None:
                active.remove(worker)
                problems += worker.problem()
            elif "log" in line:
                log(str(line["log"]))
            elif "problem" in line:
                problems.append(str(line["problem"]))
            else:
                progress = Progress(**line)
                if progress.phase != "compiling":
                    compiled.add(worker.order.group)
                told(progress)
    finally:
        for worker in active:  # something unforeseen, or a second Ctrl-C
            worker.process.kill()
    return problems


def _next(waiting: Sequence[Order], free: int, compiling: set[str], compiled: set[str]) -> list[Order]:
    """Orders to begin: of a program that is not compiled yet, one alone."""
    chosen: list[Order] = []
    busy = set(compiling)
    for order in waiting:
        if len(chosen) < free and (order.group in compiled or order.group not in busy):
            chosen.append(order)
            busy.add(order.group)
    return chosen


class _Worker:
    """A process, and the threads that hear it."""

    def __init__(self, order: Order, said: Queue[Any]) -> None:
        self.order, self.said, self.asked_to_stop = order, said, False
        own_group: Any = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}  # a terminal's Ctrl-C is ours
        words = [sys.executable, "-m", "agonist.worker"]
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(words, **pipes, text=True, encoding="utf8", errors="replace", **own_group)
        self.write(json.dumps(asdict(order)))
        complaints = threading.Thread(target=self._hear_complaints, daemon=True)
        complaints.start()
        threading.Thread(target=self._hear, args=[complaints], daemon=True).start()

    def write(self, line: str) -> None:
        assert self.process.stdin
        with suppress(OSError):  # it has ended: `_hear` says so
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def stop(self) -> None:
        if not self.asked_to_stop:
            self.asked_to_stop = True
            self.write("stop")

    def _hear(self, complaints: threading.Thread) -> None:
        assert self.process.stdout
        try:
            for line in self.process.stdout:
                try:
                    self.said.put((self, json.loads(line)))
                except ValueError:  # not its own words
                    self.said.put((self, {"log": line}))
        finally:
            self.process.wait()
            complaints.join()
            self.said.put((self, None))

    def _hear_complaints(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.put((self, {"log": line}))

    def problem(self) -> list[str]:
        """What it died of. A worker that can says so itself."""
        code = self.process.returncode
        if code == 0 or self.asked_to_stop:
            return []
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        return [f"a process of the sweep {how}; its runs go on with: agonist train --resume {self.order.sweep}"]


def problem_of(error: BaseException) -> str:
    """A sentence for what was raised: ours are sentences, of others the kind is said as well."""
    text = " ".join(str(error).split())
    ours = type(error).__module__.startswith("agonist.") or type(error) is ValueError
    return text if ours and text else f"{type(error).__name__}{': ' * bool(text)}{text}"

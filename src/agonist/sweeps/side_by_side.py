"""Processes that train side by side: each is given an order on stdin, and tells its progress in JSON lines on stdout.

`work_off(orders, workers, told, log, stopped)` in the process that owns the sweep; `python -m agonist.sweeps.side_by_side` is a worker.
Where several orders are of one compiled program, the first goes ahead until it has compiled: the others find it in the cache.
A worker whose sweep is gone (its stdin ends) ends at once, which a run survives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from queue import Empty, Queue
from typing import Any

from agonist import devices

TAIL = 20  # lines of what a worker said that are shown where it dies


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
) -> None:
    """Let so many processes at once carry out the orders. Raises what a worker died of, when the others are done."""
    from agonist.training import Progress

    waiting, active = list(orders), list[_Worker]()
    compiled: set[str] = set()
    said: Queue[tuple[_Worker, dict[str, Any] | None]] = Queue()
    problems: list[str] = []
    try:
        while (waiting and not stopped()) or active:
            for order in [] if stopped() else _next(waiting, workers - len(active), {w.order.group for w in active}, compiled):
                waiting.remove(order)
                active.append(_Worker(order, said, log))
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
            elif "failed" in line:
                log(str(line["failed"]))
            else:
                progress = Progress(**line)
                if progress.phase != "compiling":
                    compiled.add(worker.order.group)
                told(progress)
    finally:
        for worker in active:  # something unforeseen, or a second Ctrl-C
            worker.process.kill()
    if problems:
        raise RuntimeError("; ".join(problems))


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

    def __init__(self, order: Order, said: Queue[Any], log: Callable[[str], None]) -> None:
        self.order, self.said, self.log, self.tail = order, said, log, list[str]()
        own_group = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}  # a terminal's Ctrl-C is ours
        words = [sys.executable, "-m", "agonist.sweeps.side_by_side"]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf8", **own_group
        )
        assert self.process.stdin
        self.write(json.dumps(asdict(order)))
        threading.Thread(target=self._hear, daemon=True).start()
        self.deaf = threading.Thread(target=self._hear_complaints, daemon=True)
        self.deaf.start()
        self.asked_to_stop = False

    def write(self, line: str) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended: `_hear` says so

    def stop(self) -> None:
        if not self.asked_to_stop:
            self.asked_to_stop = True
            self.write("stop")

    def _hear(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.put((self, json.loads(line)))
        self.process.wait()
        self.deaf.join()
        self.said.put((self, None))

    def _hear_complaints(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.tail = [*self.tail, line.rstrip()][-TAIL:]
            self.log(line)

    def problem(self) -> list[str]:
        code = self.process.returncode
        if code == 0 or (code == STOPPED and self.asked_to_stop):
            return []
        last = next((line for line in reversed(self.tail) if line), "it said nothing")
        return [f"a worker of the sweep {self.order.sweep} ended with {code}: {last}"]


STOPPED = 130


def main() -> int:
    """A worker."""
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_listen, daemon=True).start()
    out = sys.stdout
    sys.stdout = sys.stderr  # whatever a program prints is no progress
    devices.prepare(order.shards)
    from agonist import training
    from agonist.runs import open_store
    from agonist.sweeps.report import plan_in
    from agonist.sweeps.work import jobs_of

    def told(progress: training.Progress) -> None:
        print(json.dumps(progress._asdict()), file=out, flush=True)

    store = open_store(order.store)
    plan = plan_in(store, order.sweep)
    trials = [plan.trials[number] for number in order.trials]
    try:
        for ended in training.train(store, jobs_of(plan, trials, order.sweep, order.steps), training.Watch(None, told)):
            if ended.error:
                print(json.dumps({"failed": str(ended.error)}), file=out, flush=True)
    except training.Interrupted:
        return STOPPED
    except training.TrainingFailed as error:
        print(json.dumps({"failed": str(error)}), file=out, flush=True)
    return 0


def _listen() -> None:
    """`stop`: after the chunk under way. The end of stdin: whoever gave the order is gone."""
    import signal

    for line in sys.stdin:
        if line.strip() == "stop":
            signal.raise_signal(signal.SIGTERM)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())

"""Whose a run is. A writer claims it by creating the next `events/<number>.jsonl`: of two that try, one wins.

The highest number is the owner's; a writer that finds a higher one than its own stops. Whether the owner still lives is asked
before it is followed (`refuse_if_written`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from agonist.checkpoints import canonical_json, plain
from agonist.runs import folder
from agonist.runs.folder import at, now
from agonist.runs.process import is_alive, this_process
from agonist.runs.store import Store, StoreError, number_of

ENDS = ("finished", "interrupted", "failed")  # the last event of a writer that said goodbye


def events_name(number: int) -> str:
    return f"events/{number:06d}.jsonl"


def event_line(kind: str, data: Mapping[str, Any]) -> bytes:
    return canonical_json({"time": now(), "kind": kind, **plain(data, kind, nan="null")}) + b"\n"


def last_writer(store: Store, run_id: str) -> int:
    return max((number_of(name, ".jsonl") for name in store.list(at(run_id, "events/"))), default=0)


def claim(store: Store, run_id: str, number: int, kind: str, **data: Any) -> bytes:
    """Become the run's writer of that number, and return its events so far; of two that try, one wins."""
    events = event_line(kind, {**data, **this_process()})
    if not store.put_if_absent(at(run_id, events_name(number)), events):
        raise StoreError(f"run {run_id} was taken up by another process a moment ago")
    return events


def refuse_if_written(store: Store, run_id: str, run: Mapping[str, Any], number: int) -> None:
    events = folder.read_lines(store, at(run_id, events_name(number)), on_problem=lambda _: None)
    process = {key: (events[0] if events else run.get("process", {})).get(key) for key in ("host", "pid", "started")}
    if (events and events[-1].get("kind") in ENDS) or process == this_process():
        return
    heard = max(
        folder.seconds(stamp) for stamp in (run.get("created"), run["summary"].get("updated"), events[0].get("time") if events else None)
    )
    if is_alive(process, heard):
        raise ValueError(
            f"run {run_id} is being written by process {process['pid']} on {process['host']}"
            f" (last heard of {max(time.time() - heard, 0):.0f} s ago); stop that one first"
        )

"""Runs deleted, brought back, and removed for good.

Deleting marks a run: it is listed and found no more, and comes back whole until its undo time is over. After that the next deletion or
purge removes it. A purge takes the run's own files first, then run.json, and its marks last, the newest at the very end: killed anywhere
on the way, what is left lists as nothing and the next purge takes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agonist.checkpoints import Newer
from agonist.runs import folder, marks
from agonist.runs.folder import at
from agonist.runs.store import Store, StoreError

TAKES_ALONG = ("sweep", "study")  # kinds of runs that are nothing without their children, nor those without them


class Deletion(NamedTuple):
    """What deleting some runs means."""

    runs: Mapping[str, str | None]  # run -> the run with which it goes, None where it was asked for itself
    orphans: Mapping[str, Sequence[str]]  # run -> runs that stay and name it as their parent


def plan(store: Store, asked: Iterable[str]) -> Deletion:
    """Those asked for, and the children of sweeps among them. Runs that are being written are refused."""
    known = {str(summary["id"]): summary for summary in folder.list_runs(store)}
    children = children_of(known.values())
    goes = family(known.values(), asked)
    _refuse_running([known[run_id] for run_id in goes if run_id in known], goes)
    orphans = {run_id: [child for child in children.get(run_id, ()) if child not in goes] for run_id in goes}
    return Deletion(goes, {run_id: left for run_id, left in orphans.items() if left})


def family(summaries: Iterable[Mapping[str, Any]], asked: Iterable[str]) -> dict[str, str | None]:
    """Those asked for, and the children of sweeps among them -> the run with which each goes, None where it was asked for itself."""
    known = {str(summary["id"]): summary for summary in summaries}
    children = children_of(known.values())
    goes: dict[str, str | None] = dict.fromkeys(asked)
    waiting = [*goes]
    while waiting:
        run_id = waiting.pop()
        if known.get(run_id, {}).get("kind") in TAKES_ALONG:
            along = [child for child in children.get(run_id, ()) if child not in goes]
            goes |= dict.fromkeys(along, run_id)
            waiting += along
    return goes


def children_of(summaries: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """run -> the runs that name it as their parent."""
    children: dict[str, list[str]] = {}
    for summary in summaries:
        if summary.get("parent"):
            children.setdefault(str(summary["parent"]), []).append(str(summary["id"]))
    return children


def _refuse_running(summaries: Sequence[Mapping[str, Any]], goes: Mapping[str, str | None]) -> None:
    running = [summary for summary in summaries if summary.get("status") == "running"]
    if running:
        first = running[0]
        whose = f", a part of {goes[first['id']]}," if goes[first["id"]] else ""
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        raise ValueError(
            f"run {first['id']}{whose} is being written by process {first.get('pid')} on {first.get('host')}{more}; "
            "stop it first (Ctrl-C there, or a signal), then delete"
        )


def delete(store: Store, deletion: Deletion, undo: float) -> None:
    for run_id, along in deletion.runs.items():
        marks.change(store, run_id, marks.delete(undo, along))


def restore(store: Store, run_id: str, dry_run: bool = False) -> list[str]:
    """Bring a run back, and those that went with it. Which ones came back, or would."""
    known = {str(summary["id"]): summary for summary in folder.list_runs(store, deleted=True)}
    back, waiting = [], [run_id]
    while waiting:
        one = waiting.pop()
        if not dry_run:
            marks.change(store, one, marks.restore())
        back.append(one)
        waiting += [other for other, summary in known.items() if _deleted(summary).get("along") == one]
    return sorted(back)


def _deleted(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    return (summary.get("marks") or {}).get("deleted") or {}


def over(store: Store) -> list[str]:
    """The deleted runs whose undo time is over, what killed purges have left included."""
    return [run_id for run_id in store.folders("runs/") if _is_over(store, run_id)]


def _is_over(store: Store, run_id: str) -> bool:
    try:
        mark = marks.read(store, run_id).deleted
    except Newer:
        return False
    return mark is not None and float(mark["until"]) <= time.time()


def _mark(store: Store, run_id: str) -> None:
    try:
        marks.change(store, run_id, marks.delete(0.0))
    except StoreError:  # a full disk has no room for the mark: what makes it a run makes room
        for name in ("summary.json", "run.json"):
            store.delete(at(run_id, name))
        marks.change(store, run_id, marks.delete(0.0))


def purge(store: Store, run_ids: Sequence[str], on_run: Callable[[str], None] = lambda run_id: None) -> None:
    """Remove runs for good. Each is marked as deleted with no time left before its first file goes."""
    for run_id in run_ids:
        on_run(run_id)
        _mark(store, run_id)
        head, written = at(run_id, "run.json"), at(run_id, "annotations/")
        files = [name for name in store.list(at(run_id, "")) if name != head and not name.startswith(written)]
        for name in [*files, head, *store.list(written)]:
            store.delete(name)

"""What people type -> runs, with their curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agonist.comparison.result import Trained
from agonist.options import nearest
from agonist.runs import find_run, list_runs, read_metrics
from agonist.runs.filter import compile_filter
from agonist.runs.removal import TAKES_ALONG
from agonist.runs.rows import row_of
from agonist.runs.store import Store
from agonist.stats.curves import cleaned

TRAINED = ("train", "foreign")  # and of those that have learnt: here, or elsewhere


def chosen(store: Store, words: Sequence[str] = (), where: str | None = None) -> list[dict[str, Any]]:
    """The summaries of the runs that are meant, oldest first, each once."""
    every = sorted(list_runs(store), key=lambda summary: str(summary.get("created")))  # ids of one second are in no order
    by_id = {summary["id"]: summary for summary in every}
    children: dict[str, list[str]] = {summary["id"]: [] for summary in every if summary.get("kind") in TAKES_ALONG}
    for summary in every:
        if summary.get("parent") in children:
            children[summary["parent"]].append(summary["id"])

    def family(run_id: str) -> list[str]:
        return [one for child in children[run_id] for one in family(child)] if run_id in children else [run_id]

    if words:
        named = [one for word in words for one in family(find_run(store, word))]
    else:
        current = [summary for summary in every if not (summary.get("marks") or {}).get("archived")]
        trained = [summary["id"] for summary in current if summary.get("kind") in TRAINED]
        sweeps = [summary["id"] for summary in current if children.get(summary["id"]) and summary.get("parent") not in children]
        named = trained if where else family(sweeps[-1]) if sweeps else trained[-2:]
    found = [by_id[run_id] for run_id in dict.fromkeys(named) if run_id in by_id]
    if where:
        meets = compile_filter(where)
        found = [summary for summary in found if meets(row_of(summary))]
    if not found:
        raise ValueError(f"no run of the store {store.url} {f'meets {where}' if where else 'was trained yet'}; see agonist runs list")
    return found


def read_runs(store: Store, summaries: Sequence[Mapping[str, Any]], metric: str) -> tuple[list[Trained], list[str]]:
    """The runs that have the metric, and a sentence about those that do not."""
    runs, without = [], []
    for summary in summaries:
        found = read_metrics(store, summary["id"], [metric]).get(metric)
        points = cleaned((found[0], found[2]), most=10**9) if found is not None else (np.empty(0), np.empty(0))
        if len(points[0]):
            runs.append(Trained(summary["id"], str(summary.get("status")), _spec(summary), summary, points))
        else:
            without.append(summary["id"])
    if not runs:
        known = {name for summary in summaries for name in summary.get("last") or {}}
        if not known:
            raise ValueError(f"none of {some(without)} has measured anything yet")
        raise ValueError(f"none of {some(without)} has a metric {metric!r}{nearest(metric, known)}")
    return runs, [f"{some(without)} without {metric}: left out"] if without else []


def _spec(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Its keys; a run that was extended has the steps to which it was."""
    spec = dict(summary.get("spec") or {key: summary.get(key) for key in ("algo", "env", "seed")})
    if (summary.get("total") or 0) > (spec.get("steps") or 0):
        spec["steps"] = summary["total"]
    return spec


def some(ids: Sequence[str]) -> str:
    return f"the run {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs ({', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''})"

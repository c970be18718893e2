"""Runs -> groups, and what each run of them came to."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agonist.comparison.choose import read_runs, some
from agonist.comparison.result import RETURN, Comparison, Group, Trained
from agonist.runs.matching import text_of
from agonist.runs.rows import differing
from agonist.runs.store import Store
from agonist.stats.curves import at_steps

NEAR = 0.9  # of the longest run's steps: less is another amount of training, more is rounding to whole updates
MARKS = string.ascii_uppercase + string.ascii_lowercase


def compare_runs(store: Store, summaries: Sequence[Mapping[str, Any]], metric: str = RETURN) -> Comparison:
    """Group the runs and say what can be said. Repetitions of a seed count once; runs that have not finished only where all must."""
    runs, notes = read_runs(store, summaries, metric)
    tasks = _tasks(runs)
    groups = _grouped(runs, tasks, notes)
    scores: dict[str, dict[str, list[float]]] = {group.mark: {} for group in groups}
    kept: dict[str, dict[str, tuple[Trained, ...]]] = {group.mark: {} for group in groups}
    for task in dict.fromkeys(tasks.values()):
        cells = {group.mark: group.runs[task] for group in groups if task in group.runs}
        for mark, of_it in _settled(cells, metric, task if len(set(tasks.values())) > 1 else "", notes).items():
            scores[mark][task] = [score for _, score in of_it]
            kept[mark][task] = tuple(run for run, _ in of_it)
    specs = [run.spec for run in runs]
    differs = {key: [spec.get(key) for spec in specs] for key in differing(specs)}
    groups = [Group(group.mark, group.keys, kept[group.mark]) for group in groups]
    random = {task: value for task in _with_scores(scores) if (value := _random(task, groups)) is not None}
    return Comparison(metric, differs, runs, _with_scores(scores), groups, scores, random, notes)


def _with_scores(scores: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    return list(dict.fromkeys(task for of_group in scores.values() for task in of_group))


def _tasks(runs: Sequence[Trained]) -> dict[str, str]:
    """run -> its task: the environment, with those options in which runs on it differ."""
    options = {run.spec.get("env"): [other.env for other in runs if other.spec.get("env") == run.spec.get("env")] for run in runs}
    out = {}
    for run in runs:
        own = {key: run.env.get(key) for key in differing(options[run.spec.get("env")])}
        out[run.id] = " ".join([str(run.spec.get("env")), *(f"{key}={text_of(value)}" for key, value in own.items())])
    return out


def _grouped(runs: Sequence[Trained], tasks: Mapping[str, str], notes: list[str]) -> list[Group]:
    """Runs with the same keys, in the order of their first; the newest of several with one seed."""
    own = {"steps"} if len(set(tasks.values())) > 1 and _same_in_each_task(runs, tasks, "steps") else set()
    found: dict[str, dict[str, dict[Any, Trained]]] = {}
    again = 0
    for run in runs:
        keys = text_of([[key, run.keys[key]] for key in sorted(run.keys) if key not in own])
        seeds = found.setdefault(keys, {}).setdefault(tasks[run.id], {})
        again += run.seed in seeds
        if run.seed not in seeds or run.status == "finished" or seeds[run.seed].status != "finished":
            seeds[run.seed] = run
    if again:
        repeat = "runs repeat" if again > 1 else "run repeats"
        notes.append(f"{again} {repeat} a seed: of each seed the newest counts, for a repetition is no new evidence")
    firsts = [next(iter(next(iter(of_tasks.values())).values())) for of_tasks in found.values()]
    differ = [key for key in differing([first.keys for first in firsts]) if key not in own]
    ordered = [key for key in differ if key == "algo"] + [key for key in differ if key != "algo"]
    return [
        Group(
            MARKS[i] if i < len(MARKS) else str(i + 1),
            {key: first.keys.get(key) for key in ordered},
            {task: tuple(seeds.values()) for task, seeds in of_tasks.items()},
        )
        for i, (first, of_tasks) in enumerate(zip(firsts, found.values(), strict=True))
    ]


def _same_in_each_task(runs: Sequence[Trained], tasks: Mapping[str, str], key: str) -> bool:
    return len({(tasks[run.id], text_of(run.spec.get(key))) for run in runs}) == len(set(tasks.values()))


# what each run came to


def _settled(cells: Mapping[str, Sequence[Trained]], metric: str, task: str, notes: list[str]) -> dict[str, list[tuple[Trained, float]]]:
    """mark -> (run, score): final values of finished runs; where a group has none, everybody at the last step that all have reached."""
    where = f" on {task}" if task else ""
    unfinished = [run for runs in cells.values() for run in runs if run.status != "finished"]
    if all(any(run.status == "finished" for run in runs) for runs in cells.values()):
        if unfinished:
            states = sorted({run.status for run in unfinished})
            flatters = "; leaving out what failed flatters its group" if "failed" in states else ""
            notes.append(f"{some([run.id for run in unfinished])}{where} left out, being {' or '.join(states)}{flatters}")
        done = {mark: [run for run in runs if run.status == "finished"] for mark, runs in cells.items()}
        reached = [run.points[0][-1] for runs in done.values() for run in runs]
        if min(reached) < NEAR * max(reached):
            notes.append(f"the runs{where} were trained for different times: from {min(reached):,.0f} to {max(reached):,.0f} steps")
        return {mark: [(run, _final(run, metric)) for run in runs] for mark, runs in done.items()}
    step = min(float(run.points[0][-1]) for runs in cells.values() for run in runs)
    notes.append(
        f"{some([run.id for run in unfinished])}{where} not finished: all are compared at step {step:,.0f}, which all have reached"
    )
    at = np.array([step])
    return {mark: [(run, float(at_steps(run.points, at)[0])) for run in runs if run.points[0][0] <= step] for mark, runs in cells.items()}


def _final(run: Trained, metric: str) -> float:
    """The final evaluation's, where there is one; else the last value."""
    value = (run.summary.get("final") or {}).get(metric)
    return float(value) if isinstance(value, int | float) else float(run.points[1][-1])


def _random(task: str, groups: Sequence[Group]) -> float | None:
    """What an untrained policy has, by the evaluations of step 0."""
    values = [run.points[1][0] for group in groups for run in group.runs.get(task, ()) if run.points[0][0] == 0]
    return float(np.mean(values)) if values else None

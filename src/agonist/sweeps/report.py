"""What came of a sweep: every run's result, and a line for each point with its mean over seeds and how far that may be trusted.

`report(store, sweep)` -> {sweep, status, problems, method, runs, summary, overall?, pictures}. `overall` compares what was trained on
several environments, each environment's returns brought to one scale by the least and the greatest of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agonist import training
from agonist.runs import folder
from agonist.runs.find import is_deleted
from agonist.runs.folder import at
from agonist.runs.store import Store
from agonist.runs.writer import RunWriter
from agonist.stats import summarise
from agonist.stats.aggregates import normalise
from agonist.sweeps.plan import Plan, Trial, label_of, plan_of

KIND = "sweep"
METRIC = "eval/return"


def report(store: Store, sweep: str) -> dict[str, Any]:
    plan = plan_in(store, sweep)
    results = {trial.number: result_of(store, plan.run(sweep, trial)) for trial in plan.trials}
    summary = folder.read_run(store, sweep)["summary"]
    out: dict[str, Any] = {
        "sweep": sweep,
        "status": summary["status"],
        "problems": list(summary.get("problems") or []),
        "method": plan.method,
        "runs": [{**results[trial.number], "seed": trial.seed, "keys": dict(trial.point)} for trial in plan.trials],
        "summary": rows(plan, sweep, results),
    }
    if len({plan.keys(trial)["env"] for trial in plan.trials}) > 1:
        out["overall"] = overall(plan, results)
    pictures = [*store.list(at(sweep, "media/"))]
    out["pictures"] = [f"{store.url}/{name}" for name in pictures]
    return out


def sweep_of(store: Store, run_id: str) -> str:
    """The sweep itself, or the one that a run belongs to."""
    head = folder.read_head(store, run_id)
    if head["kind"] == KIND:
        return run_id
    for parent in head.get("parents", ()):
        with suppress(ValueError):
            if folder.read_head(store, parent)["kind"] == KIND:
                return str(parent)
    raise ValueError(f"run {run_id} is of kind {head['kind']!r}, no sweep and of none")


def plan_in(store: Store, sweep: str) -> Plan:
    return plan_of(folder.read_head(store, sweep)["extra"]["plan"])


def result_of(store: Store, run: str) -> dict[str, Any]:
    """What came of a trial's run so far; `status` is `waiting` where it has not begun, and `deleted` where somebody has done so."""
    try:
        summary = folder.read_run(store, run)["summary"]
    except ValueError:
        return {"run": run, "status": "waiting", "steps": 0}
    if is_deleted(store, run):
        return {"run": run, "status": "deleted", "steps": 0}
    found = training.result(summary)
    if found["status"] == "failed":
        found["why"] = str(next((event.get("why") for event in reversed(folder.read_events(store, run)) if event["kind"] == "failed"), ""))
    return found


def draw(out: RunWriter, plan: Plan, told: Mapping[str, Any]) -> None:
    """The summary as a picture, one for each environment, among the sweep's media."""
    if find_spec("matplotlib") is None:
        out.log("no picture of the summary: it needs pip install 'agonist[stats]'")
        return
    from agonist.stats import charts

    values = {each["run"]: each[METRIC] for each in told["runs"] if each.get(METRIC) is not None}
    tasks: dict[str, list[charts.Row]] = {}
    for row, trials in zip(told["summary"], plan.points().values(), strict=True):
        if row["n"]:
            env, rest = row["keys"]["env"], {key: value for key, value in trials[0].point.items() if key != "env"}
            runs = [values[run] for run in row["runs"] if run in values]
            low, high = row["interval"]
            label = label_of(rest) or str(row["keys"]["algo"])
            tasks.setdefault(env, []).append(charts.Row(label, row["mean"], low, high, runs))
    for number, (env, lines) in enumerate(tasks.items(), 1):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "summary.png"
            charts.draw_intervals(str(path), sorted(lines, key=lambda row: -row.centre), title=env, x=METRIC)
            out.media(f"summary{f'-{number}' if len(tasks) > 1 else ''}.png", path.read_bytes())


def rows(plan: Plan, sweep: str, results: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line a point, in the plan's order."""
    named = {key: plan.given[key] for key in ("algo", "env") if key in plan.given}
    out = []
    for trials in plan.points().values():
        found = [results[trial.number] for trial in trials]
        out.append(
            {
                "keys": {**named, **trials[0].point},
                **summarise(_scores(found)),
                "metric": METRIC,
                "steps": max((int(result["steps"]) for result in found), default=0),
                "failed": sum(result["status"] == "failed" for result in found),
                "deleted": sum(result["status"] == "deleted" for result in found),
                "waiting": sum(result["status"] not in ("failed", "finished", "deleted") for result in found),
                "runs": [plan.run(sweep, trial) for trial in trials],
            }
        )
    return out


def overall(plan: Plan, results: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each point without its environment, over all environments in which it has results."""
    groups: dict[str, dict[str, list[Trial]]] = {}
    for trial in plan.trials:
        rest = {key: value for key, value in trial.point.items() if key != "env"}
        groups.setdefault(label_of(rest), {}).setdefault(plan.keys(trial)["env"], []).append(trial)
    scores = {
        label: {env: _scores(results[trial.number] for trial in trials) for env, trials in by_env.items()}
        for label, by_env in groups.items()
    }
    every: dict[str, list[float]] = {}
    for by_task in scores.values():
        for env, values in by_task.items():
            every.setdefault(env, []).extend(values)
    bounds = {env: (min(values), max(values)) for env, values in every.items() if values}
    out = []
    for label, by_task in scores.items():
        told = {env: values for env, values in by_task.items() if values}
        out.append({"keys": {"points": label or "all"}, "environments": len(told), **summarise(normalise(told, bounds))})
    return out


def _scores(results: Iterable[Mapping[str, Any]]) -> list[float]:
    return [float(result[METRIC]) for result in results if result.get(METRIC) is not None]


def best(summary: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The line with the highest mean of those that trained the longest."""
    told = [row for row in summary if row["n"]]
    return max(told, key=lambda row: (row["steps"], row["mean"]), default=None)

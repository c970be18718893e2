"""A sweep as work: its trials grouped by compiled program, trained here or by processes side by side, and taken up again where it was.

The sweep is a run of kind `sweep`, whose run.json holds the plan; each trial's run has an id from the beginning, so whatever is
killed, a trial is one run: not begun, resumable, or done. One process owns a sweep. Where the cores are more than one program uses,
or the programs differ, processes share the work (`side_by_side`); an accelerator is used by one process alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from agonist import devices, own, specs, training
from agonist.runs import folder, writer
from agonist.runs.store import Store
from agonist.runs.writer import RunWriter
from agonist.sweeps.plan import Plan, Trial, label_of, survivors
from agonist.sweeps.report import KIND, best, draw, plan_in, report, result_of
from agonist.sweeps.side_by_side import Order, work_off
from agonist.training import Interrupted, Job, OnProgress, Progress, Watch
from agonist.training.jobs import stopping

PATIENCE = 30.0  # seconds to wait for a run that somebody is still writing: the worker of a killed sweep ends by itself


class Unit(NamedTuple):
    """Trials of one compiled program, given to one process."""

    group: str
    trials: tuple[Trial, ...]


def begin(store: Store, plan: Plan, on_progress: OnProgress | None = None, jobs: int | None = None) -> str:
    """Train a new sweep to its end, and return its id."""
    told = {
        "algo": plan.given.get("algo"),
        "env": plan.given.get("env"),
        **plan.given,
        **_over(plan),
        "method": plan.method,
        "title": plan.title,
        "source": plan.source,
    }
    out = writer.create(store, KIND, told, extra={"plan": plan.document()})
    return _carry_out(store, out, plan, on_progress, jobs)


def go_on(store: Store, sweep: str, on_progress: OnProgress | None = None, jobs: int | None = None) -> str:
    """Train what is left of a sweep."""
    plan = plan_in(store, sweep)
    with own.strange(f"sweep {sweep}"):
        specs.lasting(plan.given)
    if folder.read_run(store, sweep)["summary"].get("status") == "finished":
        return sweep
    out, _ = writer.open_for_resume(store, sweep)
    return _carry_out(store, out, plan, on_progress, jobs)


def begun(store: Store, plan: Plan) -> str | None:
    """The sweep of the same study that is in the store already."""
    same = [row["id"] for row in folder.list_runs(store) if row.get("kind") == KIND and row.get("spec", {}).get("source") == plan.source]
    return str(same[-1]) if plan.source and same else None


def _over(plan: Plan) -> dict[str, Any]:
    """key -> the values that points have, as the sweep's own keys."""
    values: dict[str, list[Any]] = {}
    for trial in plan.trials:
        for key, value in trial.point.items():
            if value not in values.setdefault(key, []):
                values[key].append(value)
    seeds = sorted({trial.seed for trial in plan.trials})
    return {**{key: several if len(several) > 1 else several[0] for key, several in values.items()}, "seeds": seeds}


def _carry_out(store: Store, out: RunWriter, plan: Plan, on_progress: OnProgress | None, jobs: int | None) -> str:
    """Rung after rung (a grid has one): train the trials that are left, then choose."""
    labels = list(plan.points())
    crew = Crew(store, out, plan, on_progress, jobs)
    try:
        for rung, steps in enumerate(plan.rungs or (None,)):
            crew.train([trial for trial in plan.trials if label_of(trial.point) in labels], steps)
            if rung + 1 < len(plan.rungs):
                labels = _chosen(store, out, plan, rung, labels)
    except BaseException as error:
        with suppress(Exception):
            stopped = isinstance(error, KeyboardInterrupt | Interrupted)
            out.finish("interrupted" if stopped else "failed", why=str(error) or type(error).__name__)
        if isinstance(error, KeyboardInterrupt | Interrupted):
            raise Interrupted(out.id, crew.steps()) from None
        raise
    told = report(store, out.id)
    draw(out, plan, told)
    out.summarise(steps=crew.steps(), final=_final(told) | crew.speed())
    out.finish("finished")
    return out.id


def _final(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a listing shows of the sweep: its best point."""
    row = best(told["summary"])
    found = {"runs": len(told["runs"]), "failed": sum(each["failed"] for each in told["summary"])}
    return found | ({"eval/return": row["mean"], "eval/interval": row["interval"], "best": row["keys"]} if row else {})


def _chosen(store: Store, out: RunWriter, plan: Plan, rung: int, labels: Sequence[str]) -> list[str]:
    """The labels that go on after a rung. Once chosen they stay chosen: a sweep that is taken up has longer runs by then."""
    for event in folder.read_events(store, out.id):
        if event["kind"] == "rung" and event["number"] == rung:
            return list(event["goes_on"])
    scores = {label: _mean(store, plan.points()[label]) for label in labels}
    goes_on = survivors(plan, rung, scores)
    out.event("rung", number=rung, steps=plan.rungs[rung], scores=scores, goes_on=goes_on)
    return goes_on


def _mean(store: Store, trials: Sequence[Trial]) -> float:
    """A point's score: the mean of its seeds' results. One that failed has none."""
    found = [result_of(store, trial).get("eval/return") for trial in trials]
    told = [float(value) for value in found if value is not None]
    return sum(told) / len(told) if len(told) == len(found) else float("nan")


class Crew:
    """Whoever trains for a sweep: this process, or several."""

    def __init__(self, store: Store, out: RunWriter, plan: Plan, on_progress: OnProgress | None, jobs: int | None) -> None:
        self.store, self.out, self.plan, self.on_progress, self.jobs = store, out, plan, on_progress, jobs
        self.reached = {trial.run: int(result_of(store, trial)["steps"]) for trial in plan.trials}
        self.trained: tuple[float, int] | None = None  # time and steps when training was first heard of: before it is compiling
        self.heard = (time.perf_counter(), 0)

    def steps(self) -> int:
        return sum(self.reached.values())

    def told(self, progress: Progress) -> None:
        self.reached[progress.run] = progress.step
        self.heard = time.perf_counter(), self.steps()
        if progress.phase == "training" and self.trained is None:
            self.trained = self.heard
        self.out.heartbeat(self.heard[1])
        if self.on_progress:
            self.on_progress(progress)

    def speed(self) -> dict[str, float]:
        """Environment steps a second of all runs together, without the compiling."""
        if self.trained is None or self.heard[1] == self.trained[1]:
            return {}
        return {"perf/env_steps_per_second": (self.heard[1] - self.trained[1]) / (self.heard[0] - self.trained[0])}

    def train(self, trials: Sequence[Trial], steps: int | None) -> None:
        """All of them to so many steps, or to the plan's."""
        left = [trial for trial in trials if not _is_done(self.store, self.plan, trial, steps)]
        if not left:
            return
        self.wait_for_others(left)
        groups = grouped(self.plan, left)
        shards = _shards(self.plan, left[0])
        workers = shared_out(len(groups), len(left), shards, self.jobs)
        if workers == 1:
            for unit in groups:
                for ended in training.train(self.store, jobs_of(self.plan, unit.trials, self.out.id, steps), Watch(None, self.told)):
                    if ended.error:
                        self.out.log(str(ended.error))
            return
        units = [part for unit in groups for part in _parts(unit, max(1, workers // len(groups)))]
        orders = [Order(self.store.url, self.out.id, [trial.number for trial in unit.trials], steps, shards, unit.group) for unit in units]
        with stopping() as stopped:
            work_off(orders, workers, self.told, self.out.log, stopped)
        if stopped():
            raise Interrupted(self.out.id, self.steps())

    def wait_for_others(self, trials: Sequence[Trial]) -> None:
        """The workers of a sweep that was killed see it and end: then the runs are ours."""
        end = time.monotonic() + PATIENCE
        while any(result_of(self.store, trial)["status"] == "running" for trial in trials):
            if time.monotonic() > end:
                raise ValueError(f"runs of the sweep {self.out.id} are still being written by another process; stop that one first")
            time.sleep(0.2)


def _is_done(store: Store, plan: Plan, trial: Trial, steps: int | None) -> bool:
    """Trained so far, or farther: a later rung has come before. What failed is tried again where a sweep is taken up."""
    try:
        summary = folder.read_run(store, trial.run)["summary"]
    except ValueError:
        return False
    return summary["status"] == "finished" and int(summary["asked"]) >= specs.resolve(plan.keys(trial, steps)).steps


def jobs_of(plan: Plan, trials: Sequence[Trial], sweep: str, steps: int | None) -> list[Job]:
    return [Job(specs.resolve(plan.keys(trial, steps)), trial.run, (sweep,), trial.label) for trial in trials]


def grouped(plan: Plan, trials: Sequence[Trial]) -> list[Unit]:
    """Those of one compiled program together."""
    out: dict[str, list[Trial]] = {}
    for trial in trials:
        key = json.dumps(training.shape(specs.resolve(plan.keys(trial))), sort_keys=True)
        out.setdefault(key, []).append(trial)
    return [Unit(key, tuple(several)) for key, several in out.items()]


def shared_out(groups: int, trials: int, shards: int, jobs: int | None) -> int:
    """How many processes. Programs that differ compile side by side, which takes one core each; an accelerator is one process's."""
    cores = devices.cores()
    if jobs is None:
        jobs = 1 if devices.accelerated() else max(min(groups, cores), cores // shards)
    return max(1, min(jobs, trials))


def _shards(plan: Plan, trial: Trial) -> int:
    return specs.resolve(plan.keys(trial)).train.shards


def _parts(unit: Unit, count: int) -> list[Unit]:
    """A group cut for several processes."""
    count = min(count, len(unit.trials))
    return [Unit(unit.group, unit.trials[i::count]) for i in range(count)]

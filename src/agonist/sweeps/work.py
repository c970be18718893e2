"""A sweep as work: its trials grouped by compiled program, trained here or by processes side by side, and taken up again where it was.

The sweep is a run of kind `sweep`, whose run.json holds the plan; each trial's run has an id from the beginning, so whatever is
killed, a trial is one run: not begun, resumable, or done. One process owns a sweep. Where the cores are more than one program uses,
or the programs differ, processes share the work (`side_by_side`); an accelerator is used by one process alone.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from agonist import devices, hosts, own, specs, training
from agonist.assembly import Find
from agonist.runs import folder, writer
from agonist.runs.find import find_policy
from agonist.runs.store import Store, StoreError
from agonist.runs.writer import RunWriter
from agonist.sweeps.plan import Plan, Trial, survivors
from agonist.sweeps.report import KIND, best, draw, plan_in, report, result_of
from agonist.sweeps.side_by_side import Order, problem_of, work_off
from agonist.training import Interrupted, Job, OnProgress, Progress, Watch
from agonist.training.jobs import stopping

PATIENCE = 30.0  # seconds to wait for a run that somebody is still writing: the worker of a killed sweep ends by itself


class Unit(NamedTuple):
    """Trials of one compiled program, given to one process."""

    group: str
    trials: tuple[Trial, ...]


def begin(store: Store, plan: Plan, on_progress: OnProgress | None = None, jobs: int | None = None) -> str:
    """Train a new sweep to its end, and return its id."""
    check(plan, lambda text: find_policy(store, text))
    named = {"algo": plan.given.get("algo"), "env": plan.given.get("env"), **plan.given, **_over(plan)}
    told = {**named, "method": plan.method, "title": plan.title, "source": plan.source}
    out = writer.create(store, KIND, told, extra={"plan": plan.document()})
    return _carry_out(store, out, plan, on_progress, jobs)


def go_on(store: Store, sweep: str, on_progress: OnProgress | None = None, jobs: int | None = None) -> str:
    """Train what is left of a sweep, and try again what failed."""
    plan = plan_in(store, sweep)
    with own.strange(f"sweep {sweep}"):
        for trial in plan.trials:
            specs.resolve(plan.keys(trial))
        if folder.read_run(store, sweep)["summary"].get("status") == "finished" and not _unfinished(store, sweep, plan):
            return sweep
        out, _ = writer.open_for_resume(store, sweep)
        return _carry_out(store, out, plan, on_progress, jobs)


def _unfinished(store: Store, sweep: str, plan: Plan) -> bool:
    return any(result_of(store, plan.run(sweep, trial))["status"] not in ("finished", "deleted") for trial in plan.trials)


def check(plan: Plan, find: Find) -> list[Unit]:
    """All that can be found wrong before anything is written: one trial of each program is put together. The programs."""
    units = grouped(plan, plan.trials)
    for unit in units:
        spec = specs.resolve(plan.keys(unit.trials[0]))
        try:
            update = training.check(spec, find)
        except ValueError as error:
            raise ValueError(f"{unit.trials[0].label}: {error}" if unit.trials[0].point else str(error)) from None
        if plan.rungs and plan.rungs[0] < update:
            raise ValueError(
                f"the first rung of this halving is {plan.rungs[0]:,} steps, less than one update, which is {update:,}: "
                "more --steps, fewer --trials or a larger --eta leave more"
            )
    return units


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
    told = {key: several if len(several) > 1 else several[0] for key, several in values.items()}
    named = {key: ",".join(map(str, told[key])) for key in ("algo", "env") if isinstance(told.get(key), list)}
    return {**told, **named, "seeds": seeds}


def _carry_out(store: Store, out: RunWriter, plan: Plan, on_progress: OnProgress | None, jobs: int | None) -> str:
    """Rung after rung (a grid has one): train the trials that are left, then choose."""
    points = plan.points()
    labels = list(points)
    crew = Crew(store, out, plan, on_progress, jobs)
    out.summarise(problems=[])
    try:
        for rung, steps in enumerate(plan.rungs or (None,)):
            chosen = _chosen_before(store, out, rung)
            if chosen is None:
                crew.train([trial for label in labels for trial in points[label]], steps)
                if crew.problems:  # whoever has no result for that is not given up: who takes the sweep up trains it first
                    break
                chosen = _choose(store, out, plan, rung, labels) if rung + 1 < len(plan.rungs) else labels
            labels = chosen
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt | Interrupted)
        status = "interrupted" if stopped or isinstance(error, hosts.Lost) else "failed"
        with suppress(StoreError):  # the store itself may be what failed
            out.finish(status, why="stopped" if stopped else str(error) or type(error).__name__)
        if stopped:
            raise Interrupted(out.id, crew.steps()) from None
        raise
    told = report(store, out.id)
    draw(out, plan, told)
    out.summarise(steps=crew.steps(), problems=crew.problems, final=_final(told) | crew.speed())
    out.finish("failed" if crew.problems else "finished", problems=crew.problems)
    return out.id


def _final(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a listing shows of the sweep: its best point. Over several environments none is: their returns are on scales of their own."""
    found = {"runs": len(told["runs"]), "failed": sum(each["failed"] for each in told["summary"])}
    row = None if "overall" in told else best(told["summary"])
    return found | ({"eval/return": row["mean"], "eval/interval": row["interval"], "best": row["keys"]} if row else {})


def _chosen_before(store: Store, out: RunWriter, rung: int) -> list[str] | None:
    """What went on after a rung. Once chosen it stays chosen: a sweep that is taken up has longer runs by then."""
    found = (event for event in folder.read_events(store, out.id) if event["kind"] == "rung" and event["number"] == rung)
    return next((list(event["goes_on"]) for event in found), None)


def _choose(store: Store, out: RunWriter, plan: Plan, rung: int, labels: Sequence[str]) -> list[str]:
    points = plan.points()
    scores = {label: _mean([result_of(store, plan.run(out.id, trial)) for trial in points[label]]) for label in labels}
    goes_on = survivors(plan, rung, scores)
    out.event("rung", number=rung, steps=plan.rungs[rung], scores=scores, goes_on=goes_on)
    return goes_on


def _mean(results: Sequence[Mapping[str, Any]]) -> float:
    """A point's score: the mean of its seeds' results. One that failed has none."""
    told = [float(result["eval/return"]) for result in results if result.get("eval/return") is not None]
    return sum(told) / len(told) if len(told) == len(results) else float("nan")


class Crew:
    """Whoever trains for a sweep: this process, or several."""

    def __init__(self, store: Store, out: RunWriter, plan: Plan, on_progress: OnProgress | None, jobs: int | None) -> None:
        self.store, self.out, self.plan, self.on_progress, self.jobs = store, out, plan, on_progress, jobs
        self.problems: list[str] = []  # what kept runs from being trained, beyond a run's own failure
        ids = [plan.run(out.id, trial) for trial in plan.trials]
        self.reached = {run: int(result_of(store, run)["steps"]) for run in ids}
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
        left = [trial for trial in trials if not self.is_done(trial, steps)]
        if not left:
            return
        self.wait_for_others(left)
        groups = grouped(self.plan, left)
        shards = _shards(self.plan, left[0])
        workers = 1 if _only_here(self.plan, left) else shared_out(len(groups), len(left), shards, self.jobs)
        if workers == 1:
            for unit in groups:
                self.train_here(unit, steps)
            return
        units = [part for unit in groups for part in _parts(unit, max(1, workers // len(groups)))]
        orders = [Order(self.store.url, self.out.id, [trial.number for trial in unit.trials], steps, shards, unit.group) for unit in units]
        with stopping() as stopped:
            self.problems += work_off(orders, workers, self.told, self.out.log, stopped)
        if stopped():
            raise Interrupted(self.out.id, self.steps())

    def train_here(self, unit: Unit, steps: int | None) -> None:
        try:
            for ended in training.train(self.store, jobs_of(self.plan, unit.trials, self.out.id, steps), Watch(None, self.told)):
                if ended.error:
                    self.out.log(str(ended.error))
        except (StoreError, Interrupted, hosts.Lost):
            raise
        except Exception as error:  # whatever keeps one program from training keeps no other
            self.out.log(traceback.format_exc())
            self.problems.append(f"{unit.trials[0].label}: {problem_of(error)}")

    def is_done(self, trial: Trial, steps: int | None) -> bool:
        """Trained so far, or farther; or taken away by somebody. What failed is tried again where a sweep is taken up."""
        run = self.plan.run(self.out.id, trial)
        status = result_of(self.store, run)["status"]
        if status != "finished":
            return status == "deleted"
        asked = int(folder.read_run(self.store, run)["summary"]["asked"])
        return asked >= specs.resolve(self.plan.keys(trial, steps)).steps

    def wait_for_others(self, trials: Sequence[Trial]) -> None:
        """The workers of a sweep that was killed see it and end: then the runs are ours."""
        end = time.monotonic() + PATIENCE
        while any(result_of(self.store, self.plan.run(self.out.id, trial))["status"] == "running" for trial in trials):
            if time.monotonic() > end:
                raise ValueError(f"runs of the sweep {self.out.id} are still being written by another process; stop that one first")
            time.sleep(0.2)


def _only_here(plan: Plan, trials: Sequence[Trial]) -> bool:
    """Objects of a notebook are in this process alone."""
    return any(own.NOTEBOOK in str(value) for trial in trials for value in plan.keys(trial).values())


def jobs_of(plan: Plan, trials: Sequence[Trial], sweep: str, steps: int | None) -> list[Job]:
    return [Job(specs.resolve(plan.keys(trial, steps)), plan.run(sweep, trial), (sweep,), trial.label) for trial in trials]


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

"""Runs to be trained: one, or several whose programs have one shape, by one compiled program.

`train(store, jobs, watch)` -> how each `Job` ended. Several runs train together (`loop.together`), so that start and compiling are paid
once and one run's files are written while another computes. On a CPU each comes out to the bit as it would alone. A run whose numbers
go wrong does not stop the others; Ctrl-C (or SIGTERM) stops all after the chunk that is under way and keeps them, a second one at once.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from agonist import assembly, hosts, loop, own, sinks, specs
from agonist.algos.scripted import is_script
from agonist.assembly import Assembly
from agonist.checkpoints import canonical_json
from agonist.loop import Start
from agonist.runs import folder, writer
from agonist.runs.find import find_policy
from agonist.runs.folder import CheckpointContent
from agonist.runs.store import Missing, Store
from agonist.runs.writer import RunWriter
from agonist.specs import TRAINEE, Spec
from agonist.training import following
from agonist.training.session import Interrupted, Session, TrainingFailed, Watch
from agonist.trees import unflatten
from agonist.types import Env

AT_ONCE = 16  # runs that train together: each holds its learner and its environments in memory


class Job(NamedTuple):
    """A run to be trained: a new one, or one that is there already or was promised that id."""

    spec: Spec
    run: str | None = None
    parents: tuple[str, ...] = ()
    label: str = ""  # what tells it from the others


class Ended(NamedTuple):
    run: str
    error: TrainingFailed | None

    def whole(self) -> str:
        """The run's id, or what it failed of."""
        if self.error:
            raise self.error
        return self.run


def train(store: Store, jobs: Sequence[Job], watch: Watch) -> list[Ended]:
    """Train them all, or raise what stopped them."""
    different = {key for job in jobs for key in shape(job.spec).items() ^ shape(jobs[0].spec).items()}
    if different:
        names = ", ".join(sorted({key for key, _ in different}))
        raise ValueError(f"runs of one compiled program differ in numbers that are data, and not in {names}: these change the program")
    players = {seat: settled(store, who) for seat, who in jobs[0].spec.players.items()}
    jobs = [job._replace(spec=replace(job.spec, players=players)) for job in jobs]
    made = [assembly.assemble(job.spec, lambda text: find_policy(store, text)) for job in jobs]
    for job in jobs:
        sinks.check(job.spec.log)
    shared = made[0].program
    made = [each._replace(program=shared._replace(init=each.program.init)) for each in made]
    for job in jobs:
        whole_updates(job.spec.steps, shared.steps)
    following.tell(store, jobs[0].spec, made[0])
    at_once = AT_ONCE if isinstance(made[0].env, Env) else 1  # an environment on the host is in one episode at a time
    ended: list[Ended] = []
    try:
        with stopping() as stopped:
            for first in range(0, len(jobs), at_once):
                part = slice(first, first + at_once)
                ended += _train_together(store, jobs[part], made[part], watch, stopped)
    finally:
        sinks.settle()
    return ended


def shape(spec: Spec) -> Mapping[str, str]:
    """The keys that runs of one compiled program have in common: all but numbers that are data in it."""
    data = {"steps", "seed", *(field.name for field in fields(spec.log)), *_rates(spec.config)}
    for role in spec.roles:
        data |= {f"roles.{role}.{name}" for name in _rates(specs.for_role(spec, role)[1])}
    return {key: canonical_json(value).decode() for key, value in spec.flat().items() if key not in data}


def _rates(config: Any) -> set[str]:
    return {field.name for field in fields(config) if field.metadata.get("traced")}


def _train_together(store: Store, jobs: Sequence[Job], made: Sequence[Assembly], watch: Watch, stopped: Callable[[], bool]) -> list[Ended]:
    """A batch of jobs, by the program of the first."""
    ids: list[str] = [""] * len(jobs)
    begun: dict[int, tuple[Session, Start]] = {}
    errors: dict[int, TrainingFailed] = {}
    try:
        for i, (job, each) in enumerate(zip(jobs, made, strict=True)):
            ids[i], started = begin(store, job, each, watch)
            hosts.note((*job.parents, ids[i])[0])
            if started:
                begun[i] = started
        alive = {i for i, (session, start) in begun.items() if not session.concluded(start)}
        starts = {i: begun[i][1] for i in alive}
        for i, report in loop.together(made[0].program, made[0].frozen, starts, alive):
            session = begun[i][0]
            try:
                if session.took_last(report, stopped):
                    alive.discard(i)
            except TrainingFailed as error:
                errors[i] = error
                alive.discard(i)
    except BaseException as error:
        for session, _ in begun.values():
            session.end(error)
        if isinstance(error, KeyboardInterrupt) and begun:
            raise _interrupted(begun) from None
        raise
    if any(session.phase == "interrupted" for session, _ in begun.values()):
        raise _interrupted(begun)
    return [Ended(run, errors.get(i)) for i, run in enumerate(ids)]


def _interrupted(begun: Mapping[int, tuple[Session, Start]]) -> Interrupted:
    session = next((session for session, _ in begun.values() if session.phase == "interrupted"), next(iter(begun.values()))[0])
    return Interrupted(session.out.id, session.step)


def begin(store: Store, job: Job, made: Assembly, watch: Watch) -> tuple[str, tuple[Session, Start] | None]:
    """A run's id, and what it takes to go on with it: None where it is done already."""
    spec = replace(job.spec, steps=whole_updates(job.spec.steps, made.program.steps))
    content = None
    if job.run is None or not _is_there(store, job):
        out = _created(store, job, spec)
    else:
        summary = folder.read_run(store, job.run)["summary"]
        if summary.get("status") == "finished" and spec.steps == int(summary.get("steps", 0)):
            return job.run, None
        out, content = writer.open_for_resume(store, job.run)
        for warning in out.warnings:
            print(f"agonist: {warning}", file=sys.stderr)
            out.log(f"{warning}\n")
    session = Session(out, spec, made, watch, job.spec.steps, job.label)
    try:
        session.say("compiling")
        return out.id, (session, _start(session, content))
    except BaseException as error:
        session.end(error)
        raise


def _created(store: Store, job: Job, spec: Spec) -> RunWriter:
    """A new run, with a copy of the user's own code that it trains by."""
    code = own.used(spec.flat())
    extra = {"code": [each.told() for each in code]} if code else None
    out = writer.create(store, "train", spec.flat(), parents=job.parents, run_id=job.run, extra=extra)
    for each in code:
        store.replace(folder.at(out.id, "code", each.copy), each.source)
    return out


def _start(session: Session, content: CheckpointContent | None) -> Start:
    """From nothing, or to the bit where the checkpoint stood."""
    made = session.made
    if content is None:
        return session.start(made.program.init(session.seed, made.frozen), fresh=True)
    what = f"the checkpoint of step {content.info.step:,} of run {session.out.id}"
    state = made.program.place(unflatten(made.program.shape(made.frozen), content.state, what))
    session.remember(content)
    if not isinstance(made.env, Env):
        session.out.event("episodes_restarted", why="a host environment's episodes are no part of a checkpoint")
    return session.start(state, fresh=False)


def _is_there(store: Store, job: Job) -> bool:
    """Whether the run has begun. One of the same id that belongs to something else is not trained on."""
    assert job.run
    try:
        store.get(folder.at(job.run, "run.json"), 0, 0)
    except Missing:
        return False
    if job.parents and list(folder.read_head(store, job.run).get("parents", ())) != list(job.parents):
        raise ValueError(f"run {job.run} is there already and is none of {', '.join(job.parents)}")
    return True


def check(spec: Spec, find: assembly.Find) -> int:
    """Put together what a run would train with, and refuse what cannot be, before anything is written. Environment steps an update."""
    sinks.check(spec.log)
    made = assembly.assemble(spec, find)
    whole_updates(spec.steps, made.program.steps)
    return made.program.steps


def settled(store: Store, who: Any) -> Any:
    """A player by a name that keeps its meaning: `latest`, or a run's best, would be somebody else when the run is resumed."""
    if isinstance(who, list):
        return [settled(store, one) for one in who]
    if who == TRAINEE or is_script(who):
        return who
    return str(Path(who).resolve()) if Path(who).is_dir() else find_policy(store, who).name


def resume(store: Store, run_id: str, steps: float | None, watch: Watch) -> str:
    """Go on with a run to `steps` in all (by default to what it was told), to the bit."""
    head = folder.read_head(store, run_id)
    if head["kind"] != "train":
        raise ValueError(f"run {run_id} is of kind {head['kind']!r}: only training goes on")
    summary = folder.read_run(store, run_id)["summary"]
    told_steps = summary.get("total") or head["spec"]["steps"]
    with own.strange(f"run {run_id}", run_id):
        spec = specs.resolve({**head["spec"], "steps": told_steps if steps is None else steps})
    reached = max((info.step for info in folder.checkpoints(store, run_id, lambda problem: None) if info.resumable), default=0)
    if reached > spec.steps:
        raise ValueError(f"run {run_id} has come to step {reached:,}; --steps is the total, and {spec.steps:,} is less")
    [ended] = train(store, [Job(spec, run_id)], watch)
    return ended.whole()


def whole_updates(steps: int, update: int) -> int:
    """`--steps`, rounded down to whole updates."""
    if steps < update:
        raise ValueError(f"steps={steps:,} is less than one update, which is {update:,} environment steps here (envs x rollout)")
    return steps // update * update


def result(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What `--json` prints of a run."""
    return {"run": summary["id"], "status": summary["status"], "steps": summary["steps"], **(summary.get("final") or {})}


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C or SIGTERM only sets a flag; the second one stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        with suppress(OSError):  # nobody may be reading any more
            print("agonist: stopping after this chunk; Ctrl-C again stops at once", file=sys.stderr)

    if hosts.me():  # asked on any host, it is asked of all
        yield hosts.stopping
        return
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

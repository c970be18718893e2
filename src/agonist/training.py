"""Training as a run: the program's reports become metrics, evaluations, checkpoints and a summary in the store.

Evaluation and checkpoint points depend on the step count alone, so the run that was cut short and the one that was not write the
same. Ctrl-C (or SIGTERM) stops after the chunk that is under way and keeps it; a second one stops at once.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from agonist import assembly, loop, policies, specs
from agonist.algos.scripted import is_script
from agonist.assembly import Assembly
from agonist.checkpoints import PolicyContent
from agonist.loop import Report, TrainState, trainees
from agonist.rollout import Episodes
from agonist.runs import folder, writer
from agonist.runs.find import find_policy
from agonist.runs.folder import CheckpointContent
from agonist.runs.store import Store, StoreError
from agonist.runs.writer import RunWriter
from agonist.specs import TRAINEE, Spec
from agonist.stats.intervals import mean_interval
from agonist.trees import flatten, unflatten
from agonist.types import Env


class Progress(NamedTuple):
    """What a watcher is told, at every report."""

    run: str
    phase: str  # compiling, training, final evaluation, finished, interrupted
    step: int
    total: int
    seconds: float  # since the run began in this process
    values: Mapping[str, float]  # the newest of every metric
    evaluated: int | None = None  # the step of the newest evaluation of this process


OnMetrics = Callable[[int, Mapping[str, float]], None]
OnProgress = Callable[[Progress], None]


class Watch(NamedTuple):
    on_metrics: OnMetrics | None = None
    on_progress: OnProgress | None = None


class TrainingFailed(RuntimeError):
    """The work failed; the run says why and keeps its last good checkpoint."""


class Interrupted(RuntimeError):
    """Somebody stopped the run; it is saved and can go on."""

    def __init__(self, run: str, step: int) -> None:
        super().__init__(f"stopped at step {step:,}; go on with: agonist train --resume {run}")
        self.run, self.step = run, step


WINDOW = 3  # evaluations over which a policy is judged: of a dozen single ones of 32 episodes the best is mostly the luckiest


class Best(NamedTuple):
    """The policies of the evaluation point whose mean over itself and those just before is the highest."""

    step: int
    value: float
    judged: int  # by so many evaluations; more of them weigh more than a better mean of fewer
    contents: Mapping[str, PolicyContent]  # role -> policy


class Session:
    """One process's work on one run."""

    def __init__(self, out: RunWriter, spec: Spec, made: Assembly, watch: Watch, total: int) -> None:
        out.summarise(total=total)
        self.out, self.spec, self.made, self.watch, self.total = out, spec, made, watch, total
        self.seed = jax.random.key(spec.seed)
        self.best: Best | None = None
        self.window: list[float] = []  # the newest evaluations
        self.values: dict[str, float] = {}
        self.began = time.perf_counter()
        self.first: tuple[int, float] | None = None  # step and time of the first report: what comes before it is compiling
        self.step = 0
        self.evaluated: int | None = None
        self.earlier = float(out.summary.get("wall_seconds", 0.0))

    @property
    def steps(self) -> int:
        """Environment steps an update."""
        return self.made.program.steps

    def seconds(self) -> float:
        """Spent on the run, in this process and in those before it."""
        return self.earlier + time.perf_counter() - self.began

    def say(self, phase: str) -> None:
        if self.watch.on_progress:
            seconds = time.perf_counter() - self.began
            self.watch.on_progress(Progress(self.out.id, phase, self.step, self.total, seconds, dict(self.values), self.evaluated))

    def run(self, state: TrainState, fresh: bool) -> None:
        """Train to the end, or raise what stopped it. `fresh`: not from a checkpoint, not even that of step 0."""
        with stopping() as stopped:
            for report in self.made.program.learn(state, self.made.frozen, self.seed, self.total // self.steps, fresh):
                self.take(report)
                if stopped() and self.step < self.total:
                    self.out.finish("interrupted", step=self.step)
                    self.say("interrupted")
                    raise Interrupted(self.out.id, self.step)
                state = report.state
        self.conclude(state)

    def remember(self, content: CheckpointContent) -> None:
        """Stand where the checkpoint stood."""
        self.step = content.info.step
        self.window = [float(value) for value in content.info.facts.get("window", [])]
        best = content.info.facts.get("best")
        if best:
            self.best = Best(int(best["step"]), float(best["value"]), int(best["judged"]), content.best)

    def take(self, report: Report) -> None:
        """Write down what a chunk has brought."""
        arrived = time.perf_counter()
        self.step = report.update * self.steps
        updates = max([0, *(len(values) for values in report.metrics.values())])
        for i in range(updates):
            step = (report.update - updates + i + 1) * self.steps
            self.tell(step, {name: float(values[i]) for name, values in report.metrics.items()})
        self.check(report)
        found = {} if report.evaluation is None else self.score(report.evaluation)
        self.tell(self.step, found | self.speed(arrived))
        contents = self.contents(report.state)
        if found and self.step:  # what has learned nothing is never the best
            self.window = [*self.window, found["eval/return"]][-WINDOW:]
            judged, value = len(self.window), float(np.mean(self.window))
            if self.best is None or (judged, value) >= (self.best.judged, self.best.value):  # of equals the one that learned longer
                self.best = Best(self.step, value, judged, contents)
        if report.evaluation is not None:
            self.evaluated = self.step
            transcript = {"returns": report.evaluation.returns, "length": report.evaluation.length}
            self.out.evaluation(self.step, jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), transcript))
        self.out.summary["wall_seconds"] = self.seconds()
        self.keep(report, contents)
        self.out.heartbeat(self.step)
        self.say("training")

    def tell(self, step: int, values: Mapping[str, float]) -> None:
        """Metrics of a step; what could not be measured (no episode ended) is left out."""
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        self.out.metrics(step, known)
        self.values |= known
        if self.watch.on_metrics and known:
            self.watch.on_metrics(step, known)

    def check(self, report: Report) -> None:
        """A loss that is no number ends the run, and so do such parameters: no checkpoint is made of them, the last good one stays."""
        for name, values in report.metrics.items():
            if name.startswith("train/"):  # nan where no episode ended
                continue
            bad = np.flatnonzero(~np.isfinite(values))
            if len(bad):
                update = report.update - len(values) + int(bad[0]) + 1
                self.fail(f"{name} is {values[bad[0]]} at update {update:,} (step {update * self.steps:,})")
        for g in trainees(self.made.line_up):
            group = self.made.line_up[g]
            for name, leaf in flatten(group.algorithm.actor(report.state.learners[g])).items():
                if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf).all():
                    self.fail(f"{name} of {group.name} is no number after update {report.update:,} (step {self.step:,})")

    def fail(self, why: str) -> NoReturn:
        self.out.finish("failed", why=why)
        last = self.out.summary.get("checkpoint") or {}
        raise TrainingFailed(
            f"{why}; the run {self.out.id} is marked as failed and keeps its checkpoint of step {last.get('step', 0):,}. "
            "A smaller lr or max_grad_norm often helps"
        )

    def score(self, evaluation: Episodes) -> dict[str, float]:
        """eval/return (the first trainee's), its interval, and everybody's own where there are several."""
        first = self.made.line_up[trainees(self.made.line_up)[0]].name
        mean, low, high = mean_interval(evaluation.returns[first])
        out = {"eval/return": mean, "eval/return_low": low, "eval/return_high": high, "eval/length": float(np.mean(evaluation.length))}
        if len(evaluation.returns) > 1:
            out |= {f"eval/return/{name}": mean_interval(returns)[0] for name, returns in evaluation.returns.items()}
        return out

    def speed(self, arrived: float) -> dict[str, float]:
        """Environment steps a second since the first report: without the compiling."""
        if self.first is None:
            self.first = (self.step, arrived)
            return {}
        return {"perf/env_steps_per_second": (self.step - self.first[0]) / (arrived - self.first[1])}

    def contents(self, state: TrainState) -> dict[str, PolicyContent]:
        """Each trainee's policy as its folder will hold it."""
        out = {}
        for g in trainees(self.made.line_up):
            group = self.made.line_up[g]
            provenance = {"run": self.out.id, "step": self.step, "seed": self.spec.seed, "spec": self.spec.flat()}
            out[group.name] = policies.content(group.algorithm, self.made.configs[g], group.algorithm.policy(state.learners[g]), provenance)
        return out

    def keep(self, report: Report, contents: Mapping[str, PolicyContent]) -> None:
        """A checkpoint: regular at an evaluation point, an interim one where the run ends between two."""
        best_so_far = {"best": {"step": self.best.step, "value": self.best.value, "judged": self.best.judged}} if self.best else {}
        facts = {**best_so_far, "window": self.window}
        best = self.best.contents if self.best else None
        interim = report.evaluation is None
        self.out.checkpoint(self.step, report.update, flatten(report.state), facts, contents, best=best, interim=interim)

    def conclude(self, state: TrainState) -> None:
        """The absolute metric: ten evaluations' episodes of the best policies, and the summary."""
        self.say("final evaluation")
        best = self.best or Best(self.step, float("nan"), 0, self.contents(state))
        update = best.step // self.steps
        played = self.made.program.absolute(state, self.params(best.contents), self.made.frozen, self.seed, update)
        found = self.score(played)
        role = next(iter(best.contents))
        last = self.out.checkpoints[-1].policy_names
        many = {"policies": {name: content.name for name, content in best.contents.items()}} if len(last) > 1 else {}
        self.out.summarise(
            final={
                "policy": best.contents[role].name,
                "policy_last": last[role],
                "best_step": best.step,
                **{name: value for name, value in found.items() if name == "eval/return" or name.startswith("eval/return/")},
                "eval/interval": [found["eval/return_low"], found["eval/return_high"]],
                "eval/episodes": len(played.length),
                "eval/play": "greedy" if self.greedy() else "sampled",
                "perf/env_steps_per_second": self.out.summary["last"].get("perf/env_steps_per_second"),
                "wall_seconds": self.seconds(),
                **many,
            }
        )
        self.out.finish("finished")
        self.say("finished")

    def greedy(self) -> bool:
        groups = loop.evaluated(self.made.line_up, self.spec.train.sampled)
        return groups[trainees(self.made.line_up)[0]].greedy

    def params(self, contents: Mapping[str, PolicyContent]) -> tuple[Any, ...]:
        """Policies as the program takes them, () where nobody learns."""
        out: list[Any] = []
        for group in self.made.line_up:
            if not group.trains:
                out.append(())
                continue
            algorithm = group.algorithm
            like = jax.eval_shape(lambda a=algorithm: a.policy(a.init(jax.random.key(0))))
            out.append(jax.tree.map(jnp.asarray, unflatten(like, contents[group.name].tensors, f"policy of {group.name}")))
        return tuple(out)


def train(store: Store, spec: Spec, seeds: Sequence[int], watch: Watch) -> list[str]:
    """A run a seed, one after another, by one compiled program."""
    spec = replace(spec, players={seat: settled(store, who) for seat, who in spec.players.items()})
    made, _ = prepared(store, spec)
    total = whole_updates(spec.steps, made.program.steps)
    ids = []
    for seed in seeds:
        spec = replace(spec, seed=seed, steps=total)
        out = writer.create(store, "train", spec.flat())
        session = Session(out, spec, made, watch, total)
        with told(out):
            session.say("compiling")
            session.run(made.program.init(session.seed, made.frozen), fresh=True)
        ids.append(out.id)
    return ids


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
    spec = specs.resolve({**head["spec"], "steps": told_steps if steps is None else steps})
    made, host = prepared(store, spec)
    total, done = whole_updates(spec.steps, made.program.steps), int(summary.get("steps", 0))
    if summary.get("status") == "finished" and total == done:
        return run_id
    reached = max((info.step for info in folder.checkpoints(store, run_id, lambda problem: None) if info.resumable), default=0)
    if reached > total:
        raise ValueError(f"run {run_id} has come to step {reached:,}; --steps is the total, and {total:,} is less")
    out, content = writer.open_for_resume(store, run_id)
    for warning in out.warnings:
        print(f"agonist: {warning}", file=sys.stderr)
        out.log(f"{warning}\n")
    session = Session(out, replace(spec, steps=total), made, watch, total)
    with told(out):
        session.say("compiling")
        if content is None:
            state = made.program.init(session.seed, made.frozen)
        else:
            like = made.program.shape(made.frozen)
            state = made.program.place(unflatten(like, content.state, f"the checkpoint of step {content.info.step:,} of run {run_id}"))
            session.remember(content)
            if host:
                out.event("episodes_restarted", why="a host environment's episodes are no part of a checkpoint")
        session.run(state, fresh=content is None)
    return run_id


def prepared(store: Store, spec: Spec) -> tuple[Assembly, bool]:
    """The program of a spec, and whether its environment is stepped from the host."""
    made = assembly.assemble(spec, lambda text: find_policy(store, text))
    return made, not isinstance(made.env, Env)


def whole_updates(steps: int, update: int) -> int:
    """`--steps`, rounded down to whole updates."""
    if steps < update:
        raise ValueError(f"steps={steps:,} is less than one update, which is {update:,} environment steps here (envs x rollout)")
    return steps // update * update


def result(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What `--json` prints of a run."""
    return {"run": summary["id"], "status": summary["status"], "steps": summary["steps"], **(summary.get("final") or {})}


@contextmanager
def told(out: RunWriter) -> Iterator[None]:
    """Whatever ends the work, the run says so."""
    try:
        yield
    except (TrainingFailed, Interrupted):
        raise
    except KeyboardInterrupt:
        out.finish("interrupted", why="stopped at once")
        raise Interrupted(out.id, int(out.summary.get("steps", 0))) from None
    except Exception as error:
        with suppress(StoreError):  # the store itself may be what failed
            out.finish("failed", why=f"{type(error).__name__}: {error}")
        raise


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C or SIGTERM only sets a flag; the second one stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        print("agonist: stopping after this chunk; Ctrl-C again stops at once", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

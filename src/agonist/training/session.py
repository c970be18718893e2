"""One process's work on one run: the program's reports become metrics, evaluations, checkpoints and a summary in the store.

Evaluation and checkpoint points depend on the step count alone, so the run that was cut short and the one that was not write the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from agonist import hosts, loop, policies
from agonist.assembly import Assembly
from agonist.checkpoints import PolicyContent
from agonist.loop import Report, Start, TrainState, trainees
from agonist.rollout import Episodes
from agonist.runs.folder import CheckpointContent, at
from agonist.runs.store import StoreError
from agonist.runs.writer import RunWriter
from agonist.sinks import Beginning, Sinks, open_sinks
from agonist.specs import Spec
from agonist.stats.intervals import mean_interval
from agonist.training.elsewhere import elsewhere
from agonist.training.past import past
from agonist.trees import fetched, flatten, unflatten


class Progress(NamedTuple):
    """What a watcher is told, at every report."""

    run: str
    phase: str  # compiling, training, final evaluation, finished, interrupted, failed
    step: int
    total: int
    seconds: float  # since the run began in this process
    values: Mapping[str, float]  # the newest of every metric
    evaluated: int | None = None  # the step of the newest evaluation of this process
    label: str = ""  # what tells the run from others that train with it
    why: str = ""  # it failed


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


ENDED = ("finished", "interrupted", "failed")  # phases after which nothing more is said
WINDOW = 3  # evaluations over which a policy is judged: of a dozen single ones of 32 episodes the best is mostly the luckiest


class Best(NamedTuple):
    """The policies of the evaluation point whose mean over itself and those just before is the highest."""

    step: int
    value: float
    judged: int  # by so many evaluations; more of them weigh more than a better mean of fewer
    contents: Mapping[str, PolicyContent]  # role -> policy


class Session:
    """A run that is being trained: everything it writes and says."""

    def __init__(self, out: RunWriter, spec: Spec, made: Assembly, watch: Watch, asked: int, label: str = "") -> None:
        total = spec.steps
        out.summarise(total=total, asked=asked)
        self.out, self.spec, self.made, self.watch, self.total, self.label = out, spec, made, watch, total, label
        self.phase = ""
        self.sinks: Sinks | None = None  # opened where it starts: they go on behind the checkpoint
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

    def say(self, phase: str, why: str = "") -> None:
        self.phase = phase
        if self.watch.on_progress:
            seconds = time.perf_counter() - self.began
            told = Progress(self.out.id, phase, self.step, self.total, seconds, dict(self.values), self.evaluated, self.label, why)
            self.watch.on_progress(told)

    def start(self, state: TrainState, fresh: bool) -> Start:
        """What the program needs to train it to its end. `fresh`: not from a checkpoint, not even that of step 0."""
        behind = None if fresh else partial(past, self.out.store, self.out.id, self.step)
        self.sinks = open_sinks(elsewhere(self.out, self.spec.log), self.beginning()._replace(past=behind))
        return Start(state, self.seed, self.total // self.steps, fresh)

    def beginning(self) -> Beginning:
        """What other people's files and services are told of the run."""
        return Beginning(
            run=self.out.id,
            spec=self.spec.flat(),
            store=self.out.store.url,
            folder=f"{self.out.store.url}/{at(self.out.id)}",
            step=self.step,
            title=f"{self.spec.algo} on {self.spec.env}",
            label=self.label.removesuffix(f"seed {self.spec.seed}").strip(),
            role=self.leader,
            seconds=self.earlier,
            log=lambda text: self.out.log(text, at_once=self.phase in ENDED),  # a sink may fail after the run's own end
        )

    @property
    def leader(self) -> str:
        """The trainee whose return is eval/return."""
        return self.made.line_up[trainees(self.made.line_up)[0]].name

    def finish(self, status: str, **data: Any) -> None:
        """The run's last word, here and elsewhere."""
        if self.sinks:
            best = self.best.contents if self.best else {}
            self.sinks.close(status, self.out.summary.get("final") or {}, best)
        self.out.finish(status, **data)
        self.phase = status

    def concluded(self, start: Start) -> bool:
        """Whether all was trained before, and only the end was missing: it is made up for."""
        if start.fresh or self.step < self.total:
            return False
        self.conclude(start.state)
        return True

    def took_last(self, report: Report, stopped: Callable[[], bool]) -> bool:
        """Write down what a chunk has brought. True where the run ends with it."""
        self.take(report)
        if self.step == self.total:
            self.conclude(report.state)
        elif stopped():
            self.finish("interrupted", step=self.step)
            self.say("interrupted")
        else:
            return False
        return True

    def end(self, error: BaseException) -> None:
        """Whatever ended the work, the run says so."""
        if self.phase in ENDED:
            return
        status, why = "failed", f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt):
            status, why = "interrupted", "stopped at once"
        if isinstance(error, hosts.Lost):
            status, why = "interrupted", str(error)
        with suppress(StoreError):  # the store itself may be what failed
            self.finish(status, why=why)

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
        report = report._replace(state=fetched(report.state))
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
            self.pass_on(report.evaluation, absolute=False)
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
        if self.sinks:
            self.sinks.metrics(step, known)
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
        self.finish("failed", why=why)
        self.say("failed", why)
        last = self.out.summary.get("checkpoint") or {}
        raise TrainingFailed(
            f"{why}; the run {self.out.id} is marked as failed and keeps its checkpoint of step {last.get('step', 0):,}. "
            "A smaller lr or max_grad_norm often helps"
        )

    def score(self, evaluation: Episodes) -> dict[str, float]:
        """eval/return (the first trainee's), its interval, and everybody's own where there are several."""
        mean, low, high = mean_interval(evaluation.returns[self.leader])
        out = {"eval/return": mean, "eval/return_low": low, "eval/return_high": high, "eval/length": float(np.mean(evaluation.length))}
        if len(evaluation.returns) > 1:
            out |= {f"eval/return/{name}": mean_interval(returns)[0] for name, returns in evaluation.returns.items()}
        return out

    def pass_on(self, evaluation: Episodes, absolute: bool) -> None:
        if self.sinks:
            self.sinks.evaluation(self.step, evaluation.returns, evaluation.length, absolute)

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
        self.pass_on(played, absolute=True)
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
        self.finish("finished")
        self.values["final/return"] = found["eval/return"]
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

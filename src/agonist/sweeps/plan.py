"""What a sweep will train: points in the space of keys, each with several seeds.

`lr=1e-4,1e-3` names values; `lr=1e-4..1e-2` a range to draw from (by its logarithm where both ends are positive and a factor of ten
apart, as rates are). `grid` takes every combination; `random` draws (Bergstra & Bengio 2012, JMLR 13); `halving` trains all points
for a short while and goes on with the best of them, again and again (Jamieson & Talwalkar 2016, arXiv:1502.07943).
Given keys, what is swept over, seeds -> `Plan`, JSON there and back. Every trial's run has its id before the first begins: the sweep's, and
its own number.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agonist import own, specs
from agonist.options import read_range
from agonist.runs.matching import text_of

METHODS = ("grid", "random", "halving")
MOST = 10_000  # trials: more is a slip of the keyboard


@dataclass(frozen=True)
class Trial:
    """One run of a sweep."""

    number: int
    seed: int
    point: Mapping[str, Any]  # the keys in which points differ
    more: Mapping[str, Any]  # keys that follow from the point and go before it, as a study's variant has an algorithm and keys of its own

    @property
    def label(self) -> str:
        return " ".join(filter(None, [label_of(self.point), f"seed {self.seed}"]))


@dataclass(frozen=True)
class Plan:
    method: str
    given: Mapping[str, Any]  # keys that all have in common
    trials: tuple[Trial, ...]
    rungs: tuple[int, ...] = ()  # steps at which all but the best are given up, the whole length last
    eta: int = 1  # one in so many goes on
    title: str = ""
    source: str = ""  # the hash of the study's file

    def run(self, sweep: str, trial: Trial) -> str:
        """The id of a trial's run: nobody else's can be the same."""
        return f"{sweep}-{trial.number + 1:0{len(str(len(self.trials)))}d}"

    def keys(self, trial: Trial, steps: int | None = None) -> dict[str, Any]:
        """What the trial's run is told."""
        return {**self.given, **trial.point, **trial.more, "seed": trial.seed, **({} if steps is None else {"steps": steps})}

    def points(self) -> dict[str, list[Trial]]:
        """The trials of each point, by its label."""
        out: dict[str, list[Trial]] = {}
        for trial in self.trials:
            out.setdefault(label_of(trial.point), []).append(trial)
        return out

    def document(self) -> dict[str, Any]:
        return asdict(self)


def plan_of(document: Mapping[str, Any]) -> Plan:
    lists = {"trials": tuple(Trial(**trial) for trial in document["trials"]), "rungs": tuple(document["rungs"])}
    return Plan(**{**document, **lists})


def label_of(point: Mapping[str, Any]) -> str:
    """`lr=0.001 hidden=[64,64]`."""
    return " ".join(str(value) if key in ("algo", "env") else f"{key}={text_of(value)}" for key, value in point.items())


def make_plan(
    given: Mapping[str, Any],
    over: Mapping[str, Sequence[Any] | str],
    seeds: int | None = None,
    method: str | None = None,
    trials: int = 16,
    eta: int = 4,
) -> Plan:
    """A plan, the keys of every point checked. `over`: key -> its values, or for a drawn sweep a range's text; several values of
    `seed` are the seeds. Without a method it is a grid, or random where there is a range."""
    over = dict(over)
    for key, values in over.items():
        if key in given:
            raise ValueError(f"{key} is given as {given[key]!r} and swept over: which one holds?")
        if not isinstance(values, str) and (not isinstance(values, list | tuple) or not values):
            raise ValueError(f"{key} needs a list of values, such as [1e-3, 3e-3], or a range such as '1e-4..1e-2', got {values!r}")
    method = method or ("random" if any(isinstance(values, str) for values in over.values()) else "grid")
    if method not in METHODS:
        raise ValueError(f"a sweep is one of {', '.join(METHODS)}, got {method!r}")
    if (seeds is not None and seeds < 1) or trials < 1:
        raise ValueError(f"need seeds >= 1 and trials >= 1, got {seeds}, {trials}")
    numbers = _seeds(given, over.pop("seed", None), seeds)
    points = _grid(over) if method == "grid" else _drawn(over, trials, numbers[0])
    return complete(given, [(point, {}) for point in points], numbers, method, eta)


def _seeds(given: Mapping[str, Any], named: Sequence[Any] | str | None, count: int | None) -> list[int]:
    """Those named, or so many from the first on."""
    if named is None:
        first = specs.whole(given.get("seed", 0), "seed")
        return list(range(first, first + (count or 1)))
    if count is not None or isinstance(named, str):
        raise ValueError(f"name the seeds, as in seed=1,2,5, or say how many, as in --seeds 3: got seed={text_of(named)}, {count} seeds")
    return [specs.whole(value, "seed") for value in named]


def complete(
    given: Mapping[str, Any],
    points: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    seeds: Sequence[int],
    method: str = "grid",
    eta: int = 1,
    title: str = "",
) -> Plan:
    """(point, the keys that follow from it) and seeds -> a plan."""
    given, points = specs.lasting(given), list(points)
    if len(points) * len(seeds) > MOST:
        raise ValueError(f"that makes {len(points) * len(seeds):,} runs; a sweep has at most {MOST:,}")
    resolved = [specs.resolve({**given, **point, **more}) for point, more in points]
    for (point, more), spec in zip(points, resolved, strict=True):
        given |= _coded({key: value for key, value in given.items() if key not in {**point, **more}}, spec.flat())
    points = [(_settled(point, more, spec.flat()), _coded(more, spec.flat())) for (point, more), spec in zip(points, resolved, strict=True)]
    names = Counter([*(label_of(point) for point, _ in points), *(f"seed {seed}" for seed in seeds)])
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"the sweep has {twice[0]} twice: values of a key need to be different")
    several = itertools.product(points, seeds)
    trials = tuple(Trial(n, seed, dict(point), dict(more)) for n, ((point, more), seed) in enumerate(several))
    rungs = _rungs(max(spec.steps for spec in resolved), len(points), eta) if method == "halving" else ()
    common = {key: value for key, value in given.items() if key != "seed"}
    return Plan(method, common, trials, rungs, eta if rungs else 1, title)


def _settled(point: Mapping[str, Any], more: Mapping[str, Any], flat: Mapping[str, Any]) -> dict[str, Any]:
    """A point's values as the run has them, not as they were typed."""
    return {key: value if key in more else flat.get(key, value) for key, value in point.items()}


def _coded(keys: Mapping[str, Any], flat: Mapping[str, Any]) -> dict[str, Any]:
    """The same keys, own code by the lasting name that the run has for it: a plan is read again where nobody types."""
    return {key: flat[key] if own.known(str(flat.get(key))) else value for key, value in keys.items()}


def _grid(over: Mapping[str, Sequence[Any] | str]) -> list[dict[str, Any]]:
    for key, values in over.items():
        if isinstance(values, str):
            raise ValueError(
                f"{key}={values} is a range, of which a grid has no end: name values, as in {key}=1e-3,1e-2, or draw: --method random"
            )
    return [dict(zip(over, values, strict=True)) for values in itertools.product(*over.values())]


def _drawn(over: Mapping[str, Sequence[Any] | str], count: int, seed: int) -> list[dict[str, Any]]:
    """So many different points, as far as there are."""
    if not over:
        raise ValueError("nothing to draw from: give a key several values or a range, as in lr=1e-4..1e-2")
    draw = random.Random(f"points of sweep {seed}")
    points: dict[str, dict[str, Any]] = {}
    for _ in range(20 * count):
        point = {key: _one(key, values, draw) for key, values in over.items()}
        points.setdefault(label_of(point), point)
        if len(points) == count:
            break
    return list(points.values())


def _one(key: str, values: Sequence[Any] | str, draw: random.Random) -> Any:
    if not isinstance(values, str):
        return draw.choice(list(values))
    scale, low, high = read_range(key, values)
    if scale == "log":
        value = math.exp(draw.uniform(math.log(low), math.log(high)))
    else:
        value = draw.uniform(low, high)
    if isinstance(low, int):
        return min(max(round(value), int(low)), int(high))
    return float(f"{value:.3g}")  # a number that can be said again


def _rungs(steps: int, points: int, eta: int) -> tuple[int, ...]:
    """So many steps for all points, eta times as many for the best of eta of them ... and all steps for the last."""
    if eta < 2:
        raise ValueError(f"halving goes on with one in eta points, and needs eta >= 2, got {eta}")
    count = max(1, math.ceil(math.log(max(points, 1), eta) - 1e-9))
    return tuple(max(1, round(steps / eta**i)) for i in range(count, -1, -1))


def survivors(plan: Plan, rung: int, scores: Mapping[str, float]) -> list[str]:
    """The labels of the points that go on after a rung: the best of those that got a score, at least one."""
    keep = max(1, math.ceil(len(plan.points()) / plan.eta ** (rung + 1) - 1e-9))
    ranked = sorted((label for label in scores if math.isfinite(scores[label])), key=lambda label: -scores[label])
    return ranked[:keep]

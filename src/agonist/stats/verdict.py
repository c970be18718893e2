"""One group of runs against another: better, worse, equivalent, or too few to tell; with a sentence and the numbers behind it.

    compare(reference, other, margin) -> dict:
        verdict                better, worse, equivalent, too few to tell
        sentence               the same in words, with the numbers
        difference, interval   of the means (of the tasks' means), other - reference: Welch 1947, 95 %
        margin                 how small a difference is none: 5 % of what training gains (`margin_of`)
        probability            of improvement: that a run of `other` beats a run of the reference (Agarwal et al. 2021), with its interval
        seeds_needed           a rough estimate: seeds each, with which 80 of 100 such comparisons would be settled

Equivalent is shown, never assumed: two one-sided tests at 5 % (Schuirmann 1987), which is to say that the 90 % interval of the
difference lies inside the margin. Two groups that a test could not tell apart are otherwise "too few to tell".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agonist.stats.aggregates import Array, Parts, Scores, draws, mean, parts_of, resampled
from agonist.stats.intervals import standard_error, student
from agonist.stats.summary import FEW, NORM

EQUIVALENT, TOO_FEW = "equivalent", "too few to tell"
SHARE = 0.05  # of final - random: a difference inside it is none
LEAST = 3  # seeds each, from which Welch's test is wrong no more often than it says, also where returns are far from normal
DETECT = (1.959964 + 0.841621) ** 2  # normal quantiles of 97.5 % and 80 %: to see a difference
CONFIRM = (1.644854 + 1.281552) ** 2  # of 95 % and 90 %: to show that there is none
MOST = 1000  # seeds; more than this is not meant seriously


def margin_of(reference: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]], random: Mapping[str, float]) -> float:
    """5 % of what the side that learned more gained over an untrained policy, the mean over tasks; 0 where one has no such figure."""
    if set(random) != set(reference):
        return 0.0
    gains = [max(abs(float(np.mean(side[task])) - random[task]) for side in (reference, other)) for task in reference]
    return SHARE * float(np.mean(gains))


def compare(
    reference: Scores, other: Scores, margin: float = 0.0, *, words: tuple[str, str] = ("better", "worse"), reps: int = 2000
) -> dict[str, Any]:
    """`other` against `reference`: one task's scores each, or task -> scores with the same tasks on one scale.

    `words`: what a greater mean and a smaller one are called.
    """
    if isinstance(reference, Mapping) and isinstance(other, Mapping):
        if set(reference) != set(other):
            raise ValueError(f"need the same tasks on both sides, got {', '.join(reference)} and {', '.join(other)}")
        other = {task: other[task] for task in reference}
    ours, theirs = parts_of(reference), parts_of(other)
    difference = float(mean(theirs)) - float(mean(ours))
    wide, narrow = (_interval(difference, ours, theirs, level) for level in (0.95, 0.90))
    drawn = draws(ours, reps), draws(theirs, reps, seed=1)
    seeds = min(part.size for part in ours), min(part.size for part in theirs)
    verdict = _verdict(wide, narrow, margin, min(seeds), words)
    needed = seeds_needed(ours, theirs, margin) if verdict == TOO_FEW else None
    return {
        "verdict": verdict,
        "sentence": _sentence(verdict, difference, wide, margin, seeds, needed),
        "difference": difference,
        "interval": list(wide),
        "margin": margin,
        "probability": float(improvement(ours, theirs)),
        "probability_interval": _improvement_interval(ours, theirs, drawn),
        "seeds": list(seeds),
        "seeds_needed": needed,
    }


def improvement(reference: Parts, other: Parts) -> Any:
    """P(a run of other > a run of reference), the mean over tasks; a tie counts half (Mann and Whitney's U)."""
    pairs = [(b[..., :, None] - a[..., None, :]) for a, b in zip(reference, other, strict=True)]
    return np.mean([((pair > 0) + 0.5 * (pair == 0)).mean((-2, -1)) for pair in pairs], axis=0)


def _improvement_interval(reference: Parts, other: Parts, drawn: tuple[Sequence[Array], Sequence[Array]]) -> list[float]:
    """By bootstrap; nan where a side has fewer runs than an interval needs."""
    if min(sum(part.size for part in parts) for parts in (reference, other)) < FEW:
        return [float("nan")] * 2
    tasks, pairs = len(reference), sum(a.size * b.size for a, b in zip(reference, other, strict=True))
    found = resampled(lambda both: improvement(both[:tasks], both[tasks:]), [*reference, *other], [*drawn[0], *drawn[1]], pairs)
    return [float(end) for end in np.quantile(found, [0.025, 0.975])]


def _interval(difference: float, reference: Parts, other: Parts, level: float) -> tuple[float, float]:
    """Welch's, over all strata at once: the parts of both sides are as many tasks of one experiment."""
    error, freedom = standard_error([*reference, *other])
    half = student(freedom, level) * error * 2  # standard_error divides by the number of parts, which is twice that of tasks
    return difference - half, difference + half


def _verdict(wide: tuple[float, float], narrow: tuple[float, float], margin: float, seeds: int, words: tuple[str, str]) -> str:
    if seeds >= FEW and -margin < narrow[0] and narrow[1] < margin:
        return EQUIVALENT
    if seeds >= LEAST and wide[0] > 0:
        return words[0]
    return words[1] if seeds >= LEAST and wide[1] < 0 else TOO_FEW


def seeds_needed(reference: Parts, other: Parts, margin: float) -> int | None:
    """Seeds each that would tell a difference as large as this one, or show that it is none; None: more than anybody would run."""
    have = min(part.size for part in (*reference, *other))
    if have < 2:
        return FEW
    variance = sum(float(part.var(ddof=1)) for part in (*reference, *other)) / len(reference) ** 2
    size = abs(float(mean(other)) - float(mean(reference)))
    ways = [DETECT * variance / size**2] if size else []
    ways += [CONFIRM * variance / (margin - size) ** 2] if size < margin else []
    least = min(ways, default=math.inf)
    return max(FEW, have + 1, math.ceil(least)) if least <= MOST else None


def _sentence(verdict: str, difference: float, wide: tuple[float, float], margin: float, seeds: tuple[int, int], needed: int | None) -> str:
    by = f"{seeds[0]} and {seeds[1]} seeds"
    span = f" [{wide[0]:.3g}, {wide[1]:.3g}]" if math.isfinite(wide[0]) else ""
    if verdict == EQUIVALENT:
        return f"equivalent: the difference {difference:.3g}{span} by {by} lies inside ±{margin:.3g}, 5 % of what training gains"
    if verdict != TOO_FEW:
        return f"{verdict} by {abs(difference):.3g}: the difference is {difference:.3g}{span} by {by}"
    if min(seeds) < 2:
        return (
            f"too few to tell: the difference is {difference:.3g}, and one seed shows no spread; {FEW} seeds each do, {NORM} are the norm"
        )
    seen = f"the difference {difference:.3g}{span}" if difference else "no difference"
    wanted = f"about {needed} seeds each would tell" if needed else f"more than {MOST:,} seeds each would be needed"
    return f"too few to tell: {seen} by {by} may be chance; {wanted}" + (f", {NORM} are the norm" if needed and needed < NORM else "")

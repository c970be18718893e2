"""What a sink costs: training with each of the local ones beside training with none, in turn, several rounds.

A measurement is a whole run, from its first report (compiling is over) to its end, so what a sink writes last counts as well. Besides
the speed by the clock stands that by the process's own CPU time, which other programs on the machine disturb less; as training takes
all cores, what a sink computes is what training loses. In each round `none` is run first and last: what these two differ by is what the
figures are good for.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agonist import api
from agonist.bench import say
from agonist.options import read_words
from agonist.training import Progress
from agonist.types import option

LOCAL = ("console", "json", "tb", "csv", "parquet")
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Speeds = Mapping[str, float]  # clock -> environment steps a second


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    sinks: tuple[str, ...] = option((*LOCAL, "all"), "what is measured; `all`: the local ones at once")
    steps: int = option(800_000, "environment steps of a run", span=(1, None))
    rounds: int = option(5, "rounds", span=(1, None))
    words: str = option("", "more keys, between spaces")


def measure(options: Options) -> dict[str, Any]:
    rounds = []
    run(options, "none")  # the cache of compiled programs is warm from here on
    for turn in range(options.rounds):
        at = turn % len(options.sinks)
        found = [(name, run(options, name)) for name in ("none", *options.sinks[at:], *options.sinks[:at], "none")]
        rounds.append(found)
        say(f"round {turn + 1}: " + ", ".join(f"{name} {speeds['wall']:,.0f} ({speeds['cpu']:,.0f})" for name, speeds in found))
    return {"env": options.env, "steps": options.steps, "words": options.words, **{clock: summary(rounds, clock) for clock in CLOCKS}}


def summary(rounds: Sequence[Sequence[tuple[str, Speeds]]], clock: str) -> dict[str, Any]:
    """Each sink's cost: the part of the speed without it that is lost; the median over the rounds, and all of them."""
    costs: dict[str, list[float]] = {}
    noise, none = [], []
    for found in rounds:
        first, last = found[0][1][clock], found[-1][1][clock]
        none += [first, last]
        noise.append(abs(first - last) / max(first, last))
        for name, speeds in found[1:-1]:
            costs.setdefault(name, []).append(1 - speeds[clock] / ((first + last) / 2))
    rows = [{"sink": name, "cost": round(statistics.median(of), 4), "all": [round(one, 4) for one in of]} for name, of in costs.items()]
    return {"none": [round(speed) for speed in none], "noise": round(statistics.median(noise), 4), "rows": rows}


def run(options: Options, name: str) -> Speeds:
    """The speed of one run with that sink."""
    moments: list[tuple[str, int, dict[str, float]]] = []

    def note(progress: Progress) -> None:
        moments.append((progress.phase, progress.step, {clock: read() for clock, read in CLOCKS.items()}))

    names = LOCAL if name == "all" else () if name == "none" else (name,)
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        keys: dict[str, Any] = {**read_words(options.words.split()), "sinks": list(names), "base_exp_path": os.path.join(folder, "out")}
        api.train("ppo", options.env, steps=options.steps, store=os.path.join(folder, "store"), on_progress=note, **keys)
    _, begin, first = next(moment for moment in moments if moment[0] == "training")
    _, end, last = moments[-1]
    return {clock: (end - begin) / (last[clock] - first[clock]) for clock in CLOCKS}

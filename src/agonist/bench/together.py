"""Many seeds in one go: how fast they train together beside one alone, and how often a sweep over rates compiles.

Each round trains one seed, then all of them, in this process, from cold numbers of the store but a warm program. `ratio` is the aggregate
environment steps a second of all over that of the one. Out: the rounds, their median, wall seconds, and the number of times that the
training program was compiled for four rates.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from agonist.bench import rounded, say
from agonist.types import option


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    steps: int = option(400_000, "environment steps of a run", span=(1, None))
    seeds: int = option(10, "seeds that train together", span=(2, None))
    rounds: int = option(5, "how often, in turn", span=(1, None))


def measure(options: Options) -> dict[str, Any]:
    compiled = _compilations(options)
    rounds = []
    for number in range(options.rounds):
        one, alone = _trained(options, 1)
        many, together = _trained(options, options.seeds)
        rounds.append(rounded({"one": one, "together": many, "ratio": many / one, "seconds_one": alone, "seconds_together": together}))
        say(f"round {number + 1}: {rounds[-1]}")
    return {
        "env": options.env,
        "steps": options.steps,
        "seeds": options.seeds,
        "devices": _devices(),
        "rounds": rounds,
        "ratio": statistics.median(each["ratio"] for each in rounds),
        "compilations_for_four_rates": compiled,
    }


def _trained(options: Options, seeds: int) -> tuple[float, float]:
    """(environment steps a second of all together, wall seconds)"""
    from agonist import api
    from agonist.runs import folder

    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        sweep = api.sweep("ppo", options.env, seeds=seeds, steps=options.steps, store=place, jobs=1)
        seconds = time.perf_counter() - began
        return float(folder.read_run(sweep.store, sweep.id)["summary"]["final"]["perf/env_steps_per_second"]), seconds


def _compilations(options: Options) -> int:
    """Of the training program, which jax calls `chunk`, for four rates."""
    import jax

    from agonist import api

    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    ear, log = Ear(), logging.getLogger("jax")
    log.addHandler(ear)
    jax.config.update("jax_log_compiles", True)
    try:
        with tempfile.TemporaryDirectory() as place:
            api.sweep("ppo", options.env, over={"lr": [3e-4, 1e-3, 2e-3, 3e-3]}, steps=40_000, store=place, jobs=1)
    finally:
        jax.config.update("jax_log_compiles", False)
        log.removeHandler(ear)
    return sum("compilation of jit(chunk)" in line for line in said)


def _devices() -> list[str]:
    import jax

    return [f"{jax.device_count()} x {jax.devices()[0].device_kind}"]

"""Training speed over the number of environments: where it stops growing.

For each number: environment steps a second of whole chunks, median of `rounds`, and the seconds that compiling took. One shard: the
point is one accelerator's curve.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import jax

from agonist import assembly, specs
from agonist.bench import say
from agonist.types import option


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    envs: tuple[int, ...] = option((32, 256, 2048, 16384), "numbers of environments", span=(1, None))
    rounds: int = option(5, "measurements of each", span=(1, None))
    seconds: float = option(2.0, "length of one measurement", span=(0.1, None))
    words: str = option("", "more keys, between spaces")


def measure(options: Options) -> dict[str, Any]:
    from agonist.options import read_words

    rows = []
    for envs in options.envs:
        keys = {"algo": "ppo", "env": options.env, "envs": envs, "shards": 1, **read_words(options.words.split())}
        keys.setdefault("eval_every", min(32, max(1, 65_536 // envs)))  # chunks of a second or so, evaluation a small part of them
        spec = specs.resolve(keys)
        made = assembly.assemble(spec, lambda text: (_ for _ in ()).throw(ValueError(text)))
        seed = jax.random.key(0)
        began = time.perf_counter()
        reports = made.program.learn(made.program.init(seed, made.frozen), made.frozen, seed, 10**9)
        next(reports)
        compiling = time.perf_counter() - began
        next(reports)
        speeds = [_speed(reports, made.program.steps, options.seconds) for _ in range(options.rounds)]
        memory = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
        row = {"envs": envs, "median": round(statistics.median(speeds)), "all": [round(speed) for speed in speeds]}
        rows.append({**row, "compile_seconds": round(compiling, 1), "peak_mb": round(memory / 2**20)})
        say(str(rows[-1]))
    return {"env": options.env, "device": jax.devices()[0].device_kind, "jax": jax.__version__, "words": options.words, "rows": rows}


def _speed(reports: Any, steps: int, seconds: float) -> float:
    first, began = next(reports).update, time.perf_counter()
    while True:
        report = next(reports)
        taken = time.perf_counter() - began
        if taken >= seconds:
            return (report.update - first) * steps / taken

"""Why PPO's defaults are what they are: rates and discounts compared on one task, over several seeds, by one compiled program.

Each point is judged by the mean return of its last three evaluations of 128 episodes, and by the step of the first one that plays well.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import numpy as np

from agonist import assembly, specs
from agonist.bench import say
from agonist.stats.intervals import mean_interval
from agonist.types import option


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    steps: int = option(400_000, "environment steps of each run", span=(1, None))
    seeds: int = option(5, "seeds of each point", span=(1, None))
    lr: str = option("2.5e-4 1e-3 2e-3", "learning rates, between spaces")
    gamma: str = option("0.97 0.99", "discounts, between spaces")
    good: float = option(0.95, "the return that counts as playing well")


def measure(options: Options) -> dict[str, Any]:
    spec = specs.resolve({"algo": "ppo", "env": options.env, "eval_episodes": 128, "steps": options.steps})
    made = assembly.assemble(spec, lambda text: (_ for _ in ()).throw(ValueError(text)))
    points = []
    for lr, gamma in product(options.lr.split(), options.gamma.split()):
        runs = [_run(made, options, float(lr), float(gamma), seed) for seed in range(options.seeds)]
        mean, low, high = mean_interval([last for last, _ in runs])
        point = {"lr": float(lr), "gamma": float(gamma), "mean": round(mean, 3), "interval": [round(low, 3), round(high, 3)]}
        points.append({**point, "returns": [round(last, 3) for last, _ in runs], "first_good_step": [step for _, step in runs]})
        say(str(points[-1]))
    return {"env": options.env, "steps": options.steps, "good": options.good, "points": points}


def _run(made: assembly.Assembly, options: Options, lr: float, gamma: float, seed: int) -> tuple[float, int | None]:
    """The mean of the last three evaluations, and the step of the first good one."""
    key = jax.random.key(seed)
    state = made.program.init(key, made.frozen)
    [learner] = state.learners
    rates = {**learner.rates, **dict.fromkeys(("lr", "actor_lr", "critic_lr"), np.float32(lr)), "gamma": np.float32(gamma)}
    state = state._replace(learners=(learner._replace(rates=rates),))
    curve = []
    for report in made.program.learn(state, made.frozen, key, options.steps // made.program.steps):
        if report.evaluation is not None:
            curve.append((report.update * made.program.steps, float(np.mean(next(iter(report.evaluation.returns.values()))))))
    good = [step for step, value in curve if value >= options.good]
    return float(np.mean([value for _, value in curve[-3:]])), good[0] if good else None

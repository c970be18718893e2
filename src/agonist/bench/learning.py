"""Learning on games whose answer is known, over several seeds: what each seed reached, beside what counts as learned.

LBF's best return is 1.0. The lighthouse's optimum is exactly 1.0. CartPole's most is 500; 475 is its own threshold. The climbing game
pays 11 a round at its optimum; independent and centralised critics alike are published to settle on 7, 175 in 25 rounds
(Papoudakis et al. 2021, arXiv:2006.07869).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any, NamedTuple

from agonist.bench import say
from agonist.types import option


class Task(NamedTuple):
    algo: str
    env: str
    steps: float
    keys: dict[str, Any]
    learned: float  # the return that counts


CARTPOLE = {"envs": 16, "lr": 1e-3, "gamma": 0.99, "minibatches": 4, "horizon": 5e5}

TASKS = {
    "lbf": Task("ppo", "lbf:2s-8x8-2p-2f-coop", 4e5, {}, 0.95),
    "lbf-longer": Task("ppo", "lbf:2s-8x8-2p-2f-coop", 1e6, {}, 0.95),
    "lighthouse": Task("ppo", "lighthouse:2x2", 2e5, {}, 0.99),
    "cartpole": Task("ppo", "gymnasium:CartPole-v1", 3e5, CARTPOLE, 475.0),
    "climbing-independent": Task("ippo", "matrix:climbing", 1e6, {}, 174.0),
    "climbing-central": Task("mappo", "matrix:climbing", 1e6, {}, 174.0),
}


@dataclass(frozen=True)
class Options:
    seeds: int = option(5, "seeds of each task", span=(1, None))
    first: int = option(0, "the first seed", span=(0, None))
    only: str = option("", "one task alone", choices=("", *TASKS))


def measure(options: Options) -> dict[str, Any]:
    rows = {name: _learn(name, task, options) for name, task in TASKS.items() if options.only in ("", name)}
    return {"seeds": options.seeds, "first_seed": options.first, "tasks": rows}


def _learn(name: str, task: Task, options: Options) -> dict[str, Any]:
    from agonist import api  # it brings jax, which this module's listing does not need

    with tempfile.TemporaryDirectory() as place:
        keys = {**task.keys, "steps": task.steps}
        told = api.sweep(task.algo, task.env, seeds=options.seeds, seed=options.first, store=place, **keys).report
        results, [summary] = told["runs"], told["summary"]
    returns = [round(float(result["eval/return"]), 4) for result in results]
    row = {
        "algo": task.algo,
        "env": task.env,
        "steps": int(task.steps),
        "keys": task.keys,
        "learned_at": task.learned,
        "returns": returns,
        "learned": sum(value >= task.learned for value in returns),
        "mean": round(summary["mean"], 4),
        "interval": [round(bound, 4) for bound in summary["interval"]],
    }
    say(f"{name}: {row['learned']} of {len(returns)} reached {task.learned}: {returns}")
    return row

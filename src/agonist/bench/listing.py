"""How long a store of many runs takes to be listed: whole commands, from the start of the process to the end.

The runs are made up, with the summaries that real ones have: the whole spec, the last value of each metric, final figures; one in twenty
is tagged. For `cold` the system is first told to forget what it has read of them (where it has such a call; else it is null).
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agonist.bench import say
from agonist.checkpoints import pretty_json
from agonist.runs import folder, marks
from agonist.runs.store import open_store
from agonist.types import option

FILTER = 'algo = "ppo" and env ~ "lbf" and eval/return > 0.9 and tag:paper'
COMMANDS = {
    "newest_20": ["--limit", "20", "--json"],
    "filter": [FILTER, "--json"],
    "best_20": ["--sort", "-eval/return", "--limit", "20", "--json"],
    "all_drawn": [],
    "all_json": ["--json"],
}


@dataclass(frozen=True)
class Options:
    runs: int = option(10_000, "runs in the store", span=(1, None))
    rounds: int = option(9, "times each command is run", span=(1, None))


def measure(options: Options) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        say(f"making {options.runs:,} runs")
        size = make(place, options.runs)
        found: dict[str, Any] = {"runs": options.runs, "summary_bytes": size, "filter": FILTER}
        found["empty_command_seconds"] = _summary([_seconds([sys.executable, "-m", "agonist", "--version"]) for _ in range(options.rounds)])
        for name, words in COMMANDS.items():
            command = [sys.executable, "-m", "agonist", "runs", "list", *words, "--store", place]
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            found[f"{name}_runs"] = len(json.loads(said)["runs"]) if "--json" in words else said.count(b"\n") - 2
            found[f"{name}_seconds"] = _summary([_seconds(command) for _ in range(options.rounds)])
            say(f"{name}: {found[f'{name}_seconds']}")
        command = [sys.executable, "-m", "agonist", "runs", "list", *COMMANDS["newest_20"], "--store", place]
        found["cold_seconds"] = _summary([_seconds(command) for _ in range(3) if _forget(place)])
    return found


def make(place: str, count: int) -> float:
    """A store of that many runs, and the bytes of a summary."""
    store, chance = open_store(place), random.Random(0)
    for i in range(count):
        run = _run(i, chance)
        home = Path(place) / "runs" / run["id"]
        home.mkdir(parents=True)
        (home / "run.json").write_bytes(pretty_json(run))
        (home / "summary.json").write_bytes(pretty_json(_summary_of(run, chance)))
        if i % 20 == 0:
            marks.change(store, run["id"], marks.tag("paper"))
    return statistics.mean(path.stat().st_size for path in Path(place).glob("runs/*/summary.json"))


def _run(i: int, chance: random.Random) -> dict[str, Any]:
    created = 1.7e9 + 60 * i
    spec = {
        "algo": chance.choice(["ppo", "mappo", "ippo"]),
        "env": chance.choice(["lbf:2s-8x8-2p-2f-coop", "rware:tiny-4ag"]),
        "seed": i % 10,
    }
    spec |= {"steps": 400_000, "lr": chance.choice([1e-4, 3e-4, 1e-3]), "hidden": [128, 128]}
    spec |= {f"{key}": round(chance.random(), 3) for key in KEYS.split()}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000+00:00", time.gmtime(created))
    run_id = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created)) + f"-calm-heron{i}"
    return {"format": folder.FORMAT, "id": run_id, "kind": "train", "created": stamp, "spec": spec, "parents": []}


KEYS = """
gamma gae_lambda clip entropy value_coef max_grad_norm rollout epochs minibatches critic torso activation recurrent memory chunk share
agent_id normalise_obs value_clip envs shards eval_every eval_episodes env.sight env.penalty use_json use_tb use_neptune save_model
"""
METRICS = """
loss/policy loss/value policy/entropy policy/kl policy/clip_fraction value/explained grad/actor grad/critic rate/lr train/return
train/length train/episodes eval/return_low eval/return_high eval/length
"""


def _summary_of(run: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    score = chance.random()
    final = {
        "policy": "a" * 20,
        "policy_last": "b" * 20,
        "best_step": 400_000,
        "eval/return": score,
        "eval/interval": [score - 0.01, score + 0.01],
    }
    final |= {"eval/episodes": 320, "eval/play": "sampled", "perf/env_steps_per_second": 1e5, "wall_seconds": 20.0}
    last = {name: chance.random() for name in METRICS.split()} | {"eval/return": score, "perf/env_steps_per_second": 1e5}
    return folder.first_summary(run) | {"status": "finished", "steps": 400_000, "total": 400_000, "last": last, "final": final}


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - began


def _summary(seconds: Sequence[float]) -> dict[str, float] | None:
    return (
        {"median": round(statistics.median(seconds), 3), "least": round(min(seconds), 3), "most": round(max(seconds), 3)}
        if seconds
        else None
    )


def _forget(place: str) -> bool:
    """Whether the system could be told to forget what it keeps of these files in memory."""
    if not hasattr(os, "posix_fadvise"):
        return False
    os.sync()
    for path in Path(place).glob("runs/*/**/*.json"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True

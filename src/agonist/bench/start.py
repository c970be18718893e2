"""What a person waits for: from the start of the process to agents that play well, with nothing compiled yet and with all of it.

Each round is a fresh process that does what a user's does: `agonist train ppo ENV`, evaluating 128 fresh sampled episodes at each point.
The time is that of the first evaluation of at least `good`, read from the run's own metrics. Then the run is resumed by another process:
how long until its first update.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agonist.bench import say
from agonist.runs import folder
from agonist.runs.store import open_store
from agonist.types import option

RUNNER = """
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    good: float = option(0.95, "the return that counts as playing well")
    steps: int = option(400_000, "environment steps at most")
    rounds: int = option(5, "processes with a cold cache, and as many with a warm one", span=(1, None))
    seed: int = option(0, "the first round's seed")
    words: str = option("", "more keys, between spaces")


def measure(options: Options) -> dict[str, Any]:
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as place:
        for i in range(options.rounds):
            shutil.rmtree(Path(place) / "cache", ignore_errors=True)
            cold.append(_round(options, Path(place), options.seed + i))
            warm.append(_round(options, Path(place), options.seed + i))
            say(f"round {i + 1}: cold {cold[-1]}, warm {warm[-1]}")
        long = _process(options, Path(place), 0, steps=1_000_000)
    python = _seconds([sys.executable, "-c", "pass"])
    return {
        "env": options.env,
        "good": options.good,
        "words": options.words,
        "cold": cold,
        "warm": warm,
        "cold_seconds_median": _median(cold),
        "warm_seconds_median": _median(warm),
        "resume_seconds_median": round(statistics.median(each["seconds_to_resume"] for each in warm), 2),
        "peak_memory_mb": long["memory_mb"],
        "folder_kb_beside_checkpoints_1e6_steps": long["folder_kb"],
        "import_seconds": _seconds([sys.executable, "-c", "import agonist"]),
        "help_seconds": _seconds([sys.executable, "-m", "agonist", "--help"]),
        "bare_python_seconds": python,
    }


def _median(rounds: list[dict[str, Any]]) -> float | None:
    """None where a round never played well."""
    times = [each["seconds_to_good"] for each in rounds]
    return None if None in times else round(statistics.median(times), 2)


def _round(options: Options, place: Path, seed: int) -> dict[str, Any]:
    return {"seed": seed, **_process(options, place, seed, options.steps)}


def _process(options: Options, place: Path, seed: int, steps: int) -> dict[str, Any]:
    store = Path(tempfile.mkdtemp(dir=place))
    words = ["ppo", options.env, "eval_episodes=128", *options.words.split(), "--steps", str(steps), "--seed", str(seed)]
    began = time.time()
    said = _agonist(place, store, words)
    wall = time.time() - began
    opened = open_store(str(store))
    [run] = folder.list_runs(opened)
    step, when, value = folder.read_metrics(opened, run["id"], ["eval/return"])["eval/return"]
    good = [i for i in range(len(step)) if value[i] >= options.good]
    reached, again = run["steps"], time.time()
    _agonist(place, store, ["--resume", run["id"], "--steps", str(reached + steps // 4)])
    step_after, when_after, _ = folder.read_metrics(opened, run["id"], ["loss/policy"])["loss/policy"]
    files = [path for path in store.rglob("*") if path.is_file() and "checkpoints" not in path.parts]
    return {
        "seconds_to_good": round(float(when[good[0]]) - began, 2) if good else None,
        "step": int(step[good[0]]) if good else None,
        "then": [round(float(value[i]), 3) for i in range(good[0], len(step))] if good else [],
        "final": run["final"].get("eval/return"),
        "wall_seconds": round(wall, 2),
        "seconds_to_resume": round(float(when_after[step_after > reached][0]) - again, 2),
        "memory_mb": round(int(said.strip().splitlines()[-1]) / 1024),
        "folder_kb": round(sum(path.stat().st_size for path in files) / 1024),
    }


def _agonist(place: Path, store: Path, words: list[str]) -> str:
    """Train in a process of its own, as a user does; what it says on stdout."""
    command = [sys.executable, "-m", "agonist", "train", *words, "--store", str(store), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, *command],
        env={**os.environ, "AGONIST_CACHE": str(place / "cache")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def _seconds(command: list[str], times: int = 9) -> float:
    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - began

    return round(statistics.median(once() for _ in range(times)), 3)

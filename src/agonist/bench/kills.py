"""What a kill costs: nothing. A small run, or a sweep of such runs, is killed (-9) at a random instant and resumed, again and again.

Each round is one of its own through the command line: killed somewhere between its first file and its end, looked at, resumed to the end.
Its policies and its ledger, byte by byte, must be those of the run that nobody killed; of a sweep all runs, none lost and none double.
Out: how many rounds, where each was killed, and whether it came out equal.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agonist.bench import say
from agonist.runs import folder
from agonist.runs.folder import at
from agonist.runs.store import Store, open_store
from agonist.types import option


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    steps: int = option(400_000, "environment steps of the run", span=(1, None))
    rounds: int = option(20, "kills", span=(1, None))
    seed: int = option(0, "the run's seed")
    chance: int | None = option(None, "the seed of the instants; drawn, and told, where none is given")
    words: str = option("eval_every=1", "more words, between spaces: keys, --seeds")


def measure(options: Options) -> dict[str, Any]:
    chance = random.SystemRandom().randrange(10**9) if options.chance is None else options.chance
    draw = random.Random(chance)
    with tempfile.TemporaryDirectory() as place:
        _until_killed(options, Path(place) / "warm", 0.0)  # what comes after it finds its program compiled
        _resumed(open_store(str(Path(place) / "warm")))
        straight, seconds, _ = _until_killed(options, Path(place) / "straight", None)
        expected = _outcome(straight)
        rounds: list[dict[str, Any]] = []
        while len(rounds) < options.rounds:
            store, after, killed = _until_killed(options, Path(place) / f"{len(rounds)}-{draw.random()}", draw.uniform(0, seconds))
            if killed:  # else it was done before
                rounds.append({"seconds": round(after, 3), **_found(store, options), **_resumed(store, expected)})
                say(f"round {len(rounds)}: {rounds[-1]}")
    return {
        "env": options.env,
        "steps": options.steps,
        "words": options.words,
        "chance": chance,
        "seconds_of_a_run": round(seconds, 2),
        "rounds": len(rounds),
        "equal": sum(each["equal"] for each in rounds),
        "killed_while": dict(Counter(each["phase"] for each in rounds)),
        "each": rounds,
    }


def _words(store: str) -> list[str]:
    return [sys.executable, "-m", "agonist", "train", "--store", store, "--json"]


def _until_killed(options: Options, place: Path, seconds: float | None) -> tuple[Store, float, bool]:
    """Start a run; kill its process so many seconds after its first file, or never. (its store, seconds that it had, whether killed)"""
    told = ["--steps", str(options.steps), "--seed", str(options.seed), *options.words.split()]
    words = [*_words(str(place)), "ppo", options.env, *told]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        while process.poll() is None and not any(place.glob("runs/*/run.json")):
            time.sleep(0.002)
        began = time.perf_counter()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        code = process.wait()
        if code > 0:
            said.seek(0)
            raise RuntimeError(f"{' '.join(words)} ended with {code}: {said.read()[-500:].decode(errors='replace')}")
    killed = _whole(open_store(str(place)))["status"] != "finished"
    return open_store(str(place)), time.perf_counter() - began, killed


def _found(store: Store, options: Options) -> dict[str, Any]:
    """Where the kill came, as the store tells: it must list and show whatever was left."""
    row = _whole(store)
    if row["status"] != "interrupted":
        raise RuntimeError(f"run {row['id']} was killed and is listed as {row['status']}")
    folder.read_run(store, row["id"])
    folder.read_metrics(store, row["id"])
    if row["kind"] == "sweep":
        begun = [each["status"] for each in folder.list_runs(store) if each["kind"] == "train"]
        return {"phase": f"{begun.count('finished')} runs finished, {len(begun) - begun.count('finished')} begun", "step": row["steps"]}
    kept = folder.checkpoints(store, row["id"])
    step = kept[-1].step if kept else None
    done = step is not None and options.steps - step < (kept[-1].step // kept[-1].update if kept[-1].update else options.steps)
    return {"phase": "compiling" if step is None else "final evaluation" if done else "training", "step": step}


def _resumed(store: Store, expected: Any = None) -> dict[str, Any]:
    """Resume to the end, and compare."""
    row = _whole(store)
    done = subprocess.run([*_words(store.url), "--resume", row["id"]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"resuming {row['id']} ended with {done.returncode}: {done.stderr[-500:]}")
    found = _outcome(store)
    told = json.loads(done.stdout)
    policies = sorted(each["policy"] for each in told.get("runs", [told]))
    if policies != sorted(each["policy"] for each in found):
        raise RuntimeError(f"run {row['id']} says other policies than it holds")
    return {"equal": found == expected}


def _outcome(store: Store) -> list[dict[str, Any]]:
    """All that must not depend on having been killed."""
    rows = [row for row in folder.list_runs(store) if row["kind"] == "train"]
    return sorted((_outcome_of(store, row) for row in rows), key=lambda told: str(told["spec"]))


def _outcome_of(store: Store, row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: row["final"].get(name) for name in ("policy", "policy_last", "eval/return", "eval/interval", "best_step")}
    return {**kept, "spec": row["spec"], "status": row["status"], "ledger": store.get(at(row["id"], "ledger.jsonl"))}


def _whole(store: Store) -> dict[str, Any]:
    """The sweep, or the run that is alone."""
    [row] = [row for row in folder.list_runs(store) if not row.get("parent")]
    return row

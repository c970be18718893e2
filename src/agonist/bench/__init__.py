"""Measurements that a claim of speed carries: `agonist bench NAME [key=value ...]` -> a JSON object, written to `bench/NAME.json`.

Ratios are taken within one run, several times, because machines differ and are noisy. Every file names its machine and commit.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agonist.options import fill, nearest, read_words

NAMES = {
    "train": "training speed beside its own limit (the update's matrix products), and beside another program's",
    "start": "from the start of the process to agents that play well, with an empty and with a warm cache; memory, folder, imports",
    "scale": "training speed over the number of environments, for accelerators",
    "together": "many seeds trained together beside one alone, and how often a sweep over rates compiles",
    "learning": "games with known answers learned over several seeds: what each seed reached",
    "sweep": "PPO's rates and discounts compared on one task: why the defaults are what they are",
    "listing": "a store of 10,000 runs listed, filtered and sorted, whole commands, with a warm and a cold cache of files",
    "sinks": "training speed with each of the local sinks beside training with none",
    "kills_sweep": "sweeps killed at random instants and resumed: whether any result was lost or doubled",
    "kills": "runs killed at random instants and resumed: how many came out equal to one that nobody killed",
}


def run(name: str, words: list[str]) -> dict[str, Any]:
    """Measure, write down, return."""
    if name not in NAMES:
        raise ValueError(f"no bench {name!r}{nearest(name, NAMES)}")
    module = importlib.import_module(f"agonist.bench.{name}")
    given: dict[str, Any] = dict(read_words(words))
    out = given.pop("out", str(Path("bench") / f"{name}.json"))
    began = time.perf_counter()
    found = {"bench": name, **machine(), **module.measure(fill(module.Options, given, f"bench {name}"))}
    found["seconds"] = round(time.perf_counter() - began, 1)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
    return found


def machine() -> dict[str, Any]:
    from agonist.devices import cores

    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "machine": {"cpu": _cpu(), "cores": cores(), "system": platform.platform(), "python": platform.python_version()},
        "commit": f"{commit}{' with changes' if changed else ''}",
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in values.items()}

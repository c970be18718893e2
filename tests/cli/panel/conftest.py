"""Reports as a run's watcher gets them, and a stream of those of many runs."""

import io
import math
import random
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from agonist.cli import panel


@dataclass(frozen=True)
class Told:
    """As `agonist.training.Progress`, which imports jax."""

    run: str = "20261119-214342-fast-hoopoe"
    phase: str = "training"
    step: int = 0
    total: int = 1000
    seconds: float = 1.0
    values: dict = field(default_factory=dict)
    evaluated: int | None = None
    label: str = ""
    why: str = ""


VALUES = {
    "eval/return": 0.5,
    "eval/return_low": 0.4,
    "eval/return_high": 0.6,
    "perf/env_steps_per_second": 88000.4,
    "loss/policy": -0.001,
    "loss/value": 0.02,
    "policy/entropy": 1.1,
    "value/explained": 0.25,
}


def report(**fields):
    return Told(**fields)


def stream(labels, chunks=10, total=1000, failing=(), at_once=4):
    """Interleaved reports of runs that train a few at a time; run i learns to 0.1 i, those that fail do so after three chunks."""
    rng, waiting, live, done = random.Random(0), list(labels), [], dict.fromkeys(labels, 0)
    while waiting or live:
        while waiting and len(live) < at_once:
            live.append(waiting.pop(0))
            yield Told(run=f"run-{labels.index(live[-1])}", phase="compiling", total=total, label=live[-1])
        label = rng.choice(live)
        done[label] += 1
        step, number = done[label] * total // chunks, labels.index(label)
        mean = 0.1 * number * (1 - math.exp(-done[label]))
        told = {"run": f"run-{number}", "step": step, "total": total, "label": label, "evaluated": step}
        values = {**VALUES, "eval/return": mean, "eval/return_low": mean - 0.05, "eval/return_high": mean + 0.05}
        fails = label in failing and done[label] == 3
        yield Told(**told, phase="failed" if fails else "training", values=values)
        if done[label] == chunks:
            yield Told(**told, phase="finished", values=values)
        if fails or done[label] == chunks:
            live.remove(label)


def drawn(drawing, width, height=40, encoding="utf-8"):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=out, width=width, height=height, force_terminal=False, legacy_windows=False)
    console.print(drawing)
    out.flush()
    return out.buffer.getvalue().decode(encoding)


@pytest.fixture
def values():
    return dict(VALUES)


@pytest.fixture(name="report")
def _report():
    return report


@pytest.fixture(name="stream")
def _stream():
    return stream


@pytest.fixture(name="drawn")
def _drawn():
    return drawn


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand: clock[0] seconds."""
    at = [100.0]
    for module in (panel.one, panel.many):
        monkeypatch.setattr(module.time, "monotonic", lambda: at[0])
    return at

"""A run that is told of, and what it tells."""

from pathlib import Path

import pytest

from agonist.sinks import Beginning, LogConfig, open_sinks

RUN = "20261119-211433-calm-heron"
SPEC = {"algo": "ppo", "env": "lbf:2s-8x8", "seed": 3, "lr": 1e-3, "hidden": [8]}
UPDATE = 64  # steps


@pytest.fixture
def foreign(monkeypatch):
    """`foreign_sinks` can be imported, here and in child processes."""
    folder = str(Path(__file__).parent / "plugin")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder)


@pytest.fixture
def told(tmp_path):
    """Open sinks by name, tell them of evaluations 0..`last` (each after two updates), or of those behind the checkpoint of evaluation
    `behind`, close them. Evaluation k gives the returns k and k + 2, its last update's loss is k."""

    def tell(*names, behind=None, last=3, absolute=True, close=True, log=None, patience=15.0, **beginning):
        config = LogConfig(base_exp_path=str(tmp_path / "out"), sinks=names)
        sinks = open_sinks(
            config, Beginning(**{"run": RUN, "spec": SPEC, "step": (behind or 0) * 2 * UPDATE, "log": log} | beginning), patience
        )
        for k in range(0 if behind is None else behind + 1, last + 1):
            step = k * 2 * UPDATE
            if k:
                sinks.metrics(step - UPDATE, {"loss/policy": k - 0.5})
                sinks.metrics(step, {"loss/policy": float(k)})
            sinks.metrics(step, {"eval/return": k + 1.0} | ({"perf/env_steps_per_second": 1000.0 * k} if k else {}))
            sinks.evaluation(step, {"agents": [k, k + 2.0]}, [5, 7], False)
        if absolute:
            sinks.evaluation(step, {"agents": [4.0, 8.0] * 10}, [5, 7] * 10, True)
        if close:
            sinks.close("finished" if absolute else "interrupted", {"eval/return": 6.0}, {})
        return sinks

    tell.base = tmp_path / "out"
    return tell

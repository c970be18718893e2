"""A run that is told of, and what it tells."""

from pathlib import Path

import pytest

from agonist.sinks import Beginning, Evaluation, LogConfig, Past, Point, open_sinks, settle

RUN = "20261119-211433-calm-heron"
SPEC = {"algo": "ppo", "env": "lbf:2s-8x8", "seed": 3, "lr": 1e-3, "hidden": [8]}
UPDATE = 64  # steps


@pytest.fixture
def foreign(monkeypatch):
    """`foreign_sinks` can be imported, here and in child processes."""
    folder = str(Path(__file__).parent / "plugin")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder)


def calls_of(k):
    """What training tells of evaluation k, after two updates: the returns k and k + 2, a loss of k."""
    step = k * 2 * UPDATE
    updates = [(step - UPDATE, {"loss/policy": k - 0.5}), (step, {"loss/policy": float(k)})] if k else []
    speed = {"perf/env_steps_per_second": 1000.0 * k} if k else {}
    return [*updates, (step, {"eval/return": k + 1.0} | speed)], (step, {"agents": [k, k + 2.0]}, [5, 7])


def past_of(k, began=1000.0):
    """What a run has measured up to evaluation k; a second an evaluation, from `began` on."""
    points = [Point(step, began + i, values) for i in range(k + 1) for step, values in calls_of(i)[0]]
    return Past(points, [Evaluation(step, began + i, *rest, False) for i in range(k + 1) for step, *rest in [calls_of(i)[1]]])


@pytest.fixture
def told(tmp_path):
    """Open sinks by name, tell them of evaluations 0..`last`, or of those behind the checkpoint of evaluation `behind`; close them."""

    def tell(*names, behind=None, last=3, absolute=True, close=True, log=None, patience=15.0, **beginning):
        config = LogConfig(base_exp_path=str(tmp_path / "out"), sinks=names)
        taken_up = {} if behind is None else {"step": behind * 2 * UPDATE, "past": lambda: past_of(behind)}
        sinks = open_sinks(config, Beginning(**{"run": RUN, "spec": SPEC, "log": log} | taken_up | beginning))
        for k in range(0 if behind is None else behind + 1, last + 1):
            points, (step, *found) = calls_of(k)
            for point in points:
                sinks.metrics(*point)
            sinks.evaluation(step, *found, False)
        if absolute:
            sinks.evaluation(step, {"agents": [4.0, 8.0] * 10}, [5, 7] * 10, True)
        if close:
            sinks.close("finished" if absolute else "interrupted", {"eval/return": 6.0}, {})
            settle(patience)
        return sinks

    tell.base = tmp_path / "out"
    return tell

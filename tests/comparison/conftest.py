"""Runs without training: as many as wanted, with the curve that is given."""

import time

import pytest

from agonist.runs import create, open_store


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def write(store):
    def write(curve, *, final=None, status="finished", parent=None, metric="eval/return", kind="train", **keys):
        """A run with the values of a curve at steps 0, 100, 200 ..., and its id."""
        time.sleep(0.002)  # runs of one millisecond are in no order
        spec = {"algo": "ppo", "env": "matrix:rps", "steps": 400, "seed": 0, "lr": 0.001, **keys}
        out = create(store, kind, spec, parents=[parent] if parent else (), argv=[])
        for i, value in enumerate(curve):
            out.metrics(100 * i, {metric: value})
        out.heartbeat(100 * max(len(curve) - 1, 0))
        out.summarise(final={"eval/return": final} if final is not None else {})
        if status != "running":
            out.finish(status)
        return out.id

    return write

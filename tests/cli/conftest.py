"""Calling the command line in this process, and one tiny trained run for all to look at."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from agonist.cli import main

TINY = ("rollout=16", "envs=4", "hidden=[8]", "eval_every=1", "eval_episodes=4", "epochs=1", "shards=1")


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def call(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Said(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def agonist():
    return call


@pytest.fixture(scope="session")
def tiny():
    """Keys with which training takes a moment."""
    return TINY


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """(store, the JSON of a run in it): 5 updates of 64 steps on rock-paper-scissors."""
    store = str(tmp_path_factory.mktemp("store"))
    said = call("train", "ppo", "matrix:rps", *TINY, "--steps", "320", "--store", store, "--json")
    assert said.code == 0, said.err
    return store, said.json


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    """Who names no store writes none into the repository."""
    monkeypatch.setenv("AGONIST_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "AGONIST_TRACE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def script():
    """The words that start the command line as a process of its own."""
    return [sys.executable, "-m", "agonist"]

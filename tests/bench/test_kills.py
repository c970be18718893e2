"""The campaign of kills: what it reads from a store, and that an unequal run would be counted as one."""

import numpy as np
import pytest

from agonist import bench
from agonist.bench import kills
from agonist.checkpoints import PolicyContent
from agonist.runs import create, find_run, open_for_resume, open_store, writer


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


def live(store, steps, total=32, bit=0.0):
    """A run of updates of 8 steps, killed after so many of them; finished where it came to the end."""
    out = create(store, "train", {"algo": "none", "env": "x", "seed": 0}, argv=[])
    return go_on(out, 0, steps, total, bit)


def go_on(out, begin, steps, total=32, bit=0.0):
    policy = {}
    for step in range(begin + 8, steps + 1, 8):
        policy = {"agents": PolicyContent({"algo": "none"}, {"x": np.full(2, step + bit)})}
        out.metrics(step, {"loss/x": step + bit})
        out.checkpoint(step, step // 8, {"x": np.full(3, float(step))}, {}, policy)
    if steps == total:
        name = policy["agents"].name
        out.summarise(final={"policy": name, "policy_last": name, "eval/return": 1.0, "eval/interval": [0, 2], "best_step": steps})
        out.finish("finished")
    return out


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (0, {"phase": "compiling", "step": None}),
        (8, {"phase": "training", "step": 8}),
        (24, {"phase": "training", "step": 24}),
        (32, {"phase": "final evaluation", "step": 32}),
    ],
)
def test_where_a_kill_came(store, monkeypatch, steps, found):
    live(store, steps, total=10**6)
    monkeypatch.setattr("agonist.runs.folder.is_alive", lambda *args: False)
    assert kills._found(store, kills.Options(steps=39)) == found  # rounded down to 32


def test_a_run_that_lives_on_is_no_killed_one(store):
    live(store, 8)
    with pytest.raises(RuntimeError, match="was killed and is listed as running"):
        kills._found(store, kills.Options(steps=32))


def test_one_bit_is_not_equal(tmp_path):
    outcomes = []
    for place, bit in (("a", 0.0), ("b", 0.0), ("c", 2.0**-40)):
        store = open_store(str(tmp_path / place))
        live(store, 32, bit=bit)
        outcomes.append(kills._outcome(store))
    assert outcomes[0] == outcomes[1] != outcomes[2]
    assert outcomes[0][0]["ledger"]


def test_a_killed_and_resumed_run_is_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "refuse_if_written", lambda *args: None)
    straight, cut = open_store(str(tmp_path / "a")), open_store(str(tmp_path / "b"))
    live(straight, 32)
    live(cut, 16)
    out, content = open_for_resume(cut, find_run(cut, "latest"))
    go_on(out, content.info.step, 32)
    assert kills._outcome(cut) == kills._outcome(straight)


def test_it_is_among_what_can_be_measured():
    assert "kills" in bench.NAMES
    assert kills.Options().rounds == 20


def test_a_run_that_is_lost_or_double_is_seen(tmp_path):
    """Of a sweep all runs count: one too few and one too many are not equal."""
    outcomes = []
    for place, runs in (("a", 2), ("b", 2), ("c", 1), ("d", 3)):
        store = open_store(str(tmp_path / place))
        for _ in range(runs):
            live(store, 32)
        outcomes.append(kills._outcome(store))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] not in outcomes[2:]

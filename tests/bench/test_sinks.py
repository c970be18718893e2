"""The bench of sinks: its order, what it makes of its rounds, and one small run."""

import pytest

from agonist.bench import sinks


def test_costs_are_held_against_none_of_the_same_round():
    rounds = [
        [("none", {"wall": 100.0}), ("json", {"wall": 90.0}), ("none", {"wall": 80.0})],
        [("none", {"wall": 10.0}), ("json", {"wall": 9.5}), ("none", {"wall": 10.0})],
        [("none", {"wall": 10.0}), ("json", {"wall": 9.0}), ("none", {"wall": 10.0})],
    ]
    found = sinks.summary(rounds, "wall")
    assert found["rows"] == [{"sink": "json", "cost": 0.05, "all": [0.0, 0.05, 0.1]}]
    assert (found["noise"], len(found["none"])) == (0.0, 6)
    assert sinks.summary(rounds[:1], "wall")["noise"] == pytest.approx(0.2)


def test_rounds_are_in_turn_between_two_of_none(monkeypatch, capsys):
    order = []
    monkeypatch.setattr(sinks, "run", lambda options, name: order.append(name) or {"wall": 10.0, "cpu": 5.0})
    found = sinks.measure(sinks.Options(sinks=("csv", "tb"), rounds=2))
    assert order == ["none", "none", "csv", "tb", "none", "none", "tb", "csv", "none"]
    assert [row["cost"] for clock in ("wall", "cpu") for row in found[clock]["rows"]] == [0.0] * 4
    assert "round 1: none 10 (5), csv 10 (5)" in capsys.readouterr().err


def test_a_run_with_all_of_them():
    words = "rollout=16 envs=4 hidden=[8] eval_every=1 eval_episodes=4 epochs=1 shards=1"
    speeds = sinks.run(sinks.Options(env="matrix:climbing", steps=320, words=words), "all")
    assert set(speeds) == {"wall", "cpu"}
    assert all(speed > 0 for speed in speeds.values())

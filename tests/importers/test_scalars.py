"""TensorBoard's event files -> runs."""

import pytest

from agonist.importers import read
from agonist.sinks import Point
from agonist.sinks.events import head, scalars


def write(path, *events):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head(1.0) + b"".join(map(scalars, events)))
    return path


def test_a_file(tmp_path):
    path = write(
        tmp_path / "events.out.tfevents.1", Point(0, 10.0, {"rollout/ep_rew_mean": 1.5}), Point(5, 11.0, {"a": 2.0, "nan": float("nan")})
    )
    [one] = read(path, {"algo": "sac", "env": "gymnasium:CartPole-v1", "seed": "4", "return": "rollout/ep_rew_mean"})
    assert one.spec == {"algo": "sac", "env": "gymnasium:CartPole-v1", "seed": 4}
    assert [tuple(row) for row in one.rows] == [(0, 10.0, {"eval/return": 1.5}), (5, 11.0, {"a": 2.0})]


def test_a_folder_is_a_run_a_folder_and_what_was_resumed_is_superseded(tmp_path):
    write(tmp_path / "logs" / "one" / "events.out.tfevents.1", *(Point(step, 1.0, {"a": step}) for step in (1, 2, 3, 4)))
    write(tmp_path / "logs" / "one" / "events.out.tfevents.2", *(Point(step, 2.0, {"a": -step}) for step in (3, 5)))
    write(tmp_path / "logs" / "two" / "deep" / "x.tfevents", Point(1, 1.0, {"a": 1.0}), Point(1, 1.0, {"b": 2.0}))
    one, two = read(tmp_path / "logs", {})
    assert [(row.step, row.values["a"]) for row in one.rows] == [(1, 1), (2, 2), (3, -3), (5, -5)]
    assert [(row.step, dict(row.values)) for row in two.rows] == [(1, {"a": 1.0, "b": 2.0})]
    assert (one.spec["algo"], two.spec["algo"]) == ("one", "deep")


def test_what_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no event files"):
        read(tmp_path, {})
    (tmp_path / "a.tfevents").write_bytes(b"something else entirely")
    with pytest.raises(ValueError, match="is damaged, or no event file"):
        read(tmp_path / "a.tfevents", {})
    with pytest.raises(ValueError, match="steps below 0"):
        read(write(tmp_path / "b.tfevents", Point(-5, 1.0, {"a": 1.0})), {})
    with pytest.raises(ValueError, match="holds no figures"):
        read(write(tmp_path / "c.tfevents"), {})

"""Whether a machine computes the same twice."""

import numpy as np

from agonist.cli import repeats


def test_this_machine_repeats_itself():
    found = repeats.computed()
    assert found.same
    assert found.devices == 2
    assert found.sound
    assert "to the bit" in found.says("computed")


def test_a_machine_that_does_not(monkeypatch):
    drawn = iter([np.zeros(2), np.ones(2), np.zeros(2)])
    monkeypatch.setattr(repeats, "_learned", lambda devices: next(drawn))
    found = repeats.computed()
    assert (found.same, found.sound, found.apart) == (False, False, 0.0)
    assert "cannot be repeated" in found.says("computed")


def test_what_is_more_than_rounding_is_not_sound(monkeypatch):
    drawn = iter([np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([1.0, 2.1])])
    monkeypatch.setattr(repeats, "_learned", lambda devices: next(drawn))
    found = repeats.computed()
    assert found.same
    assert not found.sound
    np.testing.assert_allclose(found.apart, 0.05)


def test_training_is_compared_between_processes(monkeypatch):
    places = []

    def tensors(place, store):
        places.append(sorted(place))
        return {"w": np.full(2, 1.0 if "XLA_FLAGS" not in place else 1.0 + 1e-6)}

    monkeypatch.setattr(repeats, "_tensors", tensors)
    found = repeats.trained()
    assert places == [[], ["AGONIST_CACHE"], ["XLA_FLAGS"]]
    assert found.same
    assert found.sound
    assert found.apart > 0
    assert "2 devices: rounded differently" in found.says("trained")


def test_a_tiny_run_gives_its_parameters(tmp_path, tiny, monkeypatch):
    assert repeats.RUN[0] == "train"
    monkeypatch.setattr(repeats, "RUN", ("train", "ppo", "matrix:rps", *tiny, "--steps", "320", "--json"))  # compiled for others already
    found = repeats._tensors({}, str(tmp_path))
    assert len(found) > 2
    assert all(np.isfinite(tensor).all() for tensor in found.values())

"""Gymnasium through our interface equals Gymnasium stepped by hand; spaces; sentences."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from agonist import envs
from agonist.envs.adapters import gymnasium as adapter
from agonist.types import Box, Discrete, MultiDiscrete


class Told(gymnasium.Env):
    """Sees the seed's draw, ends as it is told, remembers the action."""

    def __init__(self, action_space=None, observation_space=None, ends: str = "terminated", after: int = 2) -> None:
        self.action_space = action_space or spaces.Discrete(3, start=-1)
        self.observation_space = observation_space or spaces.Box(-1e9, 1e9, (2,), np.float64)
        self.ends, self.after, self.taken = ends, after, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.episode = 0, float(self.np_random.integers(1_000_000))
        return self._see(), {}

    def step(self, action):
        self.taken.append(action)
        self.time += 1
        over = self.time >= self.after
        return self._see(), float(self.time), over and self.ends == "terminated", over and self.ends == "truncated", {}

    def _see(self):
        if isinstance(self.observation_space, spaces.Box):
            return np.array([self.episode, self.time])
        return self.observation_space.sample()


@pytest.fixture
def register():
    ids = []

    def add(**kwargs) -> str:
        name = f"Told{len(ids)}-v0"
        gymnasium.register(name, entry_point=Told, kwargs=kwargs)
        ids.append(name)
        return f"gymnasium:{name}"

    yield add
    for name in ids:
        del gymnasium.registry[name]


def test_cartpole_equals_gymnasium_by_hand() -> None:
    env, rng = envs.make("gymnasium:CartPole-v1"), np.random.default_rng(0)
    theirs = [gymnasium.make("CartPole-v1") for _ in range(3)]
    seen = [one.reset(seed=seed)[0] for one, seed in zip(theirs, (5, 6, 7), strict=True)]
    timestep = env.reset(np.array([5, 6, 7]))
    ends = 0
    for _ in range(120):
        np.testing.assert_array_equal(timestep.obs["agents"][:, 0], np.array(seen, np.float32))
        actions = rng.integers(0, 2, (3, 1))
        timestep, final = env.step({"agents": actions})
        for b, one in enumerate(theirs):
            obs, reward, terminated, truncated, _ = one.step(int(actions[b, 0]))
            np.testing.assert_array_equal(final.obs["agents"][b, 0], obs.astype(np.float32))
            assert final.reward["agents"][b, 0] == reward
            assert final.discount["agents"][b, 0] == 1 - terminated
            assert final.last[b] == (terminated or truncated)
            seen[b] = one.reset()[0] if final.last[b] else obs
            ends += int(final.last[b])
    assert ends > 5
    env.close()


@pytest.mark.parametrize(("ends", "discount"), [("terminated", 0), ("truncated", 1)])
def test_only_termination_ends_value(register, ends: str, discount: int) -> None:
    env = envs.make(register(ends=ends))
    first = env.reset(np.array([1, 2]))
    env.step({"agents": np.array([[0], [2]])})
    ahead, final = env.step({"agents": np.array([[1], [1]])})
    assert final.last.tolist() == [True, True]
    assert final.discount["agents"].tolist() == [[discount]] * 2
    assert final.reward["agents"].tolist() == [[2], [2]]
    assert final.obs["agents"][:, 0, 1].tolist() == [2, 2]
    assert ahead.obs["agents"][:, 0, 1].tolist() == [0, 0]
    assert not np.array_equal(ahead.obs["agents"][:, 0, 0], first.obs["agents"][:, 0, 0])
    assert (ahead.reward["agents"].tolist(), ahead.discount["agents"].tolist(), ahead.last.tolist()) == (
        [[0], [0]],
        [[1], [1]],
        [False] * 2,
    )


def inner(env) -> Told:
    return env._envs[0].unwrapped


def test_actions_reach_the_environment_in_its_own_numbers(register) -> None:
    cases = [
        (spaces.Discrete(3, start=-1), Discrete(3), [[2]], 1),
        (spaces.MultiDiscrete([2, 4], start=[0, 3]), MultiDiscrete((2, 4)), [[[1, 2]]], [1, 5]),
        (spaces.Box(-2, 2, (2,)), Box(-2, 2, (2,)), [[[1.5, 9]]], [1.5, 2]),
        (spaces.Box(np.array([-1, 0], np.float32), np.array([1, 4], np.float32)), Box(-1, 1, (2,)), [[[0.5, -0.5]]], [0.5, 1]),
    ]
    for space, ours, given, reached in cases:
        env = envs.make(register(action_space=space))
        assert env.spec.roles[0].action == ours
        timestep = env.reset(np.array([0]))
        assert (timestep.legal["agents"] is None) == isinstance(ours, Box)
        env.step({"agents": np.array(given)})
        np.testing.assert_allclose(inner(env).taken[-1], reached)
        assert space.contains(inner(env).taken[-1])


def test_observations_become_arrays(register) -> None:
    both = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))})
    env = envs.make(register(observation_space=both))
    assert env.spec.roles[0].obs == Box(0, 1, (5,))
    assert env.reset(np.array([0])).obs["agents"].shape == (1, 1, 5)
    image = spaces.Box(0, 255, (4, 4, 3), np.uint8)
    assert adapter._observation("x", image)[0] == Box(0, 255, (4, 4, 3), "uint8")


def test_a_smaller_and_a_larger_batch() -> None:
    env = envs.make("gymnasium:CartPole-v1")
    for batch in (4, 2, 5):
        assert env.reset(np.arange(batch)).obs["agents"].shape == (batch, 1, 4)
    env.close()


def test_settings_and_time_limit_reach_gymnasium() -> None:
    env = envs.make("gymnasium:Pendulum-v1", time_limit=7, settings='{"g": 1.5}')
    assert (env.spec.time_limit, inner(env).g) == (7, 1.5)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("gymnasium:CartPol-v1", {}, "no environment 'CartPol-v1'; did you mean CartPole-v1"),
        ("gymnasium:CartPole-v9", {}, "did you mean CartPole-v1"),
        ("gymnasium:CartPole-v1", {"settings": "{"}, "no JSON"),
        ("gymnasium:CartPole-v1", {"settings": '{"gravitas": 1}'}, "cannot be made"),
        ("gymnasium:CartPole-v1", {"setings": "{}"}, "did you mean settings"),
        ("gymnasium", {}, "name one"),
    ],
)
def test_says_what_is_wrong(name: str, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        envs.make(name, **options)


def test_what_cannot_be_an_array_is_refused(register) -> None:
    with pytest.raises(ValueError, match="no array of a fixed shape"):
        envs.make(register(observation_space=spaces.Sequence(spaces.Discrete(2))))
    with pytest.raises(ValueError, match="what can be played"):
        envs.make(register(action_space=spaces.MultiBinary(3)))

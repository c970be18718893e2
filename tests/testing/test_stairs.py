"""The tiny game keeps the rules of both interfaces, and its two forms play the same."""

import jax
import numpy as np

from agonist.testing import stairs
from agonist.testing.envs import EnvSuite, HostEnvSuite, random_actions, same


class TestCompiled(EnvSuite):
    def make(self):
        return stairs.compiled()


class TestHosted(HostEnvSuite):
    def make(self):
        return stairs.Hosted()


def test_the_two_forms_play_the_same():
    env, host, rng = stairs.compiled(), stairs.Hosted(), np.random.default_rng(0)
    (state, ahead), seen = env.reset(jax.random.split(jax.random.key(0), 4)), host.reset(np.arange(4))
    for _ in range(stairs.LIMIT):
        same(ahead, seen)
        if np.any(seen.last):
            break
        actions = random_actions(env.spec, seen, rng)
        state, ahead = env.step(state, actions)
        _, seen = host.step(actions)
    assert seen.last.any()


def test_an_episode_by_hand():
    host = stairs.Hosted()
    host.reset(np.arange(1))
    up = {"climbers": np.array([[2, 2, 0]]), "guide": np.array([[1]])}
    _, first = host.step(up)
    assert host.climb.heights.tolist() == [[3, 2, 0]]
    assert first.reward["climbers"].tolist() == [[4, 4, 4]]
    assert first.reward["guide"].tolist() == [[1]]
    assert first.legal["climbers"][0].tolist() == [[True, True, False], [True, True, True], [True, True, True]]
    _, second = host.step({"climbers": np.array([[1, 2, 0]]), "guide": np.array([[0]])})
    assert second.alive["climbers"].tolist() == [[False, False, True]]
    assert second.discount["climbers"].tolist() == [[0, 0, 1]]
    assert not second.last[0]
    host.step({"climbers": np.array([[0, 0, 2]]), "guide": np.array([[0]])})
    ahead, final = host.step({"climbers": np.array([[0, 0, 2]]), "guide": np.array([[0]])})
    assert final.last.tolist() == [True]
    assert final.discount["guide"].tolist() == [[0]]
    assert final.obs["climbers"][0, :, 0].tolist() == [4, 4, 4]
    assert ahead.obs["climbers"].tolist() == [[[0, 0]] * 3]
    assert (host.steps, host.resets) == (4, 1)

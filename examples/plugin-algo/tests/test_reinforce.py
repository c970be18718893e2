"""Every rule of an algorithm holds, its returns are those of a plain loop, and it learns a game with a known answer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agonist_reinforce.reinforce import ReinforceConfig, make_reinforce, returns_of

from agonist import envs
from agonist.testing.algorithms import AlgorithmSuite, gather, random_play, team
from agonist.types import Box, Discrete


class TestReinforce(AlgorithmSuite):
    role = team(Discrete(4))
    config = ReinforceConfig(rollout=8, hidden=8)

    def make(self, config, axes=()):
        return make_reinforce(config, self.role, axes)


def test_returns_are_those_of_a_plain_loop():
    role, gamma = team(Discrete(3)), 0.9
    algorithm = make_reinforce(ReinforceConfig(rollout=6), role)
    play = random_play(role, np.random.default_rng(0), 6)
    batch = jax.jit(lambda state: gather(algorithm, state, play, jax.random.key(1)))(algorithm.init(jax.random.key(0)))
    t = jax.tree.map(np.asarray, batch.transition)
    wanted = np.zeros(t.reward.shape)
    for b, n in np.ndindex(*t.reward.shape[1:]):
        total = 0.0
        for step in reversed(range(6)):
            cut = step == 5 or t.last[step, b]
            rest = t.extras["next_value"][step, b, n] if cut else total
            total = t.reward[step, b, n] + gamma * t.discount[step, b, n] * rest
            wanted[step, b, n] = total
    np.testing.assert_allclose(jax.jit(returns_of)(batch, jnp.float32(gamma)), wanted, rtol=1e-4, atol=1e-5)


def test_it_learns_which_coin_to_show():
    """Heads alone is paid: after some updates, heads is all that is shown."""
    role = team(Discrete(2), agents=1)
    algorithm = make_reinforce(ReinforceConfig(rollout=4, hidden=8, lr=0.3), role)
    before, after = random_play(role, np.random.default_rng(0), 4, 32)
    before, after = (moment._replace(legal=np.ones_like(moment.legal)) for moment in (before, after))

    @jax.jit
    def improved(state, key):
        batch = gather(algorithm, state, (before, after), key)
        paid = batch.transition._replace(reward=(batch.transition.actions == 0).astype(jnp.float32), discount=0 * after.discount)
        return algorithm.update(state, batch._replace(transition=paid), key)[0]

    state = algorithm.init(jax.random.key(0))
    for seed in range(30):
        state = improved(state, jax.random.key(seed))
    shown, _, _ = algorithm.act(algorithm.policy(state), jax.tree.map(lambda leaf: leaf[0], before), (), jax.random.key(99))
    assert np.mean(np.asarray(shown) == 0) > 0.9


def test_real_numbers_are_refused():
    role = team(Box(-1.0, 1.0, (2,)))
    with pytest.raises(ValueError, match="one choice out of several"):
        make_reinforce(ReinforceConfig(), role)


def test_it_fits_an_environment_of_agonist():
    role = envs.make("matrix:climbing").spec.roles[0]
    assert make_reinforce(ReinforceConfig(), role).plan.rollout == 64

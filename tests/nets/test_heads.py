"""Heads, chains and identities."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from agonist.nets import heads, torso


def test_a_chain_is_one_after_another():
    first, last = torso.mlp((8,)), heads.head(3, 0.01)
    net = heads.chain(first, last)
    params = net.init(np.random.default_rng(0), (5,))
    x = jnp.asarray(np.random.default_rng(1).normal(size=(4, 2, 5)), jnp.float32)
    assert_allclose(net.apply(params, x), last.apply(params["net_1"], first.apply(params["net_0"], x)))
    assert params["net_1"]["w"].shape == (8, 3)


def test_a_chain_knows_the_sizes_of_pixels():
    net = heads.chain(torso.cnn((2,), width=7), torso.mlp((4,)), heads.head(1, 1.0))
    params = net.init(np.random.default_rng(0), (6, 5, 3))
    assert net.apply(params, jnp.ones((2, 6, 5, 3))).shape == (2, 1)


def test_a_first_policy_is_nearly_uniform():
    net = heads.chain(torso.mlp((64, 64)), heads.head(6, 0.01))
    x = jnp.asarray(np.random.default_rng(1).normal(size=(100, 17)), jnp.float32)
    odds = jax.nn.softmax(net.apply(net.init(np.random.default_rng(0), (17,)), x))
    assert_allclose(odds, 1 / 6, atol=0.03)


def test_agents_are_told_who_they_are():
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(3, 2, 4)), jnp.float32)
    told = heads.agent_id(obs, seats=(2, 0), agents=3)
    assert told.shape == (3, 2, 7)
    assert_array_equal(told[..., :4], obs)
    assert_array_equal(told[1, :, 4:], [[0, 0, 1], [1, 0, 0]])

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
    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, 4)), jnp.float32)
    assert_allclose(net.apply(params, x), last.apply(params["net_1"], first.apply(params["net_0"], x)), rtol=1e-6)
    assert params["net_1"]["w"].shape == (3, 8)


def test_a_chain_knows_the_sizes_of_pixels():
    net = heads.chain(torso.cnn((2,), width=7), torso.mlp((4,)), heads.head(1, 1.0))
    params = net.init(np.random.default_rng(0), (6, 5, 3))
    assert params["net_1"]["layer_0"]["w"].shape == (4, 7)
    assert jax.eval_shape(net.apply, params, jax.ShapeDtypeStruct((2, 6, 5, 3), jnp.float32)).shape == (1, 2)


def test_a_first_policy_is_nearly_uniform():
    net = heads.chain(torso.mlp((64, 64)), heads.head(6, 0.01))
    x = np.random.default_rng(1).normal(size=(17, 100)).astype(np.float32)
    logits = np.asarray(net.apply(net.init(np.random.default_rng(0), (17,)), x))
    assert_allclose(np.exp(logits) / np.exp(logits).sum(0), 1 / 6, atol=0.03)


def test_agents_are_told_who_they_are():
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3, 2)), jnp.float32)
    told = heads.agent_id(obs, seats=(2, 0), agents=3)
    assert told.shape == (7, 3, 2)
    assert_array_equal(told[:4], obs)
    for row in range(3):
        assert_array_equal(told[4:, row, 0], [0, 0, 1])
        assert_array_equal(told[4:, row, 1], [1, 0, 0])

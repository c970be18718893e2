"""Whole networks: shared or separate parameters, seats, memories."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from agonist.nets import recurrent
from agonist.nets.core import Shape, make_network

L, B, F, WIDTH = 4, 3, 5, 4


def numbers(*shape: int):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


XS, FIRST = numbers(L, B, 2, F), np.random.default_rng(1).random((L, B)) < 0.3


def unrolled(net, params, xs=XS):
    """[width, L, B, N]"""
    out = jax.jit(net.unroll)(params, net.carry(B), xs, FIRST)
    assert out.shape == (WIDTH, L * B * xs.shape[2])
    return np.reshape(out, (WIDTH, L, B, xs.shape[2]))


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("memory", [0, 7])
def test_steps_are_the_unrolled_ones(share, memory):
    net = make_network(Shape((0, 1), 2, share=share, hidden=(8, 8), memory=memory), (F,), WIDTH, 1.0)
    params, carry, step = net.init(jax.random.key(0)), net.carry(B), jax.jit(net.step)
    out = unrolled(net, params)
    for t in range(L):
        carry = jax.tree.map(lambda h, t=t: np.where(FIRST[t][:, None, None], 0.0, h).astype(np.float32), carry)
        before, (carry, y) = carry, step(params, carry, XS[t])
        assert y.shape == (WIDTH, B, 2)
        assert jax.tree.map(np.shape, carry) == jax.tree.map(np.shape, net.carry(B))
        assert_allclose(out[:, t], y, rtol=1e-4, atol=1e-5)
    plain_carry, plain = net.step(params, before, jnp.asarray(XS[t]))
    assert_allclose(plain, y, rtol=1e-4, atol=1e-5)
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4, atol=1e-5), plain_carry, carry)


def test_recurrent_is_feed_forward_when_the_cell_is_the_identity(monkeypatch):
    plain = make_network(Shape((0, 1), 2, hidden=(8, 7)), (F,), WIDTH, 1.0)
    monkeypatch.setattr(recurrent, "gru", lambda width: recurrent.identity())
    remembering = make_network(Shape((0, 1), 2, hidden=(8, 7), memory=8), (F,), WIDTH, 1.0)
    params = remembering.init(jax.random.key(0))
    before, after = params["before"], params["after"]
    same = {"net_0": {"layer_0": before["layer_0"], "layer_1": after["net_0"]["layer_0"]}, "net_1": after["net_1"]}
    assert_allclose(unrolled(remembering, params), unrolled(plain, same), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("memory", [0, 7])
def test_separate_parameters_are_each_agents_own_network(memory):
    net = make_network(Shape((2, 0), 3, share=False, hidden=(8, 8), memory=memory), (F,), WIDTH, 1.0)
    alone = make_network(Shape((0,), 1, hidden=(8, 8), memory=memory), (F,), WIDTH, 1.0)
    params = net.init(jax.random.key(0))
    out = unrolled(net, params)
    for place, seat in enumerate((2, 0)):
        own = jax.tree.map(lambda leaf, seat=seat: leaf[seat], params)
        assert_allclose(out[..., place], unrolled(alone, own, XS[:, :, place : place + 1])[..., 0], rtol=1e-4, atol=1e-5)
    assert not np.allclose(*(jax.tree.leaves(params)[-1][i] for i in (0, 1)))


def test_shared_parameters_tell_agents_apart_by_their_seat():
    net = make_network(Shape((0, 1), 2, hidden=(8,)), (F,), WIDTH, 1.0)
    same = np.broadcast_to(XS[0, :, :1], (B, 2, F))
    params = net.init(jax.random.key(0))
    _, out = jax.jit(net.step)(params, (), same)
    assert not np.allclose(out[..., 0], out[..., 1])
    one = make_network(Shape((1,), 2, hidden=(8,)), (F,), WIDTH, 1.0)
    assert_allclose(jax.jit(one.step)(params, (), same[:, :1])[1], out[..., 1:], rtol=1e-5, atol=1e-6)


def test_rows_keep_their_place():
    """Each environment's and each agent's output is of its own observation."""
    net = make_network(Shape((0, 1), 2, hidden=(8,), agent_id=False), (F,), WIDTH, 1.0)
    params = net.init(jax.random.key(0))
    out = unrolled(net, params)
    layer, head = params["net_0"]["layer_0"], params["net_1"]
    for t, b, n in np.ndindex(L, B, 2):
        hidden = np.maximum(layer["w"] @ XS[t, b, n] + layer["b"], 0)
        assert_allclose(out[:, t, b, n], head["w"] @ hidden + head["b"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("share", [True, False])
def test_pixels(share):
    net = make_network(Shape((0, 1), 2, share=share, torso="cnn", hidden=(8,)), (4, 4, 2), WIDTH, 1.0)
    params, xs = net.init(jax.random.key(0)), numbers(L, B, 2, 4, 4, 2)
    out, step = unrolled(net, params, xs), jax.jit(net.step)
    for t in range(L):
        assert_allclose(out[:, t], step(params, (), xs[t])[1], rtol=1e-4, atol=1e-5)

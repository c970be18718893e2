"""Whole networks: shared or separate parameters, seats, memories."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from agonist.nets import recurrent
from agonist.nets.core import Shape, make_network

L, B, F = 6, 3, 5


def numbers(*shape: int):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def first():
    return jnp.asarray(np.random.default_rng(1).random((L, B)) < 0.3)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("memory", [0, 7])
def test_steps_are_the_unrolled_ones(share, memory):
    net = make_network(Shape((0, 1), 2, share=share, hidden=(8, 8), memory=memory), (F,), 4, 1.0)
    params, xs, begins = net.init(jax.random.key(0)), numbers(L, B, 2, F), first()
    out = net.unroll(params, net.carry(B), xs, begins)
    assert out.shape == (L, B, 2, 4)
    carry = net.carry(B)
    for t in range(L):
        carry = jax.tree.map(lambda h, t=t: jnp.where(begins[t][:, None, None], 0.0, h), carry)
        carry, y = net.step(params, carry, xs[t])
        assert_allclose(out[t], y, rtol=1e-4, atol=1e-5)


def test_recurrent_is_feed_forward_when_the_cell_is_the_identity(monkeypatch):
    plain = make_network(Shape((0, 1), 2, hidden=(8, 7)), (F,), 4, 1.0)
    monkeypatch.setattr(recurrent, "gru", lambda width: recurrent.identity())
    remembering = make_network(Shape((0, 1), 2, hidden=(8, 7), memory=8), (F,), 4, 1.0)
    params = remembering.init(jax.random.key(0))
    before, after = params["before"], params["after"]
    same = {"net_0": {"layer_0": before["layer_0"], "layer_1": after["net_0"]["layer_0"]}, "net_1": after["net_1"]}
    xs = numbers(L, B, 2, F)
    out = remembering.unroll(params, remembering.carry(B), xs, first())
    assert_allclose(out, plain.unroll(same, (), xs, first()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("memory", [0, 7])
def test_separate_parameters_are_each_agents_own_network(memory):
    shape = Shape((2, 0), 3, share=False, hidden=(8, 8), memory=memory)
    net = make_network(shape, (F,), 4, 1.0)
    alone = make_network(Shape((0,), 1, hidden=(8, 8), memory=memory), (F,), 4, 1.0)
    params, xs = net.init(jax.random.key(0)), numbers(L, B, 2, F)
    out = net.unroll(params, net.carry(B), xs, first())
    for place, seat in enumerate((2, 0)):
        own = jax.tree.map(lambda leaf, seat=seat: leaf[seat], params)
        expected = alone.unroll(own, alone.carry(B), xs[:, :, place : place + 1], first())
        assert_allclose(out[:, :, place : place + 1], expected, rtol=1e-4, atol=1e-5)
    assert not jnp.allclose(*(jax.tree.leaves(params)[-1][i] for i in (0, 1)))


def test_shared_parameters_tell_agents_apart_by_their_seat():
    net = make_network(Shape((0, 1), 2, hidden=(8,)), (F,), 4, 1.0)
    same = jnp.broadcast_to(numbers(B, 1, F), (B, 2, F))
    _, out = net.step(net.init(jax.random.key(0)), (), same)
    assert not jnp.allclose(out[:, 0], out[:, 1])
    one = make_network(Shape((1,), 2, hidden=(8,)), (F,), 4, 1.0)
    assert_allclose(one.step(net.init(jax.random.key(0)), (), same[:, :1])[1], out[:, 1:], rtol=1e-5, atol=1e-6)


def test_pixels():
    net = make_network(Shape((0, 1), 2, torso="cnn", hidden=(8,)), (4, 4, 2), 3, 1.0)
    assert net.unroll(net.init(jax.random.key(0)), (), numbers(L, B, 2, 4, 4, 2), first()).shape == (L, B, 2, 3)

"""The GRU against a slow loop, and its own backward pass against plain differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from agonist.nets import recurrent

T, ROWS, F, H = 9, 5, 3, 4
GRU = recurrent.gru(H)
UNROLL = jax.jit(GRU.unroll)


def case(seed: int, dtype=np.float32):
    """Parameters, h0 [H, rows], xs [F, T, rows], first [T, rows]."""
    rng = np.random.default_rng(seed)
    params = GRU.init(rng, (F,))
    params = jax.tree.map(lambda leaf: (leaf + 0.3 * rng.normal(size=leaf.shape)).astype(dtype), params)
    xs, h0 = rng.normal(size=(F, T, ROWS)).astype(dtype), rng.normal(size=(H, ROWS)).astype(dtype)
    return params, h0, xs, rng.random((T, ROWS)) < 0.3


def slow_gru(params, h, x):
    """One step, one row, in the words of cuDNN's manual."""
    w = dict(zip("rzn", np.split(np.asarray(params["in"]["w"], np.float64), 3), strict=True))
    u = dict(zip("rzn", np.split(np.asarray(params["hidden"]["w"], np.float64), 3), strict=True))
    b = dict(zip("rzn", np.split(np.asarray(params["in"]["b"], np.float64), 3), strict=True))

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    r = sigmoid(w["r"] @ x + b["r"] + u["r"] @ h)
    z = sigmoid(w["z"] @ x + b["z"] + u["z"] @ h)
    n = np.tanh(w["n"] @ x + b["n"] + r * (u["n"] @ h + np.asarray(params["hidden"]["b"], np.float64)))
    return (1 - z) * n + z * h


def plain(params, h0, xs, first):
    """The same steps in a scan that jax differentiates by itself."""

    def body(h, at):
        h = GRU.step(params, jnp.where(at[1], 0.0, h), at[0])
        return h, h

    return jnp.moveaxis(jax.lax.scan(body, h0, (jnp.moveaxis(xs, 1, 0), first))[1], 0, 1)


def weighted(unroll):
    """A loss to which every output matters, each in its way."""
    weights = np.random.default_rng(0).normal(size=(H, T, ROWS))

    def loss(params, h0, xs, first):
        hs = unroll(params, h0, xs, first)
        return jnp.sum(weights.astype(hs.dtype) * jnp.sin(hs))

    return loss


@pytest.mark.parametrize("seed", [0, 1])
def test_unrolled_it_is_a_slow_loop_that_forgets_where_a_sequence_begins(seed):
    params, h0, xs, first = case(seed)
    hs = UNROLL(params, h0, xs, first)
    assert hs.shape == (H, T, ROWS)
    for row in range(ROWS):
        h = np.asarray(h0[:, row], np.float64)
        for t in range(T):
            h = slow_gru(params, np.zeros(H) if first[t, row] else h, np.asarray(xs[:, t, row], np.float64))
            assert_allclose(hs[:, t, row], h, rtol=1e-4, atol=1e-5)


def test_steps_are_the_unrolled_ones():
    params, h, xs, _ = case(2)
    hs = UNROLL(params, h, xs, np.zeros((T, ROWS), bool))
    for t in range(T):
        h = GRU.step(params, jnp.asarray(h), jnp.asarray(xs[:, t]))  # not compiled
        assert_allclose(hs[:, t], h, rtol=1e-5, atol=1e-6)


def test_gradients_are_those_of_plain_differentiation():
    """In double precision, mapped over agents of their own; and in the floats of training."""
    ours, theirs = (jax.grad(weighted(unroll), (0, 1, 2)) for unroll in (GRU.unroll, plain))
    cases = [case(seed, np.float64) for seed in (0, 1)]
    with jax.enable_x64(True):
        together = jax.jit(jax.vmap(ours))(*jax.tree.map(lambda *leaves: np.stack(leaves), *cases))
        assert together[0]["hidden"]["w"].dtype == jnp.float64
        expected = [jax.jit(theirs)(*one) for one in cases]
    for i, one in enumerate(expected):
        jax.tree.map(lambda a, b, i=i: assert_allclose(a[i], b, rtol=1e-10, atol=1e-12), together, one)
    single = jax.jit(ours)(*case(0))
    assert single[0]["hidden"]["w"].dtype == jnp.float32
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4, atol=1e-4), single, expected[0])


def test_what_came_before_a_beginning_has_no_gradient():
    params, h0, xs, _ = case(0)
    first = np.zeros((T, ROWS), bool)
    first[4] = True
    late = jax.grad(lambda h0, xs: jnp.sum(GRU.unroll(params, h0, xs, first)[:, 4:]), (0, 1))
    d_h0, d_xs = jax.jit(late)(h0, xs)
    assert_array_equal(d_h0, 0.0)
    assert_array_equal(d_xs[:, :4], 0.0)
    assert (np.abs(d_xs[:, 4:]) > 0).all()


def test_each_gate_begins_orthogonal():
    params = recurrent.gru(8).init(np.random.default_rng(0), (8,))
    for name in ("in", "hidden"):
        for w in np.split(params[name]["w"], 3):
            assert_allclose(w @ w.T, np.eye(8), atol=1e-6)


def test_the_identity_gives_back_what_it_gets():
    cell, (_, h0, xs, first) = recurrent.identity(), case(0)
    assert cell.init(np.random.default_rng(0), (F,)) == {}
    assert_array_equal(cell.unroll({}, h0, xs, first), xs)
    assert_array_equal(cell.step({}, h0, xs[:, 0]), xs[:, 0])

"""The GRU against a slow loop, and its own backward pass against plain differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from agonist.nets import recurrent

T, ROWS, F, H = 9, 5, 3, 4


def case(seed: int, rows: tuple[int, ...] = (ROWS,), dtype=np.float32):
    rng = np.random.default_rng(seed)
    params = recurrent.gru(H).init(rng, (F,))
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf + 0.3 * rng.normal(size=leaf.shape), dtype), params)
    xs, h0 = rng.normal(size=(T, *rows, F)).astype(dtype), rng.normal(size=(*rows, H)).astype(dtype)
    return params, jnp.asarray(h0), jnp.asarray(xs), jnp.asarray(rng.random((T, *rows)) < 0.3)


def slow_gru(params, h, x):
    """One step, one row, in the words of cuDNN's manual."""
    w = {name: np.split(np.asarray(params["in"]["w"], np.float64), 3, axis=1)[i] for i, name in enumerate("rzn")}
    u = {name: np.split(np.asarray(params["hidden"]["w"], np.float64), 3, axis=1)[i] for i, name in enumerate("rzn")}
    b = {name: np.split(np.asarray(params["in"]["b"], np.float64), 3)[i] for i, name in enumerate("rzn")}

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    r = sigmoid(x @ w["r"] + b["r"] + h @ u["r"])
    z = sigmoid(x @ w["z"] + b["z"] + h @ u["z"])
    n = np.tanh(x @ w["n"] + b["n"] + r * (h @ u["n"] + np.asarray(params["hidden"]["b"], np.float64)))
    return (1 - z) * n + z * h


def plain(params, h0, xs, first):
    """The same steps in a scan that jax differentiates by itself."""

    def body(h, at):
        h = recurrent.gru(H).step(params, jnp.where(at[1][..., None], 0.0, h), at[0])
        return h, h

    return jax.lax.scan(body, h0, (xs, first))[1]


@pytest.mark.parametrize("seed", [0, 1])
def test_unrolled_it_is_a_slow_loop_that_forgets_where_a_sequence_begins(seed):
    params, h0, xs, first = case(seed)
    hs = recurrent.gru(H).unroll(params, h0, xs, first)
    for row in range(ROWS):
        h = np.asarray(h0[row], np.float64)
        for t in range(T):
            h = slow_gru(params, np.zeros(H) if first[t, row] else h, np.asarray(xs[t, row], np.float64))
            assert_allclose(hs[t, row], h, rtol=1e-4, atol=1e-5)


def test_steps_are_the_unrolled_ones():
    params, h, xs, _ = case(2)
    hs = recurrent.gru(H).unroll(params, h, xs, jnp.zeros((T, ROWS), bool))
    for t in range(T):
        h = recurrent.gru(H).step(params, h, xs[t])
        assert_allclose(hs[t], h, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("seed", "rows"), [(0, (ROWS,)), (1, (2, 3))])
def test_gradients_are_those_of_plain_differentiation(seed, rows):
    with jax.enable_x64(True):
        params, h0, xs, first = case(seed, rows, np.float64)
        weights = jnp.asarray(np.random.default_rng(seed).normal(size=(T, *rows, H)))  # all outputs matter, each in its way

        def loss(unroll):
            return lambda params, h0, xs: jnp.sum(weights * jnp.sin(unroll(params, h0, xs, first)))

        ours = jax.grad(loss(recurrent.gru(H).unroll), (0, 1, 2))(params, h0, xs)
        theirs = jax.jit(jax.grad(loss(plain), (0, 1, 2)))(params, h0, xs)
        compiled = jax.jit(jax.grad(loss(recurrent.gru(H).unroll), (0, 1, 2)))(params, h0, xs)
        assert ours[0]["hidden"]["w"].dtype == jnp.float64
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-10, atol=1e-12), ours, theirs)
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-10, atol=1e-12), compiled, theirs)


def test_gradients_in_the_floats_of_training():
    params, h0, xs, first = case(0)
    ours, theirs = (
        jax.jit(jax.grad(lambda params, f=f: jnp.sum(jnp.square(f(params, h0, xs, first)))))(params)
        for f in (recurrent.gru(H).unroll, plain)
    )
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4, atol=1e-4), ours, theirs)


def test_mapped_over_agents_of_their_own():
    cases = [case(seed) for seed in range(3)]
    params, h0, xs = (jax.tree.map(lambda *leaves: jnp.stack(leaves), *[c[i] for c in cases]) for i in range(3))
    first = cases[0][3]

    def loss(params, h0, xs):
        return jnp.sum(jnp.square(recurrent.gru(H).unroll(params, h0, xs, first)))

    grad = jax.jit(jax.grad(loss))
    mapped = jax.jit(jax.vmap(grad))(params, h0, xs)
    for i, (p, h, x, _) in enumerate(cases):
        jax.tree.map(lambda a, b, i=i: assert_allclose(a[i], b, rtol=1e-4, atol=1e-4), mapped, grad(p, h, x))


def test_what_came_before_a_beginning_has_no_gradient():
    params, h0, xs, _ = case(0)
    first = jnp.zeros((T, ROWS), bool).at[4].set(True)

    def late(h0, xs):
        return jnp.sum(recurrent.gru(H).unroll(params, h0, xs, first)[4:])

    d_h0, d_xs = jax.jit(jax.grad(late, (0, 1)))(h0, xs)
    assert_array_equal(d_h0, 0.0)
    assert_array_equal(d_xs[:4], 0.0)
    assert (jnp.abs(d_xs[4:]) > 0).all()


def test_each_gate_begins_orthogonal():
    params = recurrent.gru(8).init(np.random.default_rng(0), (8,))
    for name in ("in", "hidden"):
        for w in np.split(params[name]["w"], 3, axis=1):
            assert_allclose(w.T @ w, np.eye(8), atol=1e-6)


def test_the_identity_gives_back_what_it_gets():
    cell, (_, h0, xs, first) = recurrent.identity(), case(0)
    assert cell.init(np.random.default_rng(0), (F,)) == {}
    assert_array_equal(cell.unroll({}, h0, xs, first), xs)
    assert_array_equal(cell.step({}, h0, xs[0]), xs[0])

"""Adam and the clip against optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose

from agonist.ops import optim


def tree(seed: int, size: float = 1.0):
    rng = np.random.default_rng(seed)
    return {"a": {"w": (size * rng.normal(size=(5, 3))).astype(np.float32)}, "b": (size * rng.normal(size=4)).astype(np.float32)}


@pytest.mark.parametrize("eps", [1e-5, 1e-8])
def test_many_steps_are_those_of_optax(eps):
    ours, theirs = optim.adam(eps), optax.chain(optax.clip_by_global_norm(2.0), optax.adam(1e-2, eps=eps))
    step, step_theirs = jax.jit(ours.step), jax.jit(theirs.update)
    for size in [0.01, 1.0, 100.0]:  # below the clip, about it, far above
        params = expected = tree(0)
        state, opt_state = ours.init(params), theirs.init(expected)
        for i in range(1, 9):
            grads = tree(i, size)
            params, state, norm = step(grads, state, params, 1e-2, 2.0)
            updates, opt_state = step_theirs(grads, opt_state)
            expected = jax.tree.map(np.add, expected, updates)
            assert_allclose(norm, np.sqrt(sum(np.sum(np.square(g)) for g in jax.tree.leaves(grads))), rtol=1e-6)
            jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=2e-5, atol=1e-6), params, expected)


def test_a_first_step_by_hand():
    # After one step the means without bias are g and g^2, so every parameter moves by lr (nearly) against its gradient's sign.
    ours = optim.adam(eps=0.0)
    params = {"x": jnp.array([1.0, 1.0])}
    moved, state, norm = ours.step({"x": jnp.array([3.0, -4.0])}, ours.init(params), params, 0.1, 1.0)
    assert_allclose(moved["x"], [0.9, 1.1], rtol=1e-6)
    assert_allclose(norm, 5.0)
    assert_allclose(state.mu["x"], [0.1 * 3 / 5, -0.1 * 4 / 5], rtol=1e-6)
    assert state.steps == 1


def test_no_gradient_moves_nothing():
    ours, params = optim.adam(), tree(0)
    moved, _, norm = jax.jit(ours.step)(jax.tree.map(jnp.zeros_like, params), ours.init(params), params, 0.1, 1.0)
    assert norm == 0
    jax.tree.map(np.testing.assert_array_equal, moved, params)


def test_a_new_rate_compiles_nothing():
    ours, params = optim.adam(), tree(0)
    step = jax.jit(ours.step)
    for lr, limit in [(0.1, 1.0), (0.2, 0.5)]:
        step(tree(1), ours.init(params), params, lr, limit)
    assert step._cache_size() == 1

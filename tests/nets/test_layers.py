"""What networks are made of: orthogonal draws, the door from a key, dense layers and norms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from agonist.nets import layers


def rng(seed: int = 0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shape", [(17, 128), (128, 128), (128, 6), (128, 1), (1, 1), (3, 3, 4, 16)])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_rows_or_columns_are_orthogonal(shape, scale):
    w = layers.orthogonal(rng(), shape, scale)
    assert w.shape == shape
    assert w.dtype == np.float32
    flat = w.reshape(-1, shape[-1]).astype(np.float64) / scale
    gram = flat @ flat.T if flat.shape[0] < flat.shape[1] else flat.T @ flat
    assert_allclose(gram, np.eye(len(gram)), atol=1e-6)


def test_it_is_numpys_qr_with_a_positive_diagonal():
    tall = rng(3).standard_normal((4, 9)).T
    q, r = np.linalg.qr(tall)
    assert_allclose(layers.orthogonal(rng(3), (9, 4)), q * np.sign(np.diagonal(r)), atol=1e-6)


def test_no_direction_is_preferred():
    # A uniform orthogonal matrix's entries have mean 0 and variance 1/n.
    many = np.stack([layers.orthogonal(rng(seed), (3, 3)) for seed in range(4000)])
    assert_allclose(many.mean(0), 0.0, atol=0.05)
    assert_allclose(many.var(0), 1 / 3, atol=0.03)


def test_a_key_gives_the_same_parameters_however_it_is_asked():
    def init(key):
        return layers.from_key(key, lambda rng: layers.dense_init(rng, 5, 3, 1.0))

    keys = jax.random.split(jax.random.key(0), 3)
    eager, compiled = [init(key) for key in keys], jax.jit(init)
    mapped, mapped_compiled = jax.vmap(init)(keys), jax.jit(jax.vmap(init))(keys)
    for i, params in enumerate(eager):
        assert_array_equal(compiled(keys[i])["w"], params["w"])
        assert_array_equal(mapped["w"][i], params["w"])
        assert_array_equal(mapped_compiled["w"][i], params["w"])
    assert not (eager[0]["w"] == eager[1]["w"]).any()
    shapes = jax.eval_shape(init, keys[0])
    assert shapes["w"].shape == (3, 5)
    assert shapes["b"].dtype == jnp.float32
    assert_array_equal(init(jax.random.PRNGKey(7))["w"], init(jax.random.key(7))["w"])  # the old form of keys too


def test_a_stack_is_draws_one_after_another():
    stack = layers.stacked(rng(1), 3, lambda rng: layers.dense_init(rng, 4, 4, 1.0))
    same = rng(1)
    for i in range(3):
        assert_array_equal(stack["w"][i], layers.dense_init(same, 4, 4, 1.0)["w"])
    assert stack["b"].shape == (3, 4)


def test_dense_by_hand():
    params = {"w": jnp.array([[1.0, 2.0], [3.0, 4.0]]), "b": jnp.array([0.5, -0.5])}
    assert_allclose(layers.dense(params, jnp.array([[1.0, 0.0], [10.0, 1.0]])), [[21.5, 2.5], [42.5, 3.5]])


def test_layer_norm_by_hand_and_undisturbed_by_scale_and_offset_of_its_input():
    params = {"scale": jnp.array([2.0, 2.0]), "offset": jnp.array([1.0, 1.0])}
    assert_allclose(layers.layer_norm(params, jnp.array([[3.0], [5.0]])), [[-1.0], [3.0]], rtol=1e-5)
    x = jnp.asarray(rng().normal(size=(32, 6)), jnp.float32)
    unit = layers.layer_norm_init(32)
    assert_allclose(layers.layer_norm(unit, 7 * x + 3), layers.layer_norm(unit, x), atol=1e-4)


def test_an_unknown_activation_names_those_there_are():
    with pytest.raises(ValueError, match="no activation 'rely': there are relu, tanh, gelu, silu"):
        layers.activation("rely")

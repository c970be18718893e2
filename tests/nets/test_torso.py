"""Torsos against slow loops in numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from agonist.nets import torso


def normal(seed: int, *shape: int):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def jiggled(params):
    """Biases, too, must show in a comparison."""
    return jax.tree.map(lambda leaf: leaf + normal(leaf.size, *leaf.shape) * 0.1, params)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize(("name", "norm"), [("relu", False), ("tanh", True), ("silu", False), ("gelu", True)])
def test_an_mlp_is_its_layers(name, norm):
    net = torso.mlp((8, 5), name, layer_norm=norm)
    params = jiggled(net.init(np.random.default_rng(0), (3,)))
    x = y = normal(1, 3, 7)
    for i in range(2):
        y = params[f"layer_{i}"]["w"] @ y + params[f"layer_{i}"]["b"][:, None]
        if norm:
            y = (y - y.mean(0)) / np.sqrt(y.var(0) + 1e-6)
            y = y * params[f"norm_{i}"]["scale"][:, None] + params[f"norm_{i}"]["offset"][:, None]
        y = ACTIVATIONS[name](y)
    if norm:
        assert_allclose(net.apply(params, x), y, rtol=1e-4, atol=1e-5)
    assert_allclose(jax.jit(net.apply)(params, x), y, rtol=1e-4, atol=1e-5)


def test_an_mlp_without_layers_is_nothing():
    net = torso.mlp(())
    assert net.init(np.random.default_rng(0), (3,)) == {}
    assert_allclose(net.apply({}, jnp.ones((3, 2))), 1.0)


def test_first_weights_have_the_scale_of_relu_and_no_bias():
    params = torso.mlp((16, 16)).init(np.random.default_rng(0), (16,))
    assert_allclose(params["layer_1"]["w"].T @ params["layer_1"]["w"], 2 * np.eye(16), atol=1e-5)
    assert (params["layer_1"]["b"] == 0).all()
    assert not (params["layer_0"]["w"] == params["layer_1"]["w"]).any()


def slow_convolution(x, weights, stride):
    """Sizes are kept by zeros around, more of them behind than before; then every stride-th place is taken."""
    height, across, _ = x.shape
    kernel, outputs = weights.shape[0], weights.shape[-1]
    out = np.zeros((-(-height // stride), -(-across // stride), outputs))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for a in range(kernel):
                for b in range(kernel):
                    pad_h = max(0, (out.shape[0] - 1) * stride + kernel - height) // 2
                    pad_w = max(0, (out.shape[1] - 1) * stride + kernel - across) // 2
                    row, column = i * stride + a - pad_h, j * stride + b - pad_w
                    if 0 <= row < height and 0 <= column < across:
                        out[i, j] += x[row, column] @ weights[a, b]
    return out


@pytest.mark.parametrize(("stride", "size"), [(1, (4, 5)), (2, (5, 4))])
def test_a_cnn_is_its_convolutions(stride, size):
    net = torso.cnn((3, 4), width=6, stride=stride)
    params = jiggled(net.init(np.random.default_rng(0), (*size, 2)))
    x = normal(2, 3, *size, 2)
    got = jax.jit(net.apply)(params, x)
    assert got.shape == (6, 3)
    for row in range(3):
        y = x[row]
        for i in range(2):
            y = np.maximum(slow_convolution(y, params[f"conv_{i}"]["w"], stride) + params[f"conv_{i}"]["b"], 0)
        y = np.maximum(params["dense"]["w"] @ y.reshape(-1) + params["dense"]["b"], 0)
        assert_allclose(got[:, row], y, rtol=1e-4, atol=1e-5)

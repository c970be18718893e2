"""Torsos: a multi-layer perceptron, [features, rows] -> [width, rows], and convolutions, pixels [rows, H, W, C] -> [width, rows].

Orthogonal weights of scale sqrt(2), biases 0 (arXiv:2005.12729).
"""

import math

import jax
from jax import Array
from numpy.random import Generator

from agonist.nets import layers
from agonist.nets.layers import Net, Params, Shape

SCALE = math.sqrt(2.0)


def mlp(hidden: tuple[int, ...], activation: str = "relu", layer_norm: bool = False) -> Net:
    """Dense layers of the widths `hidden`, each followed by the activation; a row is one flat vector."""
    act = layers.activation(activation)

    def init(rng: Generator, shape: Shape) -> Params:
        inputs = shape[-1]
        params: Params = {}
        for i, width in enumerate(hidden):
            params[f"layer_{i}"] = layers.dense_init(rng, inputs, width, SCALE)
            if layer_norm:
                params[f"norm_{i}"] = layers.layer_norm_init(width)
            inputs = width
        return params

    def apply(params: Params, x: Array) -> Array:
        for i in range(len(hidden)):
            x = layers.dense(params[f"layer_{i}"], x)
            x = act(layers.layer_norm(params[f"norm_{i}"], x) if layer_norm else x)
        return x

    return Net(init, apply)


def cnn(channels: tuple[int, ...] = (16, 32), width: int = 128, activation: str = "relu", kernel: int = 3, stride: int = 1) -> Net:
    """Convolutions whose padding keeps the size (less the stride), then all of it into a dense layer of `width`."""
    act = layers.activation(activation)

    def init(rng: Generator, shape: Shape) -> Params:
        height, across, inputs = shape
        params: Params = {}
        for i, outputs in enumerate(channels):
            weights = layers.orthogonal(rng, (kernel, kernel, inputs, outputs), SCALE)
            params[f"conv_{i}"] = {"w": weights, "b": layers.zeros(outputs)}
            height, across, inputs = -(-height // stride), -(-across // stride), outputs
        params["dense"] = layers.dense_init(rng, height * across * inputs, width, SCALE)
        return params

    def apply(params: Params, x: Array) -> Array:
        for i in range(len(channels)):
            layer = params[f"conv_{i}"]
            x = jax.lax.conv_general_dilated(x, layer["w"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = act(x + layer["b"])
        return act(layers.dense(params["dense"], x.reshape(x.shape[0], -1).T))

    return Net(init, apply)

"""Torsos: observations [..., *shape] -> features [..., width]. A multi-layer perceptron, and convolutions for pixels [..., H, W, C].

Orthogonal weights of scale sqrt(2) in hidden layers (arXiv:2005.12729), biases 0.
"""

import math

import jax
import jax.numpy as jnp
from jax import Array

from agonist.nets import layers
from agonist.nets.layers import Net, Params, Shape

HIDDEN_SCALE = math.sqrt(2.0)


def mlp(hidden: tuple[int, ...], activation: str = "relu", layer_norm: bool = False) -> Net:
    """Dense layers of the widths `hidden`, each followed by the activation; a row is one flat vector."""
    act = layers.activation(activation)

    def init(key: Array, shape: Shape) -> Params:
        inputs, params = shape[-1], {}
        for i, (key_layer, width) in enumerate(zip(jax.random.split(key, max(1, len(hidden))), hidden, strict=False)):
            params[f"layer_{i}"] = layers.dense_init(key_layer, inputs, width, HIDDEN_SCALE)
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
    """Convolutions (padding keeps the size, then `stride`), flattened into a dense layer of `width`."""
    act = layers.activation(activation)

    def convolve(weights: Array, x: Array) -> Array:
        return jax.lax.conv_general_dilated(x, weights, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def init(key: Array, shape: Shape) -> Params:
        height, wide, inputs = shape
        params: Params = {}
        *keys_conv, key_dense = jax.random.split(key, len(channels) + 1)
        for i, (key_conv, outputs) in enumerate(zip(keys_conv, channels, strict=True)):
            weights = layers.orthogonal(key_conv, (kernel, kernel, inputs, outputs), HIDDEN_SCALE)
            params[f"conv_{i}"] = {"w": weights, "b": jnp.zeros((outputs,))}
            height, wide, inputs = -(-height // stride), -(-wide // stride), outputs
        params["dense"] = layers.dense_init(key_dense, height * wide * inputs, width, HIDDEN_SCALE)
        return params

    def apply(params: Params, x: Array) -> Array:
        lead = x.shape[:-3]
        x = x.reshape(-1, *x.shape[-3:])  # a convolution takes exactly one axis of rows
        for i in range(len(channels)):
            layer = params[f"conv_{i}"]
            x = act(convolve(layer["w"], x) + layer["b"])
        x = act(layers.dense(params["dense"], x.reshape(x.shape[0], -1)))
        return x.reshape(*lead, width)

    return Net(init, apply)

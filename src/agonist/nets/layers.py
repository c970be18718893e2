"""What networks are made of: a pair of functions, a dense layer, a layer norm, orthogonal initialisation (arXiv:1312.6120).

A `Net` is `init(key, shape) -> params` and `apply(params, x [..., *shape]) -> [..., width]`, where `shape` is of one row's input.
Parameters are nested dicts of arrays; weights lie [in, out].
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

Params = dict[str, Any]
Shape = tuple[int, ...]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu, "silu": jax.nn.silu}


class Net(NamedTuple):
    init: Callable[[Array, Shape], Any]
    apply: Callable[..., Any]


def activation(name: str) -> Callable[[Array], Array]:
    if name not in ACTIVATIONS:
        raise ValueError(f"no activation {name!r}: there are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def orthogonal(key: Array, shape: Shape, scale: float = 1.0) -> Array:
    """A matrix [in, out] (leading axes of `shape` are one) whose rows or columns, whichever are fewer, are orthogonal."""
    rows, columns = math.prod(shape[:-1]), shape[-1]
    tall = jax.random.normal(key, (max(rows, columns), min(rows, columns)))
    q, r = jnp.linalg.qr(tall)
    q = q * jnp.sign(jnp.diagonal(r))  # without it the draw is not uniform over the orthogonal matrices
    return scale * (q.T if rows < columns else q).reshape(shape)


def dense_init(key: Array, inputs: int, outputs: int, scale: float) -> Params:
    return {"w": orthogonal(key, (inputs, outputs), scale), "b": jnp.zeros((outputs,))}


def dense(params: Params, x: Array) -> Array:
    return x @ params["w"] + params["b"]


def layer_norm_init(width: int) -> Params:
    return {"scale": jnp.ones((width,)), "offset": jnp.zeros((width,))}


def layer_norm(params: Params, x: Array, eps: float = 1e-6) -> Array:
    """arXiv:1607.06450."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + eps) * params["scale"] + params["offset"]

"""What networks are made of: a pair of functions, a dense layer, a layer norm, orthogonal initialisation (arXiv:1312.6120).

**Features first**: within networks an array is [features, rows], a weight [out, in]. On a CPU the products of a gradient then run
24 % faster than with rows first, and what follows them (a softmax over six logits) runs along the rows, which are many.

A `Net` is `init(rng, shape) -> params` and `apply(params, x [features, rows]) -> [width, rows]`, where `shape` is of one row's input.
Parameters are nested dicts of arrays.

First parameters are drawn by numpy. A compiled draw costs a second of compilation for two small networks, jax's QR another third to
import scipy, at every start; this takes milliseconds. `from_key` is the door from jax's keys to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

if TYPE_CHECKING:
    from agonist.types import HostArray

Params = dict[str, Any]
Shape = tuple[int, ...]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu, "silu": jax.nn.silu}


class Net(NamedTuple):
    init: Callable[[Generator, Shape], Any]
    apply: Callable[[Any, Array], Array]


def activation(name: str) -> Callable[[Array], Array]:
    if name not in ACTIVATIONS:
        raise ValueError(f"no activation {name!r}: there are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def from_key(key: Array, init: Callable[[Generator], Any]) -> Any:
    """`init(rng)` with randomness from a key, the same where compiled, mapped or only asked for its shapes."""

    def drawn(data: Any) -> Any:
        return init(np.random.default_rng(np.asarray(data).ravel()))

    data = jax.random.key_data(key)
    if not isinstance(data, jax.core.Tracer):
        return drawn(data)
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), drawn(np.zeros(data.shape, np.uint32)))
    return jax.pure_callback(drawn, like, data, vmap_method="sequential")


def stacked(rng: Generator, n: int, init: Callable[[Generator], Any]) -> Any:
    """`n` draws of the same parameters, [n, ...]."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *[init(rng) for _ in range(n)])


def orthogonal(rng: Generator, shape: Shape, scale: float = 1.0) -> HostArray:
    """A matrix [in, out] (all but the last of `shape` are `in`) whose rows or columns, whichever are fewer, are orthogonal.

    Gram-Schmidt in float64 by einsum: no BLAS, so neither its threads nor its version decide about a bit.
    """
    rows, columns = math.prod(shape[:-1]), shape[-1]
    vectors = rng.standard_normal((min(rows, columns), max(rows, columns)))
    for i, vector in enumerate(vectors):
        vector /= np.sqrt(np.einsum("j,j->", vector, vector))
        later = vectors[i + 1 :]
        later -= np.einsum("ij,j->i", later, vector)[:, None] * vector
    return (scale * (vectors if rows < columns else vectors.T)).reshape(shape).astype(np.float32)


def zeros(*shape: int) -> HostArray:
    return np.zeros(shape, np.float32)


def dense_init(rng: Generator, inputs: int, outputs: int, scale: float) -> Params:
    return {"w": orthogonal(rng, (outputs, inputs), scale), "b": zeros(outputs)}


def dense(params: Params, x: Array) -> Array:
    """[in, rows] -> [out, rows]."""
    y: Array = params["w"] @ x + params["b"][:, None]
    return y


def layer_norm_init(width: int) -> Params:
    return {"scale": zeros(width) + 1, "offset": zeros(width)}


def layer_norm(params: Params, x: Array, eps: float = 1e-6) -> Array:
    """Over the features [F, rows], arXiv:1607.06450."""
    centred = x - jnp.mean(x, axis=0, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=0, keepdims=True)
    y: Array = centred * jax.lax.rsqrt(variance + eps) * params["scale"][:, None] + params["offset"][:, None]
    return y

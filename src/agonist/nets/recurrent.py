"""Recurrent cells: a GRU (arXiv:1406.1078, in the form of cuDNN) with a backward pass of its own, and a cell that remembers nothing.

`step(params, h [rows, H], x [rows, F]) -> h` for acting, `unroll(params, h0, xs [T, rows, F], first [T, rows]) -> hs [T, rows, H]` for
learning; h is 0 where a sequence is `first`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from agonist.nets.layers import Params, Shape, orthogonal


class Cell(NamedTuple):
    init: Callable[[Array, Shape], Any]  # key, shape of a row's input -> params
    carry: Callable[[int], Array]  # rows -> h at a sequence's beginning
    step: Callable[[Any, Array, Array], Array]  # params, h, x -> h, which is also the output
    unroll: Callable[[Any, Array, Array, Array], Array]  # params, h0, xs, first -> hs


def gru(width: int) -> Cell:
    def init(key: Array, shape: Shape) -> Params:
        key_in, key_hidden = jax.random.split(key)
        return {
            "in": {"w": orthogonal(key_in, (shape[-1], 3 * width)), "b": jnp.zeros((3 * width,))},
            "hidden": {"w": orthogonal(key_hidden, (width, 3 * width)), "b": jnp.zeros((width,))},
        }

    def carry(rows: int) -> Array:
        return jnp.zeros((rows, width))

    def step(params: Params, h: Array, x: Array) -> Array:
        return _gates(params["hidden"], h, x @ params["in"]["w"] + params["in"]["b"])[0]

    def unroll(params: Params, h0: Array, xs: Array, first: Array) -> Array:
        projected = xs @ params["in"]["w"] + params["in"]["b"]  # one product for all of T

        def body(h: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
            x, begins = inputs
            h = _gates(params["hidden"], jnp.where(begins[..., None], 0.0, h), x)[0]
            return h, h

        return jax.lax.scan(body, h0, (projected, first))[1]

    return Cell(init, carry, step, unroll)


def _gates(hidden: Params, h: Array, projected: Array) -> tuple[Array, ...]:
    r_in, z_in, n_in = jnp.split(projected, 3, axis=-1)
    r_h, z_h, n_h = jnp.split(h @ hidden["w"], 3, axis=-1)
    r, z, m = jax.nn.sigmoid(r_in + r_h), jax.nn.sigmoid(z_in + z_h), n_h + hidden["b"]
    n = jnp.tanh(n_in + r * m)
    return n + z * (h - n), r, z, m, n

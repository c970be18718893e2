"""Recurrent cells: a GRU (arXiv:1406.1078, with cuDNN's place of the reset gate) and a cell that remembers nothing.

`step(params, h [H, rows], x [F, rows]) -> h` for acting, `unroll(params, h0, xs [F, T, rows], first [T, rows]) -> hs [H, T, rows]` for
learning; h is 0 where `first` begins a sequence.

The unrolled GRU has a backward pass of its own. Everything that does not wait for the memory is one product outside the scans: the
inputs' before the forward one, and the gradient of the hidden weights after the backward one, where plain differentiation adds up T
small products.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from agonist.nets.layers import Params, Shape, dense, orthogonal, zeros


class Cell(NamedTuple):
    init: Callable[[Generator, Shape], Any]
    step: Callable[[Any, Array, Array], Array]  # params, h, x -> h, which is also the output
    unroll: Callable[[Any, Array, Array, Array], Array]  # params, h0, xs, first -> hs


class Gates(NamedTuple):
    """What one step computed: h' = n + z (h - n), n = tanh(n_x + r m)."""

    r: Array  # reset
    z: Array  # update
    n: Array  # candidate
    m: Array  # what the memory says to the candidate, before the reset gate


def gru(width: int) -> Cell:
    """Orthogonal weights a gate, biases 0."""

    def init(rng: Generator, shape: Shape) -> Params:
        weights_in = [orthogonal(rng, (width, shape[-1])) for _ in range(3)]
        weights_hidden = [orthogonal(rng, (width, width)) for _ in range(3)]
        return {
            "in": {"w": np.concatenate(weights_in), "b": zeros(3 * width)},
            "hidden": {"w": np.concatenate(weights_hidden), "b": zeros(width)},  # a bias of the candidate only
        }

    def step(params: Params, h: Array, x: Array) -> Array:
        return _step(params["hidden"], h, dense(params["in"], x))[0]

    def unroll(params: Params, h0: Array, xs: Array, first: Array) -> Array:
        projected = dense(params["in"], xs.reshape(xs.shape[0], -1)).reshape(-1, *xs.shape[1:])  # one product for all of T
        hs = _unroll(params["hidden"], h0, jnp.moveaxis(projected, 1, 0), first)
        return jnp.moveaxis(hs, 0, 1)

    return Cell(init, step, unroll)


def identity() -> Cell:
    """A cell that remembers nothing and changes nothing: h is x."""
    return Cell(lambda rng, shape: {}, lambda params, h, x: x, lambda params, h0, xs, first: xs)


def _step(hidden: Params, h: Array, projected: Array) -> tuple[Array, Gates]:
    r_x, z_x, n_x = jnp.split(projected, 3)
    r_h, z_h, n_h = jnp.split(hidden["w"] @ h, 3)
    r, z, m = jax.nn.sigmoid(r_x + r_h), jax.nn.sigmoid(z_x + z_h), n_h + hidden["b"][:, None]
    n = jnp.tanh(n_x + r * m)
    return n + z * (h - n), Gates(r, z, n, m)


def _begun(h: Array, first: Array) -> Array:
    return jnp.where(first[..., None, :], 0.0, h)


@jax.custom_vjp
def _unroll(hidden: Params, h0: Array, projected: Array, first: Array) -> Array:
    return _forward(hidden, h0, projected, first)[0]


def _forward(hidden: Params, h0: Array, projected: Array, first: Array) -> tuple[Array, Any]:
    def step(h: Array, at: tuple[Array, Array]) -> tuple[Array, tuple[Array, Gates]]:
        h, gates = _step(hidden, _begun(h, at[1]), at[0])
        return h, (h, gates)

    _, (hs, gates) = jax.lax.scan(step, h0, (projected, first))
    return hs, (hidden, h0, hs, gates, first)


def _backward(saved: Any, d_hs: Array) -> tuple[Params, Array, Array, None]:
    hidden, h0, hs, gates, first = saved
    befores = _begun(jnp.concatenate([h0[None], hs[:-1]]), first)
    transposed = hidden["w"].T

    def step(d_h: Array, at: tuple[Array, Gates, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        d_output, (r, z, n, m), before, begins = at
        d_h = d_h + d_output
        d_n = d_h * (1 - z) * (1 - n * n)
        d_z = d_h * (before - n) * z * (1 - z)
        d_r = d_n * m * r * (1 - r)
        d_gates = jnp.concatenate([d_r, d_z, d_n * r])
        return _begun(d_h * z + transposed @ d_gates, begins), (d_gates, d_n)

    d_h0, (d_gates, d_n) = jax.lax.scan(step, jnp.zeros_like(h0), (d_hs, gates, befores, first), reverse=True)
    width = d_n.shape[1]
    d_w = _features_first(d_gates) @ _features_first(befores).T
    d_b = jnp.sum(d_gates[:, 2 * width :], axis=(0, 2))
    return {"w": d_w, "b": d_b}, d_h0, jnp.concatenate([d_gates[:, : 2 * width], d_n], axis=1), None


def _features_first(x: Array) -> Array:
    """[T, F, rows] -> [F, T * rows]."""
    return jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1)


_unroll.defvjp(_forward, _backward)

"""Adam (arXiv:1412.6980) behind a clip of the gradients' global norm.

Gradients, state, parameters, learning rate and largest norm -> new parameters, state and the norm before the clip. Rate and norm are
arguments of a step, so they are data in a compiled program. Equal to `optax.chain(clip_by_global_norm, adam)`, which tests compare it
with; optax itself would cost every start 0.13 s of import for these thirty lines.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class AdamState(NamedTuple):
    steps: Array  # [] int32
    mu: Any  # like the parameters: the mean of the gradients
    nu: Any  # like the parameters: the mean of their squares


class Step(Protocol):
    def __call__(
        self, grads: Any, state: AdamState, params: Any, lr: Array | float, max_grad_norm: Array | float
    ) -> tuple[Any, AdamState, Array]: ...


class Optimiser(NamedTuple):
    init: Any  # params -> state
    step: Step


def adam(eps: float = 1e-5, b1: float = 0.9, b2: float = 0.999) -> Optimiser:
    """`eps` 1e-5 is what PPO's implementations use (arXiv:2005.12729), not Adam's own 1e-8."""

    def init(params: Any) -> AdamState:
        zeros = jax.tree.map(lambda p: p * 0, params)  # of numpy arrays this is numpy: nothing to compile
        return AdamState(jnp.asarray(np.int32(0)), zeros, zeros)

    def step(grads: Any, state: AdamState, params: Any, lr: Array | float, max_grad_norm: Array | float) -> tuple[Any, AdamState, Array]:
        norm = global_norm(grads)
        scale = jnp.where(norm < max_grad_norm, 1.0, max_grad_norm / norm)
        grads = jax.tree.map(lambda g: g * scale, grads)
        steps = state.steps + 1
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, grads)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state.nu, grads)
        unbias_mu = 1 / (1 - b1**steps)
        unbias_nu = 1 / (1 - b2**steps)
        params = jax.tree.map(
            lambda p, m, v: p - lr * (m * unbias_mu) / (jnp.sqrt(v * unbias_nu) + eps),
            params,
            mu,
            nu,
        )
        return params, AdamState(steps, mu, nu), norm

    return Optimiser(init, step)


def global_norm(tree: Any) -> Array:
    """The length of the vector of all leaves."""
    return jnp.sqrt(sum((jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)), start=jnp.zeros(())))

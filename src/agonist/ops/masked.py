"""Statistics of the rows that count: an agent that has left weighs nothing. x and weight of one shape -> a number."""

import jax.numpy as jnp
from jax import Array


def masked_mean(x: Array, weight: Array) -> Array:
    """The mean of x where weight is 1 (or true); 0 where no row counts."""
    weight = weight.astype(x.dtype)
    return jnp.sum(x * weight) / jnp.maximum(jnp.sum(weight), 1.0)

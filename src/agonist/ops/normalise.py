"""Running mean and variance, merged exactly (Chan, Golub and LeVeque 1983), so that shards together equal the whole.

A batch [..., *shape] and weights [...] -> `Moments`, whose `apply` gives values of mean 0 and variance 1.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Moments(NamedTuple):
    total: Array  # [] the weights' sum
    mean: Array  # [*shape]
    m2: Array  # [*shape] the sum of weighted squared distances from the mean


def init(shape: tuple[int, ...]) -> Moments:
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def of(batch: Array, weights: Array) -> Moments:
    """The moments of a batch [..., *shape] with weights [...]."""
    axes = tuple(range(weights.ndim))
    weights = weights.astype(batch.dtype)
    spread = weights.reshape(weights.shape + (1,) * (batch.ndim - weights.ndim))
    total = jnp.sum(weights)
    mean = jnp.sum(spread * batch, axes) / jnp.maximum(total, 1e-8)
    return Moments(total, mean, jnp.sum(spread * jnp.square(batch - mean), axes))


def merge(a: Moments, b: Moments) -> Moments:
    """The moments of both samples together."""
    total = a.total + b.total
    share = b.total / jnp.maximum(total, 1e-8)
    delta = b.mean - a.mean
    return Moments(total, a.mean + delta * share, a.m2 + b.m2 + jnp.square(delta) * a.total * share)


def merge_over(moments: Moments, axes: tuple[str, ...]) -> Moments:
    """The moments of all shards' samples together, the same on each; as they are where there are no shards."""
    if not axes:
        return moments
    total = jax.lax.psum(moments.total, axes)
    mean = jax.lax.psum(moments.mean * moments.total, axes) / jnp.maximum(total, 1e-8)
    return Moments(total, mean, jax.lax.psum(moments.m2 + moments.total * jnp.square(moments.mean - mean), axes))


def update(moments: Moments, batch: Array, weights: Array, axes: tuple[str, ...] = ()) -> Moments:
    """Add a batch, each shard giving its own part of it."""
    return merge(moments, merge_over(of(batch, weights), axes))


def apply(moments: Moments, x: Array, clip: float = 10.0, eps: float = 1e-8) -> Array:
    """x with mean 0 and variance 1, cut at `clip` deviations; as it is while nothing has been counted."""
    variance = jnp.where(moments.total > 0, moments.m2 / jnp.maximum(moments.total, 1e-8), 1.0)
    return jnp.clip((x - moments.mean) * jax.lax.rsqrt(variance + eps), -clip, clip)

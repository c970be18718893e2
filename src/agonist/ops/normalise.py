"""Running mean and variance, merged exactly (Chan, Golub and LeVeque 1983), so that shards together equal the whole.

A batch [..., *shape] and weights [...] -> `Moments`, whose `apply` gives values of mean 0 and variance 1.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Moments(NamedTuple):
    count: Array  # [] the weights' sum
    mean: Array  # [*shape]
    m2: Array  # [*shape] the sum of weighted squared distances from the mean


def init(shape: tuple[int, ...]) -> Moments:
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def of(batch: Array, weights: Array) -> Moments:
    """The moments of a batch [..., *shape] with weights [...]."""
    axes = tuple(range(weights.ndim))
    weights = weights.astype(batch.dtype)
    spread = weights.reshape(weights.shape + (1,) * (batch.ndim - weights.ndim))
    count = jnp.sum(weights)
    mean = jnp.sum(spread * batch, axes) / jnp.maximum(count, 1e-8)
    return Moments(count, mean, jnp.sum(spread * jnp.square(batch - mean), axes))


def merge(a: Moments, b: Moments) -> Moments:
    """The moments of both samples together."""
    count = a.count + b.count
    share = b.count / jnp.maximum(count, 1e-8)
    delta = b.mean - a.mean
    return Moments(count, a.mean + delta * share, a.m2 + b.m2 + jnp.square(delta) * a.count * share)


def merge_over(moments: Moments, axes: tuple[str, ...]) -> Moments:
    """The moments of all shards' samples together, the same on each; as they are where there are no shards."""
    if not axes:
        return moments
    count = jax.lax.psum(moments.count, axes)
    mean = jax.lax.psum(moments.mean * moments.count, axes) / jnp.maximum(count, 1e-8)
    return Moments(count, mean, jax.lax.psum(moments.m2 + moments.count * jnp.square(moments.mean - mean), axes))


def update(moments: Moments, batch: Array, weights: Array, axes: tuple[str, ...] = ()) -> Moments:
    """Add a batch, each shard giving its own part of it."""
    return merge(moments, merge_over(of(batch, weights), axes))


def apply(moments: Moments, x: Array, clip: float = 10.0, eps: float = 1e-8) -> Array:
    """x with mean 0 and variance 1, cut at `clip` deviations; as it is while nothing has been counted."""
    variance = jnp.where(moments.count > 0, moments.m2 / jnp.maximum(moments.count, 1e-8), 1.0)
    return jnp.clip((x - moments.mean) * jax.lax.rsqrt(variance + eps), -clip, clip)

"""What data-parallel shards share: one mean of a whole pytree, and a cheap shuffle.

A pytree and the names of the mapped axes -> the pytree's mean over them. A key and n -> the numbers 0..n-1 in random order.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree


def mean_over(tree: Any, axes: tuple[str, ...]) -> Any:
    """The mean over the shards, as one collective of one vector: a collective costs by the piece more than by the byte."""
    if not axes:
        return tree
    flat, unravel = ravel_pytree(tree)
    return unravel(jax.lax.pmean(flat, axes))


def permutation(key: Array, n: int) -> Array:
    """0..n-1 [n] in random order, by one sort of numbers that are random bits above and the index below.

    Where two have the same random bits (32 less those of an index: 20 of them at n = 4,096) the smaller index comes first. So the
    order within a run of n / 2^bits neighbours is not random, which a cut into minibatches does not see.
    """
    if not 0 < n <= 2**24:
        raise ValueError(f"a permutation needs 0 < n <= {2**24}, got n = {n}")
    index_bits = (n - 1).bit_length()
    bits = jax.random.bits(key, (n,), jnp.uint32)
    index = jnp.arange(n, dtype=jnp.uint32)
    drawn = jnp.sort((bits >> index_bits << index_bits) | index)
    order: Array = drawn & jnp.uint32((1 << index_bits) - 1)
    return order.astype(jnp.int32)

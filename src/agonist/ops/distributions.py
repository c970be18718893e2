"""Distributions over actions, made from a network's raw outputs: masked categorical, several of them, tanh-Gaussian, Gaussian.

`for_space(space)` -> `Distribution`, whose functions take outputs [width, ...] (features first, as networks give them), legal [..., A]
(or None) and actions [..., *shape], and give actions or [...]; so a policy gradient has one code path for every space. An action that
is not legal has probability exactly 0 and is never drawn. The tanh-Gaussian's log-probability is the change of variables of SAC
(arXiv:1801.01290, appendix C).
"""

import math
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agonist.types import Discrete, MultiDiscrete, Space

NEVER = -1e9  # an illegal action's logit: exp of it is 0, and products with it stay finite, so gradients do
STD_MIN = 1e-3
WRITTEN_OUT = 16  # terms of a sum


class Distribution(NamedTuple):
    """Functions of a network's outputs [width, ...] and of what is legal."""

    sample: Callable[[Array, Array, Array | None], Array]  # key, outputs, legal -> actions
    log_prob: Callable[[Array, Array | None, Array], Array]  # outputs, legal, actions -> [...]
    entropy: Callable[[Array, Array | None], Array]  # outputs, legal -> [...]
    mode: Callable[[Array, Array | None], Array]  # outputs, legal -> actions
    width: int  # numbers that the network must give


def for_space(space: Space) -> Distribution:
    """A categorical for each choice; for real numbers a tanh-Gaussian between the bounds, a Gaussian where there are none."""
    if isinstance(space, Discrete):
        return Distribution(categorical_sample, categorical_log_prob, categorical_entropy, categorical_mode, space.n)
    if isinstance(space, MultiDiscrete):
        return multi_categorical(space.ns)
    if not np.issubdtype(np.dtype(space.dtype), np.floating):
        raise ValueError(f"actions in a Box must be real numbers, got {space}; use Discrete or MultiDiscrete for whole numbers")
    if math.isfinite(space.low) and math.isfinite(space.high):
        return tanh_gaussian(space.low, space.high, space.shape)
    if math.isinf(space.low) and math.isinf(space.high):
        return gaussian(space.shape)
    raise ValueError(f"a Box of actions must be bounded on both sides or on neither, got {space.low} to {space.high}")


def categorical_sample(key: Array, logits: Array, legal: Array | None) -> Array:
    """One uniform number a draw, and the inverse of the cumulated probabilities: 2.4 x as fast as Gumbel's trick on a CPU."""
    return _draw(jax.random.uniform(key, logits.shape[1:]), logits, legal)


def categorical_log_prob(logits: Array, legal: Array | None, actions: Array) -> Array:
    log_probs = jax.nn.log_softmax(_masked(logits, legal), axis=0)
    each = jnp.arange(logits.shape[0]).reshape(-1, *[1] * actions.ndim)
    return jnp.sum(jnp.where(actions == each, log_probs, 0.0), axis=0)  # not a gather: its gradient is a scatter, slow on a CPU


def categorical_entropy(logits: Array, legal: Array | None) -> Array:
    log_probs = jax.nn.log_softmax(_masked(logits, legal), axis=0)
    return -jnp.sum(jnp.exp(log_probs) * log_probs, axis=0)


def categorical_mode(logits: Array, legal: Array | None) -> Array:
    return jnp.argmax(_masked(logits, legal), axis=0).astype(jnp.int32)


def multi_categorical(ns: tuple[int, ...]) -> Distribution:
    """Independent choices out of `ns`: logits and legal lie side by side, actions are [..., len(ns)]."""
    ends = tuple(int(end) for end in np.cumsum(ns))
    parts = tuple(slice(end - n, end) for end, n in zip(ends, ns, strict=True))

    def of(legal: Array | None, part: slice) -> Array | None:
        return None if legal is None else legal[..., part]

    def sample(key: Array, outputs: Array, legal: Array | None) -> Array:
        uniform = jax.random.uniform(key, (*outputs.shape[1:], len(ns)))
        draws = [_draw(uniform[..., i], outputs[part], of(legal, part)) for i, part in enumerate(parts)]
        return jnp.stack(draws, axis=-1)

    def log_prob(outputs: Array, legal: Array | None, actions: Array) -> Array:
        terms = [categorical_log_prob(outputs[part], of(legal, part), actions[..., i]) for i, part in enumerate(parts)]
        return sum(terms[1:], terms[0])

    def entropy(outputs: Array, legal: Array | None) -> Array:
        terms = [categorical_entropy(outputs[part], of(legal, part)) for part in parts]
        return sum(terms[1:], terms[0])

    def mode(outputs: Array, legal: Array | None) -> Array:
        return jnp.stack([categorical_mode(outputs[part], of(legal, part)) for part in parts], axis=-1)

    return Distribution(sample, log_prob, entropy, mode, ends[-1])


def gaussian(shape: tuple[int, ...]) -> Distribution:
    """A diagonal Gaussian without bounds; the outputs are the means, then what `_std` makes deviations of."""
    size = math.prod(shape)

    def sample(key: Array, outputs: Array, legal: Array | None) -> Array:
        mean, std = _mean_and_std(outputs, size)
        x = mean + std * jax.random.normal(key, mean.shape, mean.dtype)
        return x.reshape(*outputs.shape[1:], *shape)

    def log_prob(outputs: Array, legal: Array | None, actions: Array) -> Array:
        mean, std = _mean_and_std(outputs, size)
        return jnp.sum(_log_density(actions.reshape(mean.shape), mean, std), axis=-1)

    def entropy(outputs: Array, legal: Array | None) -> Array:
        _, std = _mean_and_std(outputs, size)
        return jnp.sum(jnp.log(std) + 0.5 * math.log(2 * math.pi * math.e), axis=-1)

    def mode(outputs: Array, legal: Array | None) -> Array:
        mean, _ = _mean_and_std(outputs, size)
        return mean.reshape(*outputs.shape[1:], *shape)

    return Distribution(sample, log_prob, entropy, mode, 2 * size)


def tanh_gaussian(low: float, high: float, shape: tuple[int, ...]) -> Distribution:
    """A diagonal Gaussian pressed between two bounds: action = low + (high - low) (tanh(x) + 1) / 2."""
    size = math.prod(shape)
    half = (high - low) / 2
    middle = (high + low) / 2
    free = gaussian((size,))
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    weights = weights / weights.sum()

    def press(x: Array, lead: tuple[int, ...]) -> Array:
        return (middle + half * jnp.tanh(x)).reshape(*lead, *shape)

    def sample(key: Array, outputs: Array, legal: Array | None) -> Array:
        return press(free.sample(key, outputs, None), outputs.shape[1:])

    def log_prob(outputs: Array, legal: Array | None, actions: Array) -> Array:
        # An action at a bound stands for all x beyond what floats tell apart from it.
        limit = 1.0 - float(np.finfo(outputs.dtype).eps)
        x = jnp.arctanh(jnp.clip((actions.reshape(*outputs.shape[1:], size) - middle) / half, -limit, limit))
        return free.log_prob(outputs, None, x) - jnp.sum(_log_slope(x) + math.log(half), axis=-1)

    def entropy(outputs: Array, legal: Array | None) -> Array:
        """The Gaussian's, and the expected logarithm of the slope by Gauss-Hermite quadrature: no draw, so no noise."""
        mean, std = _mean_and_std(outputs, size)
        x = mean[..., None] + std[..., None] * jnp.asarray(nodes, mean.dtype)
        slope = jnp.sum(_log_slope(x) * jnp.asarray(weights, mean.dtype), axis=-1)
        return free.entropy(outputs, None) + jnp.sum(slope + math.log(half), axis=-1)

    def mode(outputs: Array, legal: Array | None) -> Array:
        return press(free.mode(outputs, None), outputs.shape[1:])

    return Distribution(sample, log_prob, entropy, mode, 2 * size)


def _masked(logits: Array, legal: Array | None) -> Array:
    return logits if legal is None else jnp.where(jnp.moveaxis(legal, -1, 0), logits, NEVER)


def _draw(uniform: Array, logits: Array, legal: Array | None) -> Array:
    """The first action whose cumulated probability is beyond `uniform` [0, 1) of the whole.

    Only actions of a probability above 0 are candidates, and the whole is the largest sum among them, so one of them is beyond
    whatever the uniform number and the sums' rounding.
    """
    odds = jax.nn.softmax(_masked(logits, legal), axis=0)
    reach = jnp.where(odds > 0, _running_sum(odds), 0.0)
    threshold = uniform * jnp.max(reach, axis=0)
    return jnp.argmax(reach > threshold, axis=0).astype(jnp.int32)


def _running_sum(x: Array) -> Array:
    """Along the first axis. Of few terms it is written out: a cumsum is several kernels on an accelerator, in every step."""
    return jnp.stack(list(accumulate(x))) if x.shape[0] <= WRITTEN_OUT else jnp.cumsum(x, axis=0)


def _mean_and_std(outputs: Array, size: int) -> tuple[Array, Array]:
    """[..., size] each. Deviations are smooth in the outputs, 1 at 0 and never below `STD_MIN`."""
    outputs = jnp.moveaxis(outputs, 0, -1)
    return outputs[..., :size], jax.nn.softplus(outputs[..., size:] + math.log(math.expm1(1.0 - STD_MIN))) + STD_MIN


def _log_density(x: Array, mean: Array, std: Array) -> Array:
    return -0.5 * jnp.square((x - mean) / std) - jnp.log(std) - 0.5 * math.log(2 * math.pi)


def _log_slope(x: Array) -> Array:
    """log(1 - tanh(x)^2), without the difference that is 0 in floats for x beyond 9."""
    return 2.0 * (math.log(2.0) - x - jax.nn.softplus(-2.0 * x))

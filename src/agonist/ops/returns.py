"""Returns and advantages of one stream: GAE (arXiv:1506.02438), V-trace (arXiv:1802.01561), TD(lambda) and n steps.

Rewards, discounts and values [T] -> advantages or targets [T]. Callers `vmap` (or pass functions of more axes: T is the first).
`discount_t` already holds gamma and is 0 where value ends; `last_t` is where the sequence ends, which cuts the trace but still
bootstraps. `v_tm1` is V(x_t), of the observation acted from; `v_t` is V(x_{t+1}), of the observation before any reset.

All but `n_step` are one linear recurrence, x_t = a_t + b_t x_{t+1}, taken backwards by a scan: at T = 128 it is faster on a CPU
than an associative scan, whose log2(T) passes each copy the whole array.
"""

import jax
import jax.numpy as jnp
from jax import Array


def gae(r_t: Array, discount_t: Array, last_t: Array, v_tm1: Array, v_t: Array, lambda_: Array | float) -> Array:
    """Generalised advantage estimates [T]: lambda 0 is the TD error, lambda 1 the Monte Carlo return less the value."""
    delta_t = r_t + discount_t * v_t - v_tm1
    return _backwards(delta_t, lambda_ * discount_t * (1.0 - last_t))


def vtrace(
    v_tm1: Array,
    v_t: Array,
    r_t: Array,
    discount_t: Array,
    last_t: Array,
    rho_t: Array,
    lambda_: Array | float = 1.0,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
) -> tuple[Array, Array]:
    """Targets of the value and advantages of the policy, [T] each, from experience of another policy; `rho_t` is pi / mu."""
    rho_clipped_t = jnp.minimum(clip_rho, rho_t)
    c_t = lambda_ * jnp.minimum(clip_c, rho_t) * (1.0 - last_t)
    delta_t = rho_clipped_t * (r_t + discount_t * v_t - v_tm1)
    target_tm1 = v_tm1 + _backwards(delta_t, discount_t * c_t)
    target_t = _next_or_bootstrap(target_tm1, v_t, last_t)
    return target_tm1, rho_clipped_t * (r_t + discount_t * target_t - v_tm1)


def td_lambda(r_t: Array, discount_t: Array, last_t: Array, v_t: Array, lambda_: Array | float) -> Array:
    """Returns [T] that weigh the n-step returns by lambda^(n-1)."""
    ends_t = last_t.astype(v_t.dtype).at[-1].set(1.0)  # the last of the stream has no next one to mix with
    mix_t = lambda_ * (1.0 - ends_t)
    return _backwards(r_t + discount_t * (1.0 - mix_t) * v_t, discount_t * mix_t)


def n_step(r_t: Array, discount_t: Array, last_t: Array, v_t: Array, n: int) -> Array:
    """Returns [T] of n rewards and a bootstrap; fewer rewards where `last` or the stream's end comes first."""

    def one_more(_: Array, returns_t: Array) -> Array:
        return r_t + discount_t * _next_or_bootstrap(returns_t, v_t, last_t)

    v_tm1 = jnp.concatenate([v_t[:1], v_t[:-1]])  # only its entries 1.. are read: they stand where x_{t+1} will
    returns_t: Array = jax.lax.fori_loop(0, n, one_more, v_tm1)
    return returns_t


def _next_or_bootstrap(x_tm1: Array, v_t: Array, last_t: Array) -> Array:
    """x_{t+1} where the sequence goes on, else the value of the observation that it ended with."""
    x_t = jnp.concatenate([x_tm1[1:], v_t[-1:]])
    return jnp.where(last_t, v_t, x_t)


def _backwards(a_t: Array, b_t: Array) -> Array:
    """x_t = a_t + b_t x_{t+1}, with 0 after the end."""

    def step(x_t: Array, ab: tuple[Array, Array]) -> tuple[Array, Array]:
        x_tm1 = ab[0] + ab[1] * x_t
        return x_tm1, x_tm1

    _, xs = jax.lax.scan(step, jnp.zeros_like(a_t[0]), (a_t, b_t), reverse=True)
    return xs

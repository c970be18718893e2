"""Returns against tables worked by hand, slow loops, rlax and identities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from numpy.testing import assert_allclose

from agonist.ops import returns

SEEDS = [0, 1, 2]
STEPS = 24
GAE, VTRACE, TD_LAMBDA, N_STEP = (jax.jit(f) for f in (returns.gae, returns.vtrace, returns.td_lambda, returns.n_step))


def stream(seed: int, steps: int = STEPS, ends: float = 0.2, deaths: float = 0.5):
    """Random numbers of one stream whose values are consistent: V(x_{t+1}) is the next V(x_t) unless the sequence ended."""
    rng = np.random.default_rng(seed)
    last = rng.random(steps) < ends
    discount = 0.97 * np.where(last & (rng.random(steps) < deaths), 0.0, 1.0)
    v_tm1 = rng.normal(size=steps)
    v_t = np.where(last, rng.normal(size=steps), np.append(v_tm1[1:], rng.normal()))
    numbers = [rng.normal(size=steps), discount, last, v_tm1, v_t, np.exp(rng.normal(size=steps))]
    return [x if x.dtype == bool else x.astype(np.float32) for x in numbers]


def slow_gae(r, d, last, v_tm1, v_t, lambda_):
    out = []
    for t in range(len(r)):
        total, weight = 0.0, 1.0
        for k in range(t, len(r)):
            total += weight * (r[k] + d[k] * v_t[k] - v_tm1[k])
            weight *= d[k] * lambda_
            if last[k]:
                break
        out.append(total)
    return out


def slow_vtrace(v_tm1, v_t, r, d, last, rho, lambda_, clip_rho, clip_c):
    """The definition as a sum (equation 1 of the paper), not as its recursion."""
    targets, advantages = [], []
    for t in range(len(r)):
        total, weight = 0.0, 1.0
        for k in range(t, len(r)):
            total += weight * min(clip_rho, rho[k]) * (r[k] + d[k] * v_t[k] - v_tm1[k])
            weight *= d[k] * lambda_ * min(clip_c, rho[k])
            if last[k]:
                break
        targets.append(v_tm1[t] + total)
    for t in range(len(r)):
        after = v_t[t] if last[t] or t == len(r) - 1 else targets[t + 1]
        advantages.append(min(clip_rho, rho[t]) * (r[t] + d[t] * after - v_tm1[t]))
    return targets, advantages


def slow_n_step(r, d, last, v_t, n):
    out = []
    for t in range(len(r)):
        total, weight = 0.0, 1.0
        for k in range(t, min(t + n, len(r))):
            total += weight * r[k]
            weight *= d[k]
            if last[k]:
                break
        out.append(total + weight * v_t[k])
    return out


def slow_td_lambda(r, d, last, v_t, lambda_):
    """The mixture of the n-step returns that it is by definition."""
    out = []
    for t in range(len(r)):
        end = next((k for k in range(t, len(r)) if last[k]), len(r) - 1)
        steps = end - t + 1
        by_n = [slow_n_step(r, d, last, v_t, n)[t] for n in range(1, steps + 1)]
        mixed = sum((1 - lambda_) * lambda_ ** (n - 1) * by_n[n - 1] for n in range(1, steps))
        out.append(mixed + lambda_ ** (steps - 1) * by_n[-1])
    return out


def floats(*arrays):
    return [np.asarray(x, np.float64) for x in arrays]


def test_a_table_worked_by_hand():
    # Rewards 1, 2, 3, 4; discount 1/2; lambda 1/2; the sequence is cut (not ended) after the second step.
    r, d = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.full(4, 0.5)
    last = jnp.array([False, True, False, False])
    v_tm1, v_t = jnp.array([10.0, 20.0, 30.0, 40.0]), jnp.array([20.0, 8.0, 40.0, 6.0])
    with jax.disable_jit():
        # TD errors: 1+10-10 = 1; 2+4-20 = -14; 3+20-30 = -7; 4+3-40 = -33. Trace 1/4: 1-14/4 = -2.5; -14; -7-33/4 = -15.25; -33.
        assert_allclose(returns.gae(r, d, last, v_tm1, v_t, 0.5), [-2.5, -14.0, -15.25, -33.0])
        # Two steps: 1+2/2+8/4 = 4; 2+8/2 = 6 (cut); 3+4/2+6/4 = 6.5; 4+6/2 = 7 (the end).
        assert_allclose(returns.n_step(r, d, last, v_t, 2), [4.0, 6.0, 6.5, 7.0])
        # 1+(20/2+6/2)/2 = 7.5; 6; 3+(40/2+7/2)/2 = 14.75; 7.
        assert_allclose(returns.td_lambda(r, d, last, v_t, 0.5), [7.5, 6.0, 14.75, 7.0])
        # rho 2, 1/2, 1, 1, clipped at 1: errors 1, -7, -7, -33. Targets 40-33 = 7; 30-7-33/2 = 6.5; 20-7 = 13; 10+1-7/2 = 7.5.
        target, advantage = returns.vtrace(v_tm1, v_t, r, d, last, jnp.array([2.0, 0.5, 1.0, 1.0]))
        assert_allclose(target, [7.5, 13.0, 6.5, 7.0])
        # 1+13/2-10 = -2.5; (2+8/2-20)/2 = -7; 3+7/2-30 = -23.5; 4+6/2-40 = -33.
        assert_allclose(advantage, [-2.5, -7.0, -23.5, -33.0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lambda_", [0.0, 0.6, 1.0])
def test_against_slow_loops(seed, lambda_):
    r, d, last, v_tm1, v_t, rho = stream(seed)
    slow = floats(r, d, last, v_tm1, v_t, rho)
    assert_allclose(GAE(r, d, last, v_tm1, v_t, lambda_), slow_gae(*slow[:5], lambda_), rtol=1e-4, atol=1e-4)
    expected = slow_td_lambda(*slow[:3], slow[4], lambda_)
    assert_allclose(TD_LAMBDA(r, d, last, v_t, lambda_), expected, rtol=1e-4, atol=1e-4)
    for clip_rho, clip_c in [(1.0, 1.0), (2.0, 0.7)]:
        got = VTRACE(v_tm1, v_t, r, d, last, rho, lambda_, clip_rho, clip_c)
        expected = slow_vtrace(slow[3], slow[4], slow[0], slow[1], slow[2], slow[5], lambda_, clip_rho, clip_c)
        assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 3, STEPS, 40])
def test_n_step_against_a_slow_loop(seed, n):
    r, d, last, _, v_t, _ = stream(seed)
    assert_allclose(N_STEP(r, d, last, v_t, n), slow_n_step(*floats(r, d, last, v_t), n), rtol=1e-4, atol=1e-4)


@jax.jit
def of_rlax(r, d, v_tm1, v_t, rho):
    values = jnp.append(v_tm1, v_t[-1])
    both = rlax.vtrace_td_error_and_advantage(v_tm1, v_t, r, d, rho)
    gae = rlax.truncated_generalized_advantage_estimation(r, d, 0.9, values)
    return gae, rlax.lambda_returns(r, d, v_t, 0.9), rlax.n_step_bootstrapped_returns(r, d, v_t, 5), both.errors, both.pg_advantage


@pytest.mark.parametrize("seed", SEEDS)
def test_as_rlax_where_nothing_is_cut(seed):
    r, d, last, v_tm1, v_t, rho = stream(seed, ends=0.0)
    target, advantage = VTRACE(v_tm1, v_t, r, d, last, rho)
    ours = GAE(r, d, last, v_tm1, v_t, 0.9), TD_LAMBDA(r, d, last, v_t, 0.9), N_STEP(r, d, last, v_t, 5), target - v_tm1, advantage
    assert_allclose(ours, of_rlax(r, d, v_tm1, v_t, rho), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_identities(seed):
    r, d, last, v_tm1, v_t, _ = stream(seed)
    assert_allclose(GAE(r, d, last, v_tm1, v_t, 0.0), r + d * v_t - v_tm1, atol=1e-6)
    assert_allclose(N_STEP(r, d, last, v_t, 1), r + d * v_t, atol=1e-6)
    assert_allclose(TD_LAMBDA(r, d, last, v_t, 0.0), r + d * v_t, atol=1e-6)
    monte_carlo = N_STEP(r, d, last, v_t, len(r))
    assert_allclose(TD_LAMBDA(r, d, last, v_t, 1.0), monte_carlo, rtol=1e-4, atol=1e-5)
    assert_allclose(GAE(r, d, last, v_tm1, v_t, 1.0) + v_tm1, monte_carlo, rtol=1e-4, atol=1e-5)
    target, _ = VTRACE(v_tm1, v_t, r, d, last, np.ones_like(r), 0.8, 1.0, 1.0)  # on policy
    assert_allclose(target, TD_LAMBDA(r, d, last, v_t, 0.8), rtol=1e-4, atol=1e-5)
    assert_allclose(target, v_tm1 + GAE(r, d, last, v_tm1, v_t, 0.8), rtol=1e-4, atol=1e-5)


def test_a_time_limit_bootstraps_and_a_death_does_not():
    r, v_tm1, v_t = jnp.ones(4), jnp.zeros(4), jnp.array([0.0, 100.0, 0.0, 0.0])
    last = jnp.array([False, True, False, False])
    with jax.disable_jit():
        cut = returns.gae(r, jnp.ones(4), last, v_tm1, v_t, 1.0)
        died = returns.gae(r, jnp.array([1.0, 0.0, 1.0, 1.0]), last, v_tm1, v_t, 1.0)
    assert_allclose(cut, [102.0, 101.0, 2.0, 1.0])
    assert_allclose(died, [2.0, 1.0, 2.0, 1.0])


CALLS = {
    "gae": lambda f, r, d, last, v_tm1, v_t, rho: f(r, d, last, v_tm1, v_t, 0.9),
    "vtrace": lambda f, r, d, last, v_tm1, v_t, rho: f(v_tm1, v_t, r, d, last, rho),
    "td_lambda": lambda f, r, d, last, v_tm1, v_t, rho: f(r, d, last, v_t, 0.7),
    "n_step": lambda f, r, d, last, v_tm1, v_t, rho: f(r, d, last, v_t, 4),
}


@pytest.mark.parametrize("name", CALLS)
def test_compiled_and_over_many_streams_is_the_same(name):
    function, call = getattr(returns, name), CALLS[name]
    streams = [stream(seed, steps=6, ends=0.3) for seed in range(3)]
    batch = [np.stack(x, axis=1) for x in zip(*streams, strict=True)]  # [T, B]
    with jax.disable_jit():
        alone = np.stack([np.asarray(call(function, *[jnp.asarray(x) for x in one])) for one in streams], axis=-1)
    assert_allclose(jax.jit(lambda *batch: call(function, *batch))(*batch), alone, atol=1e-6)
    mapped = jax.jit(jax.vmap(lambda *one: jnp.asarray(call(function, *one)), 1, -1))(*batch)
    assert_allclose(mapped, alone, atol=1e-6)

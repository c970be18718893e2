"""Running moments against numpy on everything at once; shards against the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from agonist.ops import normalise

UPDATE = jax.jit(normalise.update)


def batches(seed: int, n: int = 5):
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(3.0, 2.0, (20, 2, 4)).astype(np.float32), (rng.random((20, 2)) < share).astype(np.float32)) for share in rng.random(n)
    ]


def check(moments, parts):
    rows = np.concatenate([x[w > 0] for x, w in parts]).astype(np.float64)
    assert_allclose(moments.total, len(rows))
    assert_allclose(moments.mean, rows.mean(0), rtol=1e-5)
    assert_allclose(moments.m2 / moments.total, rows.var(0), rtol=1e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_batch_by_batch_is_all_at_once(seed):
    parts = batches(seed)
    moments = normalise.init((4,))
    for x, w in parts:
        moments = UPDATE(moments, jnp.asarray(x), jnp.asarray(w))
    check(moments, parts)


def test_merging_is_counting_together_in_any_order():
    parts = batches(3)
    each = [jax.jit(normalise.of)(jnp.asarray(x), jnp.asarray(w)) for x, w in parts]
    left, right = each[0], each[-1]
    for moments in each[1:]:
        left = normalise.merge(left, moments)
    for moments in each[-2::-1]:
        right = normalise.merge(moments, right)
    check(left, parts)
    check(right, parts)


def test_far_from_zero_the_variance_survives():
    # The sum of squares less the square of the sum has no digit left here.
    x = np.random.default_rng(0).normal(1e4, 1.0, (1000, 1)).astype(np.float32)
    moments = normalise.init((1,))
    for part in np.split(x, 10):
        moments = normalise.update(moments, jnp.asarray(part), jnp.ones(100))
    assert_allclose(moments.m2 / moments.total, x.astype(np.float64).var(0), rtol=1e-2)


@pytest.mark.parametrize("seed", [0, 1])
def test_shards_are_the_whole(seed):
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.normal(5.0, 3.0, (4, 30, 2)), jnp.float32)
    w = jnp.asarray(rng.random((4, 30)) < [[0.9], [0.5], [0.1], [0.0]], jnp.float32)  # one shard has seen nothing
    start = normalise.of(x[0] + 1, jnp.ones(30))
    whole = normalise.update(start, x.reshape(-1, 2), w.reshape(-1))
    sharded = jax.jit(jax.vmap(lambda x, w: normalise.update(start, x, w, ("shard",)), axis_name="shard"))(x, w)
    for each in range(4):
        jax.tree.map(lambda a, b, i=each: assert_allclose(a[i], b, rtol=1e-5), sharded, whole)


def test_what_nobody_saw_changes_nothing():
    start = normalise.of(jnp.array([[1.0], [3.0]]), jnp.ones(2))
    after = normalise.update(start, jnp.full((3, 1), 99.0), jnp.zeros(3))
    jax.tree.map(assert_allclose, after, start)
    assert_allclose(normalise.apply(normalise.init((1,)), jnp.array([5.0])), [5.0])


def test_applied_it_has_mean_zero_and_variance_one():
    x = jnp.asarray(np.random.default_rng(1).normal(-7.0, 0.1, (500, 3)), jnp.float32)
    y = normalise.apply(normalise.of(x, jnp.ones(500)), x)
    assert_allclose(y.mean(0), 0.0, atol=1e-3)
    assert_allclose(y.std(0), 1.0, rtol=1e-3)
    moments = normalise.of(jnp.array([[0.0], [2.0]]), jnp.ones(2))  # mean 1, variance 1
    assert_allclose(normalise.apply(moments, jnp.array([[4.0], [-50.0]]), clip=5.0), [[3.0], [-5.0]], rtol=1e-6)

"""Running moments against numpy on everything at once; shards against the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from agonist.ops import normalise
from agonist.ops.normalise import Moments

OF, MERGE, UPDATE, APPLY = (jax.jit(f) for f in (normalise.of, normalise.merge, normalise.update, normalise.apply))
NOTHING = Moments(np.float32(0), np.zeros(4, np.float32), np.zeros(4, np.float32))


def batches(seed: int, n: int = 5):
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(3.0, 2.0, (20, 2, 4)).astype(np.float32), (rng.random((20, 2)) < share).astype(np.float32)) for share in rng.random(n)
    ]


def check(moments, parts, rtol=1e-4):
    rows = np.concatenate([x[w > 0] for x, w in parts]).astype(np.float64)
    assert_allclose(moments.total, len(rows))
    assert_allclose(moments.mean, rows.mean(0), rtol=1e-5)
    assert_allclose(moments.m2 / moments.total, rows.var(0), rtol=rtol)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_batch_by_batch_is_all_at_once(seed):
    parts, moments = batches(seed), NOTHING
    jax.tree.map(np.testing.assert_array_equal, normalise.init((4,)), NOTHING)
    for x, w in parts:
        moments = UPDATE(moments, x, w)
    check(moments, parts)


def test_merging_is_counting_together_in_any_order():
    parts = batches(3)
    each = [OF(x, w) for x, w in parts]
    left, right = each[0], each[-1]
    for moments in each[1:]:
        left = MERGE(left, moments)
    for moments in each[-2::-1]:
        right = MERGE(moments, right)
    check(left, parts)
    check(right, parts)


def test_compiled_is_not_compiled():
    (x, w), _ = batches(5, 2)
    start = OF(*batches(4, 1)[0])
    plain = normalise.update(start, jnp.asarray(x), jnp.asarray(w))
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-5), plain, UPDATE(start, x, w))
    assert_allclose(normalise.apply(plain, jnp.asarray(x)), APPLY(plain, x), rtol=1e-4, atol=1e-5)


def test_far_from_zero_the_variance_survives():
    # The sum of squares less the square of the sum has no digit left here.
    x, ones = np.random.default_rng(0).normal(1e4, 1.0, (10, 20, 2, 4)).astype(np.float32), np.ones((20, 2), np.float32)
    moments = NOTHING
    for part in x:
        moments = UPDATE(moments, part, ones)
    check(moments, [(part, ones) for part in x], rtol=1e-2)


def test_shards_are_the_whole():
    sharded = jax.jit(jax.vmap(lambda start, x, w: normalise.update(start, x, w, ("shard",)), (None, 0, 0), axis_name="shard"))
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        x = rng.normal(5.0, 3.0, (4, 5, 2, 4)).astype(np.float32)
        w = (rng.random((4, 5, 2)) < np.array([0.9, 0.5, 0.1, 0.0])[:, None, None]).astype(np.float32)  # one shard has seen nothing
        start = OF(*batches(seed, 1)[0])
        whole = UPDATE(start, x.reshape(20, 2, 4), w.reshape(20, 2))
        for each in range(4):
            jax.tree.map(lambda a, b, i=each: assert_allclose(a[i], b, rtol=1e-5), sharded(start, x, w), whole)


def test_what_nobody_saw_changes_nothing():
    x, w = batches(0, 1)[0]
    start = OF(x, np.ones_like(w))
    jax.tree.map(assert_allclose, UPDATE(start, x + 99, 0 * w), start)
    assert_allclose(APPLY(NOTHING, x), x)


def test_applied_it_has_mean_zero_and_variance_one():
    x = np.random.default_rng(1).normal(-7.0, 0.1, (20, 2, 4)).astype(np.float32)
    y = np.asarray(APPLY(OF(x, np.ones((20, 2), np.float32)), x))
    assert_allclose(y.mean((0, 1)), 0.0, atol=1e-3)
    assert_allclose(y.std((0, 1)), 1.0, rtol=1e-3)
    unit = Moments(np.float32(2), np.float32([1.0]), np.float32([2.0]))  # of 0 and 2: mean 1, variance 1
    assert_allclose(APPLY(unit, np.float32([[4.0], [-50.0]]), clip=5.0), [[3.0], [-5.0]], rtol=1e-6)

"""A mean over shards is the mean, in one collective; a permutation is one, and looks random."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from agonist.ops import shards


def tree(n: int):
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=(n, 3, 2)).astype(np.float32), "b": (rng.normal(size=n).astype(np.float32),)}


def test_the_mean_of_a_tree():
    given = tree(4)
    got = jax.jit(jax.vmap(lambda part: shards.mean_over(part, ("shard",)), axis_name="shard"))(given)
    jax.tree.map(lambda a, b: assert_allclose(a, np.broadcast_to(b.mean(0), b.shape), rtol=1e-6, atol=1e-7), got, given)


def test_it_is_one_collective():
    traced = jax.make_jaxpr(lambda part: shards.mean_over(part, ("shard",)), axis_env=[("shard", 4)])(tree(4))
    assert str(traced).count("psum") == 1, traced


def test_without_axes_nothing_happens():
    given = tree(2)
    assert shards.mean_over(given, ()) is given


def test_over_two_axes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    mean = jax.vmap(jax.vmap(lambda part: shards.mean_over(part, ("device", "shard")), axis_name="shard"), axis_name="device")
    assert_allclose(jax.jit(mean)(x), np.full((2, 3), 2.5))


@pytest.mark.parametrize("n", [1, 7, 4096, 4097])
def test_every_number_once(n):
    drawn = jax.jit(shards.permutation, static_argnums=1)(jax.random.key(n), n)
    assert drawn.dtype == jnp.int32
    assert_array_equal(np.sort(drawn), np.arange(n))


def test_the_largest():
    drawn = np.asarray(shards.permutation(jax.random.key(0), 2**24))
    seen = np.zeros(2**24, bool)
    seen[drawn] = True
    assert seen.all()
    # With 8 random bits left a half still gets its fair share of everything: 2^23 of it, give or take 2^11 a deviation.
    assert abs(int((drawn[: 2**23] < 2**23).sum()) - 2**22) < 2**17


@pytest.mark.parametrize("n", [0, -1, 2**24 + 1])
def test_what_does_not_fit_is_refused(n):
    with pytest.raises(ValueError, match=f"got n = {n}"):
        shards.permutation(jax.random.key(0), n)


def test_all_orders_are_as_likely():
    keys = jax.random.split(jax.random.key(7), 24_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: shards.permutation(key, 4)))(keys))
    _, counts = np.unique(drawn @ np.array([64, 16, 4, 1]), return_counts=True)
    assert len(counts) == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 49.7  # chi-square, 23 degrees of freedom, 0.1 %


def test_places_are_uniform_at_a_learners_size():
    n, draws, bins = 2048, 400, 16
    keys = jax.random.split(jax.random.key(3), draws)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: shards.permutation(key, n)))(keys))
    where = np.argsort(drawn, axis=1)[:, ::128] * bins // n  # in which bin 16 of the numbers went
    counts = np.stack([np.bincount(where[:, i], minlength=bins) for i in range(where.shape[1])])
    expected = draws / bins
    assert ((counts - expected) ** 2 / expected).sum() < 340  # 240 degrees of freedom, 0.003 %
    assert len(np.unique(drawn, axis=0)) == draws

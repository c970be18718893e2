"""Distributions against distrax, against counted draws and against their own integrals."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from agonist.ops import distributions as ds
from agonist.types import Box, Discrete, MultiDiscrete

SEEDS = [0, 1, 2]
DRAW = jax.jit(ds._draw)


def masked(seed: int, rows: int = 50, actions: int = 6, spread: float = 2.0):
    rng = np.random.default_rng(seed)
    legal = rng.random((rows, actions)) < 0.6
    legal[np.arange(rows), rng.integers(0, actions, rows)] = True
    return jnp.asarray(spread * rng.normal(size=(rows, actions)), jnp.float32), jnp.asarray(legal)


def theirs(logits, legal):
    return distrax.Categorical(logits=jnp.where(legal, logits, -jnp.inf))


# ---- one choice


@pytest.mark.parametrize("seed", SEEDS)
def test_a_categorical_is_that_of_distrax(seed):
    logits, legal = masked(seed)
    actions = ds.categorical_sample(jax.random.key(seed), logits, legal)
    assert_allclose(ds.categorical_log_prob(logits, legal, actions), theirs(logits, legal).log_prob(actions), rtol=1e-5, atol=1e-6)
    assert_allclose(ds.categorical_entropy(logits, legal), theirs(logits, legal).entropy(), rtol=1e-5, atol=1e-6)
    assert_array_equal(ds.categorical_mode(logits, legal), theirs(logits, legal).mode())
    everything = jnp.ones_like(legal)
    assert_allclose(ds.categorical_entropy(logits, None), ds.categorical_entropy(logits, everything))
    assert_allclose(ds.categorical_log_prob(logits, None, actions), ds.categorical_log_prob(logits, everything, actions))


def test_a_table_worked_by_hand():
    logits = jnp.log(jnp.array([[1.0, 3.0, 100.0]]))
    legal = jnp.array([[True, True, False]])
    assert_allclose(ds.categorical_log_prob(logits, legal, jnp.array([1])), np.log([0.75]), rtol=1e-6)
    assert_allclose(ds.categorical_entropy(logits, legal), [-0.25 * np.log(0.25) - 0.75 * np.log(0.75)], rtol=1e-6)
    assert ds.categorical_mode(logits, legal) == 1
    # A quarter of the whole is the first action's.
    for uniform, action in [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.9999999, 1)]:
        assert ds._draw(jnp.array([uniform], jnp.float32), logits, legal) == action


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_have_their_frequencies(seed):
    logits, legal = masked(seed, rows=4)
    n = 50_000
    drawn = jax.vmap(lambda key: ds.categorical_sample(key, logits, legal))(jax.random.split(jax.random.key(seed), n))
    for row in range(4):
        expected = np.asarray(theirs(logits, legal).probs[row], np.float64)
        expected *= n / expected.sum()
        counts = np.bincount(drawn[:, row], minlength=6)
        assert (counts[expected == 0] == 0).all()
        where = expected > 0
        assert stats.chisquare(counts[where], expected[where]).pvalue > 1e-4


def test_an_illegal_action_is_not_taken_in_a_million_draws():
    logits, legal = masked(9, rows=1000, actions=7, spread=20.0)  # illegal ones are often the ones wanted most
    draw = jax.jit(lambda key: ds.categorical_sample(key, logits, legal))
    taken = sum(int((~jnp.take_along_axis(legal, draw(jax.random.key(i))[:, None], 1)).sum()) for i in range(1000))
    assert taken == 0


@pytest.mark.parametrize("actions", [2, 6, 33, 200])
def test_an_illegal_action_is_impossible_at_the_ends_of_the_uniform(actions):
    logits, legal = masked(4, rows=400, actions=actions, spread=30.0)
    for uniform in [0.0, np.nextafter(np.float32(1), np.float32(0)), 1 - 2**-23, 0.5]:
        drawn = DRAW(jnp.full(400, uniform, jnp.float32), logits, legal)
        assert jnp.take_along_axis(legal, drawn[:, None], 1).all()
    only = jnp.arange(actions) == actions // 2
    for uniform in [0.0, 0.5, np.nextafter(np.float32(1), np.float32(0))]:
        assert ds._draw(jnp.array([uniform], jnp.float32), logits[:1], only[None]) == actions // 2


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_gradients_through_a_mask_are_finite_and_none_reach_what_is_masked(size):
    logits, legal = masked(5)
    logits = size * logits
    actions = ds.categorical_mode(logits, legal)

    def total(logits):
        return 1e4 * jnp.sum(ds.categorical_log_prob(logits, legal, actions) + ds.categorical_entropy(logits, legal))

    value, grad = jax.value_and_grad(total)(logits)
    assert np.isfinite(value)
    assert np.isfinite(grad).all()
    assert (grad[~legal] == 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_those_of_distrax(seed):
    logits, legal = masked(seed)
    actions = ds.categorical_sample(jax.random.key(seed), logits, legal)

    def ours(logits):
        return jnp.sum(ds.categorical_log_prob(logits, legal, actions) + jnp.sin(ds.categorical_entropy(logits, legal)))

    def other(logits):
        masked_logits = distrax.Categorical(logits=jnp.where(legal, logits, -1e9))
        return jnp.sum(masked_logits.log_prob(actions) + jnp.sin(masked_logits.entropy()))

    assert_allclose(jax.grad(ours)(logits), jax.grad(other)(logits), rtol=1e-4, atol=1e-5)


# ---- several choices


@pytest.mark.parametrize("seed", SEEDS)
def test_several_choices_are_independent_ones(seed):
    dist = ds.for_space(MultiDiscrete((3, 2, 4)))
    assert dist.width == 9
    parts = [masked(10 * seed + i, rows=30, actions=n) for i, n in enumerate((3, 2, 4))]
    outputs, legal = (jnp.concatenate(x, axis=-1) for x in zip(*parts, strict=True))
    actions = dist.sample(jax.random.key(seed), outputs, legal)
    assert actions.shape == (30, 3)
    assert actions.dtype == jnp.int32
    each = [theirs(*part) for part in parts]
    assert_allclose(dist.log_prob(outputs, legal, actions), sum(d.log_prob(actions[:, i]) for i, d in enumerate(each)), rtol=1e-4)
    assert_allclose(dist.entropy(outputs, legal), sum(d.entropy() for d in each), rtol=1e-4, atol=1e-6)
    assert_array_equal(dist.mode(outputs, legal), jnp.stack([d.mode() for d in each], -1))
    assert np.isfinite(dist.log_prob(outputs, None, actions)).all()


def test_several_choices_are_drawn_without_a_common_cause():
    dist = ds.for_space(MultiDiscrete((2, 2)))
    drawn = np.asarray(dist.sample(jax.random.key(0), jnp.zeros((40_000, 4)), None))
    counts = np.bincount(drawn @ np.array([2, 1]), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_in_several_choices_too_nothing_illegal_is_taken():
    dist = ds.for_space(MultiDiscrete((3, 5)))
    legal = jnp.array([True, False, True, False, False, True, True, False])
    drawn = np.asarray(dist.sample(jax.random.key(1), jnp.zeros((100_000, 8)), jnp.broadcast_to(legal, (100_000, 8))))
    assert set(drawn[:, 0]) == {0, 2}
    assert set(drawn[:, 1]) == {2, 3}


# ---- real numbers


def squashed(mean, std, low, high):
    shift = distrax.ScalarAffine((high + low) / 2, (high - low) / 2)
    return distrax.Independent(distrax.Transformed(distrax.Normal(mean, std), distrax.Chain([shift, distrax.Tanh()])), 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tanh_gaussian_is_that_of_distrax(seed):
    dist = ds.for_space(Box(-1.0, 3.0, (2,)))
    outputs = jnp.asarray(np.random.default_rng(seed).normal(size=(40, 4)), jnp.float32)
    mean, std = ds._mean_and_std(outputs, 2)
    actions = dist.sample(jax.random.key(seed), outputs, None)
    inside = (jnp.abs(actions - 1) < 1.99).all(-1)  # beyond, distrax has lost the digits
    expected = squashed(mean, std, -1.0, 3.0).log_prob(actions)
    assert inside.sum() > 20
    assert_allclose(dist.log_prob(outputs, None, actions)[inside], expected[inside], rtol=1e-3, atol=1e-3)
    assert_allclose(dist.mode(outputs, None), 1 + 2 * jnp.tanh(mean), rtol=1e-5, atol=1e-6)
    assert ((actions >= -1) & (actions <= 3)).all()


@pytest.mark.parametrize("output", [(0.0, 0.0), (0.7, -1.0), (-1.5, 0.5)])
def test_a_density_between_bounds_integrates_to_one_and_its_entropy_is_its_own(output):
    dist = ds.for_space(Box(-2.0, 5.0, ()))
    x = np.linspace(-12, 12, 40_001)
    grid = np.float32(1.5 + 3.5 * np.tanh(x))
    grid = np.unique(grid[(np.abs(x) < 7.5)])
    log_p = np.asarray(dist.log_prob(jnp.broadcast_to(jnp.array(output), (len(grid), 2)), None, jnp.asarray(grid)), np.float64)
    assert_allclose(np.trapezoid(np.exp(log_p), grid), 1.0, atol=2e-3)
    assert_allclose(dist.entropy(jnp.array(output), None), -np.trapezoid(np.exp(log_p) * log_p, grid), atol=5e-3)


def test_at_and_near_a_bound_all_is_finite():
    dist = ds.for_space(Box(-1.0, 1.0, (1,)))
    for outputs in [jnp.array([[30.0, 0.0]]), jnp.array([[-30.0, -50.0]]), jnp.array([[0.0, 80.0]])]:
        actions = dist.sample(jax.random.key(0), outputs, None)
        for action in [actions, jnp.ones((1, 1)), -jnp.ones((1, 1))]:

            def total(outputs, action=action):
                return jnp.sum(dist.log_prob(outputs, None, action) + dist.entropy(outputs, None))

            value, grad = jax.jit(jax.value_and_grad(total))(outputs)
            assert np.isfinite(value)
            assert np.isfinite(grad).all()


def test_without_bounds_it_is_a_gaussian():
    dist = ds.for_space(Box(-np.inf, np.inf, (2, 3)))
    assert dist.width == 12
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 12)), jnp.float32)
    mean, std = ds._mean_and_std(outputs, 6)
    actions = dist.sample(jax.random.key(0), outputs, None)
    assert actions.shape == (5, 2, 3)
    expected = distrax.MultivariateNormalDiag(mean, std)
    assert_allclose(dist.log_prob(outputs, None, actions), expected.log_prob(actions.reshape(5, 6)), rtol=1e-4)
    assert_allclose(dist.entropy(outputs, None), expected.entropy(), rtol=1e-5)
    assert_allclose(dist.mode(outputs, None).reshape(5, 6), mean)
    drawn = dist.sample(jax.random.key(1), jnp.broadcast_to(outputs[0], (50_000, 12)), None).reshape(-1, 6)
    assert_allclose(drawn.mean(0), mean[0], atol=0.03)
    assert_allclose(drawn.std(0), std[0], rtol=0.02)


def test_a_new_network_begins_with_a_deviation_of_one():
    mean, std = ds._mean_and_std(jnp.array([0.0, 0.0, 0.0, -200.0]), 2)
    assert_allclose(mean, 0.0)
    assert_allclose(std, [1.0, ds.STD_MIN], rtol=1e-5)


# ---- one door


@pytest.mark.parametrize("space", [Discrete(5), MultiDiscrete((2, 3)), Box(-1.0, 1.0, (3,)), Box(-np.inf, np.inf, ())])
def test_any_space_one_code_path(space):
    dist = ds.for_space(space)
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(7, 2, dist.width)), jnp.float32)
    actions = dist.sample(jax.random.key(0), outputs, None)
    assert actions.shape == (7, 2, *space.shape)
    assert dist.mode(outputs, None).shape == actions.shape
    assert dist.log_prob(outputs, None, actions).shape == dist.entropy(outputs, None).shape == (7, 2)
    assert_allclose(jax.jit(dist.sample)(jax.random.key(0), outputs, None), actions, rtol=1e-5, atol=1e-6)
    assert_allclose(jax.jit(dist.log_prob)(outputs, None, actions), dist.log_prob(outputs, None, actions), rtol=1e-4, atol=1e-5)
    assert_allclose(jax.jit(dist.entropy)(outputs, None), dist.entropy(outputs, None), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("space", "said"), [(Box(0, 5, (2,), "int32"), "Discrete or MultiDiscrete"), (Box(0.0, np.inf, (1,)), "got 0.0 to inf")]
)
def test_what_has_no_distribution_is_refused(space, said):
    with pytest.raises(ValueError, match=said):
        ds.for_space(space)

"""Distributions against distrax, against counted draws and against their own integrals."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from agonist.ops import distributions as ds
from agonist.types import Box, Discrete, MultiDiscrete

SEEDS = [0, 1, 2]
UNIFORM = [0.0, 0.5, 1 - 2**-23, float(np.nextafter(np.float32(1), np.float32(0)))]  # its ends, where rounding would show
DRAW = jax.jit(ds._draw)


def masked(seed: int, rows: int = 50, actions: int = 6, spread: float = 2.0):
    """Logits [actions, rows] and what is legal [rows, actions], an action at the least."""
    rng = np.random.default_rng(seed)
    legal = rng.random((rows, actions)) < 0.6
    legal[np.arange(rows), rng.integers(0, actions, rows)] = True
    return (spread * rng.normal(size=(actions, rows))).astype(np.float32), legal


def theirs(logits, legal, never=-jnp.inf):
    return distrax.Categorical(logits=jnp.where(legal, logits.T, never))


def taken(legal, actions):
    """[..., rows] whether what was drawn is legal."""
    return np.take_along_axis(np.broadcast_to(legal, (*np.shape(actions), legal.shape[-1])), np.asarray(actions)[..., None], -1)[..., 0]


# ---- one choice


@jax.jit
def as_distrax(key, logits, legal):
    """(ours, theirs) of all that a categorical is asked for."""
    actions, other = ds.categorical_sample(key, logits, legal), theirs(logits, legal)

    def ours(logits):
        return jnp.sum(ds.categorical_log_prob(logits, legal, actions) + jnp.sin(ds.categorical_entropy(logits, legal)))

    def of_theirs(logits):
        other = theirs(logits, legal, ds.NEVER)  # the gradient of -inf is nan
        return jnp.sum(other.log_prob(actions) + jnp.sin(other.entropy()))

    return {
        "log_prob": (ds.categorical_log_prob(logits, legal, actions), other.log_prob(actions)),
        "entropy": (ds.categorical_entropy(logits, legal), other.entropy()),
        "mode": (ds.categorical_mode(logits, legal), other.mode()),
        "gradient": (jax.grad(ours)(logits), jax.grad(of_theirs)(logits)),
        "unmasked log_prob": (ds.categorical_log_prob(logits, None, actions), theirs(logits, jnp.ones_like(legal)).log_prob(actions)),
        "unmasked entropy": (ds.categorical_entropy(logits, None), theirs(logits, jnp.ones_like(legal)).entropy()),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_a_categorical_is_that_of_distrax(seed):
    for name, (ours, other) in as_distrax(jax.random.key(seed), *masked(seed)).items():
        assert_allclose(ours, other, rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_table_worked_by_hand():
    logits = jnp.log(jnp.array([[1.0], [3.0], [100.0]]))
    legal = jnp.array([[True, True, False]])
    assert_allclose(ds.categorical_log_prob(logits, legal, jnp.array([1])), np.log([0.75]), rtol=1e-6)
    assert_allclose(ds.categorical_entropy(logits, legal), [-0.25 * np.log(0.25) - 0.75 * np.log(0.75)], rtol=1e-6)
    assert ds.categorical_mode(logits, legal) == 1
    # A quarter of the whole is the first action's.
    for uniform, action in [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.9999999, 1)]:
        assert ds._draw(jnp.array([uniform], jnp.float32), logits, legal) == action


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_have_their_frequencies(seed):
    n, (logits, legal) = 50_000, masked(seed, rows=4)
    drawn = jax.jit(ds.categorical_sample)(jax.random.key(seed), np.tile(logits, n), np.tile(legal, (n, 1)))
    for row, each in enumerate(np.reshape(drawn, (n, 4)).T):
        odds = np.where(legal[row], np.exp(logits[:, row].astype(np.float64)), 0.0)
        expected = n * odds / odds.sum()
        counts = np.bincount(each, minlength=6)
        assert (counts[~legal[row]] == 0).all()
        assert stats.chisquare(counts[legal[row]], expected[legal[row]]).pvalue > 1e-4


def test_an_illegal_action_is_not_taken_in_a_million_draws():
    logits, legal = masked(9, rows=1000, actions=7, spread=20.0)  # illegal ones are often the ones wanted most
    keys = jax.random.split(jax.random.key(0), 1000)
    drawn = jax.jit(lambda keys: jax.lax.map(lambda key: ds.categorical_sample(key, logits, legal), keys))(keys)
    assert drawn.shape == (1000, 1000)
    assert taken(legal, drawn).all()


@pytest.mark.parametrize("actions", [2, 33, 200])
def test_an_illegal_action_is_impossible_at_the_ends_of_the_uniform(actions):
    logits, legal = masked(4, rows=400, actions=actions, spread=30.0)
    only = np.zeros_like(legal)
    only[:, actions // 2] = True
    for uniform in UNIFORM:
        assert taken(legal, DRAW(np.full(400, uniform, np.float32), logits, legal)).all()
        assert (DRAW(np.full(400, uniform, np.float32), logits, only) == actions // 2).all()


def test_gradients_through_a_mask_are_finite_and_none_reach_what_is_masked():
    logits, legal = masked(5)

    @jax.jit
    @jax.value_and_grad
    def total(logits):
        actions = ds.categorical_mode(logits, legal)
        return 1e4 * jnp.sum(ds.categorical_log_prob(logits, legal, actions) + ds.categorical_entropy(logits, legal))

    for size in [1.0, 1e3, 1e6]:
        value, grad = total(size * logits)
        assert np.isfinite(value)
        assert np.isfinite(grad).all()
        assert (np.asarray(grad).T[~legal] == 0).all()


# ---- several choices


def test_several_choices_are_independent_ones():
    ns = (3, 2, 4)
    dist = ds.for_space(MultiDiscrete(ns))
    assert dist.width == 9

    @jax.jit
    def both(key, outputs, legal):
        ends = np.cumsum(ns)[:-1]
        each = [theirs(*part) for part in zip(jnp.split(outputs, ends), jnp.split(legal, ends, axis=-1), strict=True)]
        actions = dist.sample(key, outputs, legal)
        log_probs = sum(d.log_prob(actions[:, i]) for i, d in enumerate(each))
        return actions, {
            "log_prob": (dist.log_prob(outputs, legal, actions), log_probs),
            "entropy": (dist.entropy(outputs, legal), sum(d.entropy() for d in each)),
            "mode": (dist.mode(outputs, legal), jnp.stack([d.mode() for d in each], -1)),
        }

    for seed in SEEDS:
        parts = [masked(10 * seed + i, rows=30, actions=n) for i, n in enumerate(ns)]
        actions, pairs = both(jax.random.key(seed), np.concatenate([x for x, _ in parts]), np.concatenate([m for _, m in parts], axis=-1))
        assert (actions.shape, actions.dtype) == ((30, 3), jnp.int32)
        for name, (ours, other) in pairs.items():
            assert_allclose(ours, other, rtol=1e-4, atol=1e-6, err_msg=name)


def test_several_choices_are_drawn_without_a_common_cause():
    dist = ds.for_space(MultiDiscrete((2, 2)))
    drawn = np.asarray(jax.jit(dist.sample)(jax.random.key(0), np.zeros((4, 40_000), np.float32), None))
    counts = np.bincount(drawn @ np.array([2, 1]), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_in_several_choices_too_nothing_illegal_is_taken():
    dist = ds.for_space(MultiDiscrete((3, 5)))
    legal = np.array([True, False, True, False, False, True, True, False])
    drawn = jax.jit(dist.sample)(jax.random.key(1), np.zeros((8, 100_000), np.float32), np.broadcast_to(legal, (100_000, 8)))
    assert set(np.unique(drawn[:, 0])) == {0, 2}
    assert set(np.unique(drawn[:, 1])) == {2, 3}


# ---- real numbers


def squashed(mean, std, low, high):
    shift = distrax.ScalarAffine((high + low) / 2, (high - low) / 2)
    return distrax.Independent(distrax.Transformed(distrax.Normal(mean, std), distrax.Chain([shift, distrax.Tanh()])), 1)


def test_a_tanh_gaussian_is_that_of_distrax():
    dist = ds.for_space(Box(-1.0, 3.0, (2,)))

    @jax.jit
    def both(key, outputs):
        mean, std = ds._mean_and_std(outputs, 2)
        actions = dist.sample(key, outputs, None)
        log_probs = dist.log_prob(outputs, None, actions), squashed(mean, std, -1.0, 3.0).log_prob(actions)
        return actions, log_probs, (dist.mode(outputs, None), 1 + 2 * jnp.tanh(mean))

    for seed in SEEDS:
        outputs = np.random.default_rng(seed).normal(size=(4, 40)).astype(np.float32)
        actions, (ours, other), modes = both(jax.random.key(seed), outputs)
        inside = np.asarray((jnp.abs(actions - 1) < 1.99).all(-1))  # beyond, distrax has lost the digits
        assert inside.sum() > 20
        assert_allclose(ours[inside], other[inside], rtol=1e-3, atol=1e-3)
        assert_allclose(*modes, rtol=1e-5, atol=1e-6)
        assert ((actions >= -1) & (actions <= 3)).all()


def test_a_density_between_bounds_integrates_to_one_and_its_entropy_is_its_own():
    dist = ds.for_space(Box(-2.0, 5.0, ()))
    x = np.linspace(-12, 12, 40_001)
    grid = np.float32(1.5 + 3.5 * np.tanh(x))
    grid = np.unique(grid[(np.abs(x) < 7.5)])

    @jax.jit
    def judged(output):
        return dist.log_prob(jnp.broadcast_to(output[:, None], (2, len(grid))), None, grid), dist.entropy(output, None)

    for output in np.array([(0.0, 0.0), (0.7, -1.0), (-1.5, 0.5)], np.float32):
        log_p, entropy = (np.asarray(x, np.float64) for x in judged(output))
        assert_allclose(np.trapezoid(np.exp(log_p), grid), 1.0, atol=2e-3)
        assert_allclose(entropy, -np.trapezoid(np.exp(log_p) * log_p, grid), atol=5e-3)


def test_at_and_near_a_bound_all_is_finite():
    dist = ds.for_space(Box(-1.0, 1.0, (1,)))
    outputs = np.array([[30.0, -30.0, 0.0], [0.0, -50.0, 80.0]], np.float32)

    @jax.jit
    @jax.value_and_grad
    def total(outputs, actions):
        return jnp.sum(dist.log_prob(outputs, None, actions) + dist.entropy(outputs, None))

    drawn = jax.jit(dist.sample)(jax.random.key(0), outputs, None)
    for actions in [drawn, np.ones((3, 1), np.float32), -np.ones((3, 1), np.float32)]:
        value, grad = total(outputs, actions)
        assert np.isfinite(value)
        assert np.isfinite(grad).all()


def test_without_bounds_it_is_a_gaussian():
    dist = ds.for_space(Box(-np.inf, np.inf, (2, 3)))
    assert dist.width == 12
    outputs = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)

    @jax.jit
    def both(key):
        mean, std = ds._mean_and_std(outputs, 6)
        actions, expected = dist.sample(key, outputs, None), distrax.MultivariateNormalDiag(mean, std)
        return actions, {
            "log_prob": (dist.log_prob(outputs, None, actions), expected.log_prob(actions.reshape(5, 6))),
            "entropy": (dist.entropy(outputs, None), expected.entropy()),
            "mode": (dist.mode(outputs, None).reshape(5, 6), mean),
        }

    actions, pairs = both(jax.random.key(0))
    assert actions.shape == (5, 2, 3)
    for name, (ours, other) in pairs.items():
        assert_allclose(ours, other, rtol=1e-4, err_msg=name)
    drawn = jax.jit(dist.sample)(jax.random.key(1), np.tile(outputs[:, :1], 50_000), None).reshape(-1, 6)
    mean, std = ds._mean_and_std(jnp.asarray(outputs), 6)
    assert_allclose(drawn.mean(0), mean[0], atol=0.03)
    assert_allclose(drawn.std(0), std[0], rtol=0.02)


def test_a_new_network_begins_with_a_deviation_of_one():
    mean, std = ds._mean_and_std(jnp.array([0.0, 0.0, 0.0, -200.0]), 2)
    assert_allclose(mean, 0.0)
    assert_allclose(std, [1.0, ds.STD_MIN], rtol=1e-5)


# ---- one door


SPACES = [Discrete(6), MultiDiscrete((3, 3)), Box(-1.0, 1.0, (3,)), Box(-np.inf, np.inf, (3,))]  # six outputs each


@pytest.mark.parametrize("space", SPACES)
def test_any_space_one_code_path(space):
    """Outputs [6, 4, 3], compiled, are twelve outputs [6] of their own, not compiled."""
    dist = ds.for_space(space)
    rng = np.random.default_rng(0)
    outputs, legal = rng.normal(size=(6, 4, 3)).astype(np.float32), rng.random((4, 3, 6)) < 0.5
    legal[..., ::3] = True
    actions = np.asarray(jax.jit(dist.sample)(jax.random.key(0), outputs, legal))

    def judged(outputs, legal, actions):
        return dist.mode(outputs, legal), dist.log_prob(outputs, legal, actions), dist.entropy(outputs, legal)

    mode, log_prob, entropy = together = jax.jit(judged)(outputs, legal, actions)
    assert actions.shape == mode.shape == (4, 3, *space.shape)
    assert actions.dtype == mode.dtype == (jnp.float32 if isinstance(space, Box) else jnp.int32)
    assert log_prob.shape == entropy.shape == (4, 3)
    for at in np.ndindex(4, 3):
        alone = judged(jnp.asarray(outputs[:, *at]), jnp.asarray(legal[at]), jnp.asarray(actions[at]))
        for whole, each in zip(together, alone, strict=True):
            assert_allclose(whole[at], each, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("space", "said"), [(Box(0, 5, (2,), "int32"), "Discrete or MultiDiscrete"), (Box(0.0, np.inf, (1,)), "got 0.0 to inf")]
)
def test_what_has_no_distribution_is_refused(space, said):
    with pytest.raises(ValueError, match=said):
        ds.for_space(space)

"""Aggregates and their intervals: by hand, by a slow loop, and as rliable has them, also from the same resamples."""

import numpy as np
import pytest
from rliable import library, metrics

from agonist.stats import aggregates
from agonist.stats.aggregates import bootstrap, draws, iqm, mean, median, normalise, optimality_gap, parts_of, profile

ORACLES = {
    mean: metrics.aggregate_mean,
    median: metrics.aggregate_median,
    iqm: metrics.aggregate_iqm,
    optimality_gap: metrics.aggregate_optimality_gap,
}
SHAPES = [(3, 1), (5, 1), (10, 1), (7, 3), (10, 4), (2, 9)]


def scores(shape, seed=0):
    return np.random.default_rng(seed).normal(0.8, 0.4, shape)


def as_parts(matrix):
    return list(matrix.T)


def test_by_hand():
    parts = parts_of({"a": [1, 2, 3, 10], "b": [0, 0, 4, 4]})
    assert mean(parts) == (4 + 2) / 2
    assert median(parts) == 3
    assert iqm(parts) == (1 + 2 + 3 + 4) / 4  # of 0 0 1 2 3 4 4 10 without two at each end
    assert iqm(parts_of([1, 2, 9])) == 4  # of three the mean
    assert optimality_gap(parts_of([0.5, 2.0])) == 0.25
    np.testing.assert_array_equal(profile(parts_of([0, 1, 2, 3]), np.array([-1, 0.5, 2, 9])), [1, 0.75, 0.25, 0])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("statistic", ORACLES, ids=lambda f: f.__name__)
def test_as_rliable_has_it(statistic, shape):
    matrix = scores(shape)
    assert statistic(as_parts(matrix)) == pytest.approx(ORACLES[statistic](matrix), rel=1e-12)


def test_the_profile_is_rliables():
    matrix, thresholds = scores((6, 3)), np.linspace(-1, 2, 20)
    np.testing.assert_allclose(profile(as_parts(matrix), thresholds), library.score_distributions(matrix, thresholds), rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 1), (5, 2), (10, 4)])
@pytest.mark.parametrize("statistic", ORACLES, ids=lambda f: f.__name__)
def test_intervals_are_rliables_from_the_same_resamples(statistic, shape, monkeypatch):
    matrix, reps = scores(shape), 200
    parts = as_parts(matrix)
    drawn = draws(parts, reps, seed=3)
    turn = iter(range(reps))

    def same(self):
        at = next(turn)
        return (np.stack([task[at] for task in drawn], axis=1), *self._strata_indices)

    monkeypatch.setattr(library.StratifiedBootstrap, "update_indices", same)
    _, found = library.get_interval_estimates({"x": matrix}, lambda x: np.array([ORACLES[statistic](x)]), reps=reps)
    np.testing.assert_allclose(bootstrap(parts, statistic, drawn=drawn), found["x"][:, 0], rtol=1e-12)


def test_intervals_agree_with_rliables_own_resamples():
    matrix = scores((10, 3))
    np.random.seed(0)  # where rliable draws from
    _, found = library.get_interval_estimates({"x": matrix}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=4000)
    low, high = bootstrap(as_parts(matrix), iqm)
    np.testing.assert_allclose([low, high], found["x"][:, 0], atol=0.06 * (high - low))


def test_it_resamples_within_a_task_and_never_across():
    """Two tasks far apart: were runs taken from one for the other, means would scatter over the whole distance."""
    parts = [np.array([0.0, 0.1, 0.2, 0.1]), np.array([100.0, 100.1, 100.2])]
    low, high = bootstrap(parts, mean)
    assert 50 < low < mean(parts) < high < 50.2
    slow = [np.mean([part[task[i]].mean() for part, task in zip(parts, draws(parts, 50), strict=True)]) for i in range(50)]
    assert bootstrap(parts, mean, drawn=draws(parts, 50)) == pytest.approx(np.percentile(slow, [2.5, 97.5]), rel=1e-12)


def test_the_same_scores_have_the_same_interval():
    parts = as_parts(scores((5, 2)))
    assert bootstrap(parts, iqm) == bootstrap(parts, iqm)
    assert bootstrap(parts, iqm) != bootstrap(parts, iqm, drawn=draws(parts, seed=1))


def test_the_interval_of_the_iqm_holds_it_about_as_often_as_the_page_says():
    """Of 10 normal scores about 93 in 100; of 3 but 75, which is why fewer than five have none."""
    rng, rounds = np.random.default_rng(0), 600
    for n, share in ((3, 0.75), (10, 0.93)):
        held = 0
        for _ in range(rounds):
            low, high = bootstrap([sample := rng.normal(0, 1, n)], iqm, drawn=draws([sample], 300, seed=int(rng.integers(1 << 30))))
            held += low <= 0 <= high
        assert abs(held / rounds - share) < 0.05


def test_blocks_of_any_size_say_the_same(monkeypatch):
    parts = as_parts(scores((7, 3)))
    whole = draws(parts, 100), bootstrap(parts, iqm)
    rng = np.random.default_rng(0)
    for found, part in zip(whole[0], parts, strict=True):
        np.testing.assert_array_equal(found, rng.integers(0, part.size, (100, part.size)))
    monkeypatch.setattr(aggregates, "BLOCK", 50)
    np.testing.assert_array_equal(whole[0], draws(parts, 100))
    assert bootstrap(parts, iqm) == whole[1]


def test_normalised_by_the_bounds_of_all():
    assert normalise({"a": [2, 4], "b": [7]}, {"a": (0, 4), "b": (7, 7)}) == {"a": [0.5, 1.0], "b": [0.5]}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [({"a": [1.0], "b": []}, "b has none"), ([float("nan"), 1], "has 1 that are no number"), ({}, "one task or more")],
)
def test_what_is_no_score_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        parts_of(given)


def test_few_resamples_are_enough():
    """The ends of two independent intervals differ by less than a twentieth of the width."""
    parts = as_parts(scores((10, 2)))
    one, other = (np.array(bootstrap(parts, iqm, drawn=draws(parts, aggregates.REPS, seed))) for seed in (0, 1))
    assert np.abs(one - other).max() < 0.05 * (one[1] - one[0])

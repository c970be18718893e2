"""Players without a learner."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from agonist.algos.scripted import make_random, make_script
from agonist.testing.algorithms import random_moments, team
from agonist.types import Box, Discrete, MultiDiscrete

N = 5_000


def drawn(role, legal=None):
    """[N, ...] what one random agent does in as many environments."""
    player, timestep = make_random(role), random_moments(role, np.random.default_rng(0), N)
    if legal is not None:
        timestep = timestep._replace(legal=np.broadcast_to(np.array(legal), timestep.legal.shape))
    actions, extras, carry = jax.jit(player.act)((), timestep, (), jax.random.key(0))
    assert (extras, carry) == ((), ())
    return np.asarray(actions)[:, 0]


def test_random_play_takes_each_legal_action_as_often():
    counts = np.bincount(drawn(team(Discrete(5), agents=1), [True, False, True, True, False]), minlength=5)
    assert_array_equal(counts[[1, 4]], 0)
    assert stats.chisquare(counts[[0, 2, 3]]).pvalue > 1e-4


def test_random_play_makes_each_of_several_choices():
    actions = drawn(team(MultiDiscrete((3, 2)), agents=1), [True, False, True, True, True])
    counts = np.bincount(actions @ np.array([2, 1]), minlength=6).reshape(3, 2)
    assert_array_equal(counts[1], 0)
    assert stats.chisquare(counts[[0, 2]].ravel()).pvalue > 1e-4


def test_random_numbers_are_uniform_between_their_bounds():
    actions = drawn(team(Box(-2.0, 6.0, (2,)), agents=1))
    assert actions.shape == (N, 2)
    assert stats.kstest(actions.ravel(), "uniform", (-2.0, 8.0)).pvalue > 1e-4


def test_a_constant_is_constant():
    role = team(Discrete(4))
    player, timestep = make_script("action:2", role), random_moments(role, np.random.default_rng(0), 3)
    assert not player.stochastic
    assert_array_equal(player.act((), timestep, (), jax.random.key(0))[0], np.full((3, 2), 2))
    assert_array_equal(player.greedy((), timestep, ())[0], np.full((3, 2), 2))


@pytest.mark.parametrize(
    ("name", "role", "said"),
    [
        ("randon", team(), "no script 'randon': there is random, and action:K with a number K"),
        ("random:1", team(), "no script 'random:1'"),
        ("action:x", team(), "no script 'action:x'"),
        ("action:-1", team(), "no script 'action:-1'"),
        ("action:4", team(Discrete(4)), r"action:4 is none of role 'player', whose actions are Discrete\(n=4\)"),
        ("action:0", team(MultiDiscrete((3, 2))), "action:0 is none of role 'player'"),
        ("random", team(Box(0.0, np.inf, (1,))), "random play needs bounds; role 'player' has actions from 0.0 to inf"),
    ],
)
def test_what_cannot_be_played_is_refused(name, role, said):
    with pytest.raises(ValueError, match=said):
        make_script(name, role)

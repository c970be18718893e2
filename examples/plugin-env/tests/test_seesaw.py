"""Every rule of an environment holds, and the numbers are those of the game."""

import jax
import jax.numpy as jnp
import pytest
from agonist_seesaw.seesaw import Options, State, lean, make

from agonist.testing.envs import EnvSuite

STAY, LEFT, RIGHT = 0, 1, 2


class TestSeesaw(EnvSuite):
    def make(self):
        return make("3", Options())


def play(weights, *moves, scenario="3", **options):
    """The moments after each of both agents' moves, in one game of these weights."""
    env = make(scenario, Options(**options))
    state, step = State(jnp.array([weights]), jnp.zeros((1, 2), int), jnp.zeros(1, int)), jax.jit(env.step)
    moments = []
    for move in moves:
        state, moment = step(state, {"agents": jnp.array([move])})
        moments.append(moment)
    return moments


def test_the_further_out_in_balance_the_more():
    gains = [float(moment.reward["agents"][0, 0]) for moment in play((1, 1), (LEFT, RIGHT), (LEFT, RIGHT), (LEFT, STAY))]
    assert gains == pytest.approx([1 / 3, 2 / 3, 0.0])  # 1 and 1 of 3; 2 and 2; 3 and 2 lean


def test_a_third_of_the_weight_stands_three_times_as_far_out():
    *_, moment = play((3, 1), (LEFT, RIGHT), (STAY, RIGHT), (STAY, RIGHT))
    assert float(moment.reward["agents"][0, 1]) == pytest.approx((1 + 3) / 6)
    assert float(moment.discount["agents"][0, 0]) == 1


def test_too_much_on_one_side_tips_it_over():
    first, second = play((2, 2), (LEFT, LEFT), (LEFT, STAY))  # -4 leans, -6 is more than the slack of 4
    assert not bool(first.last[0])
    assert bool(second.last[0])
    assert second.discount["agents"].tolist() == [[0, 0]]


def test_nobody_walks_off_the_plank():
    *_, moment = play((1, 1), (LEFT, RIGHT), scenario="1")
    assert moment.legal["agents"].tolist() == [[[True, False, True], [True, True, False]]]


def test_weights_are_drawn_and_each_knows_its_own():
    env = make("3", Options())
    state, moment = jax.jit(env.reset)(jax.random.split(jax.random.key(1), 200))
    assert sorted(set(state.weights.ravel().tolist())) == [1, 2, 3]
    assert (moment.obs["agents"][..., :3].argmax(-1) + 1 == state.weights).all()
    assert lean(State(jnp.array([3, 1]), jnp.array([-1, 2]), jnp.array(0))) == -1


@pytest.mark.parametrize("scenario", ["0", "wide", "-2", ""])
def test_a_scenario_that_is_none_is_refused(scenario):
    with pytest.raises(ValueError, match="how far the plank reaches"):
        make(scenario, Options())

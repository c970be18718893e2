"""LBF against Jumanji's, step by step from equal states; first states against Jumanji's distribution; rules by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import envs
from agonist.envs import lbf

BATCH = 16
CASES = {  # scenario -> options: together they reach every rule
    "2s-8x8-2p-2f-coop": {},
    "6x6-4p-2f": {"max_level": 3, "penalty": 0.5},
    "3s-7x7-3p-3f": {"normalize_reward": False, "penalty": 0.25, "shared_reward": False, "time_limit": 30},
    "2s-6x6-2p-1f": {"grid": True, "shared_reward": False},
    "6x6-1p-1f": {"time_limit": 20},
}


def oracle(scenario: str, options: dict) -> tuple:
    """Jumanji's environment for one of our names."""
    from jumanji.environments.routing.lbf.env import LevelBasedForaging
    from jumanji.environments.routing.lbf.generator import RandomGenerator

    rules = lbf.read(scenario, lbf.Options(**options))
    generator = RandomGenerator(rules.size, rules.agents, rules.food, rules.sight, rules.options.max_level, rules.coop)
    theirs = LevelBasedForaging(
        generator,
        time_limit=rules.options.time_limit,
        grid_observation=rules.options.grid,
        normalize_reward=rules.options.normalize_reward,
        penalty=rules.options.penalty,
    )
    return theirs, rules


def ours_of(state) -> lbf.Foraging:
    """A batch of Jumanji's states as one of ours."""
    agents, food = state.agents, state.food_items
    return lbf.Foraging(
        row=agents.position[..., 0].T,
        col=agents.position[..., 1].T,
        level=agents.level.T,
        loading=agents.loading.T,
        food_row=jnp.where(food.eaten, lbf.GONE, food.position[..., 0]).T,
        food_col=food.position[..., 1].T,
        food_level=food.level.T,
        time=state.step_count,
    )


@pytest.mark.parametrize("scenario", CASES)
def test_equals_jumanji_step_by_step(scenario: str) -> None:
    theirs, rules = oracle(scenario, CASES[scenario])
    ours = envs.make(f"lbf:{scenario}", **CASES[scenario])
    steps = rules.options.time_limit + 3

    def step(carry, key):
        state, mine = carry
        tried = jax.random.uniform(key, (BATCH, rules.agents, 6)) + ours_legal(mine) * jnp.array([0.5] * 5 + [0.8])
        action = jnp.argmax(tried, axis=-1).astype(jnp.int32)  # mostly legal, sometimes into a wall or another forager
        state, expected = jax.vmap(theirs.step)(state, action)
        mine, timestep = ours.step(mine, {"agents": action})
        return (state, mine), (expected, timestep, ours_of(state), mine)

    def ours_legal(mine):
        return jnp.moveaxis(lbf._legal(rules, mine), -1, 0)

    def play(key):
        key_first, key_play = jax.random.split(key)
        state, _ = jax.vmap(theirs.reset)(jax.random.split(key_first, BATCH))
        return jax.lax.scan(step, (state, ours_of(state)), jax.random.split(key_play, steps))[1]

    expected, timestep, expected_state, state = jax.jit(play)(jax.random.key(3))
    np.testing.assert_array_equal(timestep.obs["agents"], expected.observation.agents_view)
    np.testing.assert_array_equal(timestep.legal["agents"], expected.observation.action_mask)
    reward = expected.reward
    if rules.options.shared_reward:
        reward = jnp.broadcast_to(reward.sum(-1, keepdims=True), reward.shape)
    np.testing.assert_allclose(timestep.reward["agents"], reward, atol=1e-6)
    np.testing.assert_array_equal(timestep.discount["agents"], expected.discount)
    np.testing.assert_array_equal(timestep.last, expected.step_type == 2)
    np.testing.assert_array_equal(state.row, expected_state.row)
    np.testing.assert_array_equal(state.col, expected_state.col)
    np.testing.assert_array_equal(state.food_row, expected_state.food_row)
    # the games reached what they were to compare
    assert np.any(np.asarray(expected.reward) > 0)
    assert np.any(np.asarray(timestep.discount["agents"]) == 0)
    assert np.any(np.asarray(timestep.last) & (np.asarray(timestep.discount["agents"][..., 0]) == 1))
    if rules.options.penalty:
        assert np.any(np.asarray(expected.reward) < 0)

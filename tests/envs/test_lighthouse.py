"""The optimum by hand, played by a table; what each role knows; both ways an episode ends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import envs

BATCH = 64


def sail(env, keeper, ship, steps: int):
    """Play two functions obs [B, ...] -> actions [B]; returns of both [B] and lengths [B]."""
    state, timestep = jax.jit(env.reset)(jax.random.split(jax.random.key(4), BATCH))
    step = jax.jit(env.step)
    total, length, going = {name: np.zeros(BATCH) for name in ("keeper", "ship")}, np.zeros(BATCH), np.ones(BATCH, bool)
    for _ in range(steps):
        acts = {name: jnp.asarray(f(np.asarray(timestep.obs[name][:, 0])))[:, None] for name, f in (("keeper", keeper), ("ship", ship))}
        state, timestep = step(state, acts)
        for name in total:
            total[name] += going * np.asarray(timestep.reward[name][:, 0])
        length += going
        going &= ~np.asarray(timestep.last)
    return total, length, timestep


@pytest.mark.parametrize(("harbours", "distance"), [(2, 1), (2, 3), (4, 2)])
def test_a_lamp_for_each_harbour_is_worth_exactly_one(harbours: int, distance: int) -> None:
    env = envs.make(f"lighthouse:{harbours}x{distance}")
    meaning = np.random.default_rng(0).permutation(harbours)  # any will do that both keep

    def ship(obs):
        lamp = obs[:, -harbours:]
        return np.where(lamp.any(1), 1 + np.argsort(meaning)[lamp.argmax(1)], 0)

    total, length, timestep = sail(env, lambda obs: meaning[obs.argmax(1)], ship, distance + 1)
    np.testing.assert_array_equal(total["ship"], np.ones(BATCH))
    np.testing.assert_array_equal(total["keeper"], np.ones(BATCH))
    np.testing.assert_array_equal(length, np.full(BATCH, distance + 1))
    np.testing.assert_array_equal(timestep.discount["ship"], np.zeros((BATCH, 1)))


def test_without_listening_the_return_is_what_the_page_says() -> None:
    total, _, _ = sail(envs.make("lighthouse:3x2"), lambda obs: np.zeros(BATCH, int), lambda obs: np.ones(BATCH, int), 3)
    assert set(total["ship"]) == {-1, 1}
    assert abs(total["ship"].mean() - (2 - 3) / 3) < 5 * np.sqrt(8 / 9 / BATCH)


def test_waiting_is_cut_by_the_time_limit_and_value_goes_on() -> None:
    env = envs.make("lighthouse:2x2", time_limit=5)
    total, length, timestep = sail(env, lambda obs: np.zeros(BATCH, int), lambda obs: np.zeros(BATCH, int), 5)
    assert not np.any(total["ship"])
    assert np.all(length == 5)
    assert np.all(timestep.last)
    np.testing.assert_array_equal(timestep.discount["keeper"], np.ones((BATCH, 1)))


def test_each_role_knows_what_the_other_does_not() -> None:
    env = envs.make("lighthouse:4x3")
    keeper, ship = env.spec.roles
    assert (keeper.obs.shape, keeper.action.n, ship.obs.shape, ship.action.n) == ((4,), 4, (1 + 12 + 4,), 5)
    state, timestep = env.reset(jax.random.split(jax.random.key(0), BATCH))
    np.testing.assert_array_equal(np.asarray(timestep.obs["keeper"]).argmax(-1)[:, 0], state.safe)
    assert len({bytes(np.asarray(obs)) for obs in timestep.obs["ship"]}) == 1
    assert set(np.asarray(state.safe).tolist()) == {0, 1, 2, 3}


def test_steering_elsewhere_turns_back() -> None:
    env = envs.make("lighthouse:2x3")
    state, _ = env.reset(jax.random.split(jax.random.key(0), 1))
    places, step = [], jax.jit(env.step)
    for steer in (1, 1, 2, 2, 2, 0):
        state, _ = step(state, {"keeper": jnp.zeros((1, 1), jnp.int32), "ship": jnp.full((1, 1), steer)})
        places.append((int(state.arm[0]) if state.out[0] else None, int(state.out[0])))
    assert places == [(0, 1), (0, 2), (0, 1), (None, 0), (1, 1), (1, 1)]


def test_rivals_get_opposite_rewards() -> None:
    total, _, _ = sail(envs.make("lighthouse:2x1", rivals=True), lambda obs: obs.argmax(1), lambda obs: np.ones(BATCH, int), 1)
    np.testing.assert_array_equal(total["keeper"], -total["ship"])
    assert np.any(total["ship"] != 0)


@pytest.mark.parametrize("scenario", ["2", "1x2", "2x0", "axb"])
def test_a_scenario_of_another_form_is_refused(scenario: str) -> None:
    with pytest.raises(ValueError, match="is not HxD"):
        envs.make(f"lighthouse:{scenario}")

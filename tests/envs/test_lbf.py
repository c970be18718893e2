"""LBF against Jumanji's, step by step from equal states; first states against Jumanji's distribution; rules by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import envs
from agonist.envs import lbf

BATCH = 64
QUICK = {"xla_llvm_disable_expensive_passes": True, "xla_backend_optimization_level": 0}  # the oracle is compiled to be run once
CASES = {  # scenario -> options: together they reach every rule
    "2s-8x8-2p-2f-coop": {},
    "6x6-4p-2f": {"max_level": 3, "penalty": 0.5},
    "3s-7x7-3p-3f": {"grid": True, "normalize_reward": False, "penalty": 0.25, "shared_reward": False, "time_limit": 40},
    "6x6-1p-1f": {"time_limit": 20, "shared_reward": False},
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


@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")  # Jumanji's
@pytest.mark.parametrize("scenario", CASES)
def test_equals_jumanji_step_by_step(scenario: str) -> None:
    theirs, rules = oracle(scenario, CASES[scenario])
    ours = envs.make(f"lbf:{scenario}", **CASES[scenario])
    steps = rules.options.time_limit + 3

    def step(carry, key):
        state, mine = carry
        tried = jax.random.uniform(key, (BATCH, rules.agents, 6)) + ours_legal(mine) * jnp.array([0.5] * 5 + [1.2])
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

    expected, timestep, expected_state, state = jax.jit(play, compiler_options=QUICK)(jax.random.key(3))
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


# --- by hand


def field(*, foragers: list[tuple[int, int, int]], food: list[tuple[int, int, int]]) -> lbf.Foraging:
    """One environment from (row, column, level)."""
    mine, theirs = np.array(foragers, np.int32).T[..., None], np.array(food, np.int32).T[..., None]
    return lbf.Foraging(*mine, np.zeros(mine[0].shape, bool), *theirs, np.zeros(1, np.int32))


def play(scenario: str, state: lbf.Foraging, *actions: list[int], **options: object) -> list:
    step, out = jax.jit(envs.make(f"lbf:{scenario}", **options).step), []
    for action in actions:
        state, timestep = step(state, {"agents": jnp.array([action])})
        out.append((state, timestep))
    return out


def test_two_weak_foragers_lift_together_what_neither_can_alone() -> None:
    start = field(foragers=[(2, 1, 1), (2, 3, 2)], food=[(2, 2, 3), (4, 4, 1)])
    (_, alone), (_, together) = play("6x6-2p-2f", start, [lbf.LOAD, lbf.STAY], [lbf.LOAD, lbf.LOAD], shared_reward=False)
    np.testing.assert_allclose(alone.reward["agents"], [[0, 0]])
    np.testing.assert_allclose(together.reward["agents"], [[1 * 3 / (3 * 4), 2 * 3 / (3 * 4)]])  # level x food / (all levels x all food)
    np.testing.assert_array_equal(together.obs["agents"][0, 0, :3], [-1, -1, 0])
    assert not bool(together.last[0])


def test_the_last_food_ends_value_and_all_food_is_worth_one() -> None:
    start = field(foragers=[(2, 1, 2), (4, 3, 2)], food=[(2, 2, 1), (4, 4, 2)])
    (_, first), (_, second) = play("6x6-2p-2f", start, [lbf.LOAD, lbf.STAY], [lbf.STAY, lbf.LOAD])
    np.testing.assert_allclose(first.reward["agents"] + second.reward["agents"], [[1, 1]], rtol=1e-6)
    np.testing.assert_array_equal(second.discount["agents"], [[0, 0]])
    assert bool(second.last[0])


def test_nobody_enters_a_cell_that_another_enters_leaves_or_is_food() -> None:
    start = field(foragers=[(0, 0, 1), (0, 2, 1), (3, 1, 1)], food=[(3, 2, 1)])
    ((state, _),) = play("6x6-3p-1f", start, [lbf.RIGHT, lbf.LEFT, lbf.RIGHT])
    np.testing.assert_array_equal([state.row[:, 0], state.col[:, 0]], [[0, 0, 3], [0, 2, 1]])
    follow = field(foragers=[(0, 0, 1), (0, 1, 1), (3, 1, 1)], food=[(3, 2, 1)])
    ((state, _),) = play("6x6-3p-1f", follow, [lbf.RIGHT, lbf.RIGHT, lbf.UP])
    np.testing.assert_array_equal([state.row[:, 0], state.col[:, 0]], [[0, 0, 2], [0, 2, 1]])


# --- first states


@pytest.mark.parametrize(("scenario", "options"), [("8x8-2p-2f-coop", {}), ("7x7-4p-4f", {"max_level": 3})])
def test_first_states_keep_the_rules(scenario: str, options: dict) -> None:
    rules = lbf.read(scenario, lbf.Options(**options))
    keys = jax.random.split(jax.random.key(5), 4000)
    state, _ = jax.jit(envs.make(f"lbf:{scenario}", **options).reset)(keys)
    food, mine = np.stack([state.food_row, state.food_col]), np.stack([state.row, state.col])
    assert food.min() >= 1
    assert food.max() <= rules.size - 2
    assert mine.min() >= 0
    assert mine.max() <= rules.size - 1
    for i in range(rules.food):
        for j in range(i):
            assert np.all(np.abs(food[:, i] - food[:, j]).sum(0) > 1)
    for n in range(rules.agents):
        assert all(np.any(mine[:, n] != mine[:, m], axis=0).all() for m in range(n))
        assert all(np.all(mine[0, n] != food[axis, f]) for f in range(rules.food) for axis in (0, 1))
    heaviest = np.sort(np.asarray(state.level), axis=0)[:3].sum(0)
    assert np.all(np.asarray(state.level) >= 1)
    assert np.all(np.asarray(state.level) <= rules.options.max_level)
    assert np.all(np.asarray(state.food_level) == heaviest) if rules.coop else np.all(np.asarray(state.food_level) <= heaviest)


def test_first_states_are_distributed_as_jumanjis() -> None:
    """Each marginal's chi-square statistic of two samples stays within five deviations of its mean."""
    scenario = "7x7-3p-2f"
    theirs, rules = oracle(scenario, {})
    keys = jax.random.split(jax.random.key(11), 20_000)
    expected = ours_of(jax.jit(jax.vmap(theirs._generator))(keys))
    state, _ = jax.jit(envs.make(f"lbf:{scenario}").reset)(keys)

    def marginals(s: lbf.Foraging) -> dict[str, np.ndarray]:
        size = rules.size
        one = {f"forager {n}": s.row[n] * size + s.col[n] for n in range(rules.agents)}
        one |= {f"food {f}": s.food_row[f] * size + s.food_col[f] for f in range(rules.food)}
        one |= {f"level {n}": s.level[n] for n in range(rules.agents)} | {f"weight {f}": s.food_level[f] for f in range(rules.food)}
        return one | {
            "foragers apart": abs(s.row[0] - s.row[1]) * size + abs(s.col[0] - s.col[1]),
            "food apart": abs(s.food_row[0] - s.food_row[1]) * size + abs(s.food_col[0] - s.food_col[1]),
            "row against food": s.row[0] * size + s.food_row[0],
            "weight against level": s.food_level[0] * 8 + s.level[0],
        }

    wanted = marginals(expected)
    for name, ours in marginals(state).items():
        bins = int(max(np.max(ours), np.max(wanted[name]))) + 1
        a, b = np.bincount(ours, minlength=bins), np.bincount(wanted[name], minlength=bins)
        seen = a + b > 0
        statistic, freedom = np.sum((a - b)[seen] ** 2 / (a + b)[seen]), seen.sum() - 1
        assert statistic < freedom + 5 * np.sqrt(2 * freedom) + 5, f"{name}: {statistic:.1f} at {freedom} degrees of freedom"


# --- words


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("lbf", {}, "name one, such as lbf:2s-8x8-2p-2f-coop"),
        ("lbf:15x15-4p-3fz", {}, "did you mean 15x15-4p-3f"),
        ("lbf:8x9-2p-2f", {}, "not of the form"),
        ("lbf:4x4-1p-1f", {}, "5x5 or more"),
        ("lbf:6x6-2p-9f", {}, "at most 2 food"),
        ("lbf:15x15-60p-8f", {}, "at most 30 foragers"),
        ("lbf:8x8-2p-2f", {"sigth": 2}, "did you mean sight"),
        ("lbf:8x8-2p-2f", {"sight": 9}, "sight is 1 to 8, got 9"),
        ("lbf:8x8-2p-2f", {"max_level": "high"}, "max_level needs a whole number"),
    ],
)
def test_says_what_is_wrong(name: str, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        envs.make(name, **options)


def test_options_overrule_the_name() -> None:
    assert lbf.read("2s-8x8-2p-2f-coop", lbf.Options(sight=3, coop=False))[3:5] == (3, False)
    assert lbf.read("8x8-2p-2f", lbf.Options())[3:5] == (8, False)
    assert envs.make("lbf:2s-8x8-2p-2f", shared_reward=False).spec.roles[0].rewards == "individual"


def test_a_picture_of_each_state() -> None:
    env = envs.make("lbf:8x8-2p-2f")
    before = field(foragers=[(2, 1, 1), (2, 3, 2)], food=[(2, 2, 3), (4, 4, 1)])
    after = before._replace(loading=np.array([[True], [False]]))
    assert np.any(env.render(before, 0) != env.render(after, 0))

"""Payoffs and roles by hand; games from files; what a malformed file is told."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import envs
from agonist.envs import matrix

CLIMBING = [[11, -30, 0], [-30, 7, 6], [0, 0, 5]]


def rewards(name: str, **options: object) -> dict[str, np.ndarray]:
    """role -> what it gets [a, b, N] for every joint action of a game of two."""
    env = envs.make(name, **options)
    sizes = [env.spec.roles[i if len(env.spec.roles) > 1 else 0].action.n for i in (0, 1)]
    joint = jnp.array(list(itertools.product(*map(range, sizes))))
    names = [role.name for role in env.spec.roles]
    state, _ = env.reset(jax.random.split(jax.random.key(0), len(joint)))
    actions = {"agents": joint} if names == ["agents"] else {name: joint[:, i : i + 1] for i, name in enumerate(names)}
    _, timestep = env.step(state, actions)
    return {name: np.asarray(timestep.reward[name]).reshape(*sizes, -1) for name in names}


def test_climbing_pays_both_the_published_table() -> None:
    paid = rewards("matrix:climbing")["agents"]
    np.testing.assert_array_equal(paid, np.stack([CLIMBING] * 2, -1))
    role = envs.make("matrix:climbing").spec.roles[0]
    assert (role.rewards, role.reward_range, role.agents) == ("shared", (-30, 11), 2)


@pytest.mark.parametrize("k", [0, 25, 100])
def test_penalty_games(k: int) -> None:
    paid = rewards(f"matrix:penalty-{k}")["agents"][..., 0]
    np.testing.assert_array_equal(paid, [[-k, 0, 10], [0, 2, 0], [10, 0, -k]])


def test_rock_paper_scissors_sums_to_zero_and_is_the_same_from_both_seats() -> None:
    paid = rewards("matrix:rps")["agents"]
    np.testing.assert_array_equal(paid.sum(-1), np.zeros((3, 3)))
    np.testing.assert_array_equal(paid[..., 1], paid[..., 0].T)
    assert paid[1, 0, 0] == 1  # paper wraps rock
    assert envs.make("matrix:rps").spec.roles[0].rewards == "individual"


def test_a_game_with_two_sides_has_two_roles() -> None:
    paid = rewards("matrix:matching-pennies")
    assert list(paid) == ["row", "column"]
    np.testing.assert_array_equal(paid["row"][..., 0], [[1, -1], [-1, 1]])
    np.testing.assert_array_equal(paid["column"], -paid["row"])


@pytest.mark.parametrize(
    ("name", "pure"), [("chicken", {(0, 1), (1, 0)}), ("prisoners-dilemma", {(1, 1)}), ("stag-hunt", {(0, 0), (1, 1)})]
)
def test_pure_equilibria_of_the_classics(name: str, pure: set[tuple[int, int]]) -> None:
    u = rewards(f"matrix:{name}")["agents"]
    found = {(a, b) for a in (0, 1) for b in (0, 1) if u[a, b, 0] >= u[1 - a, b, 0] and u[a, b, 1] >= u[a, 1 - b, 1]}
    assert found == pure


def test_rounds_cut_and_do_not_end_value() -> None:
    env = envs.make("matrix:coordination", rounds=3)
    state, timestep = env.reset(jax.random.split(jax.random.key(0), 2))
    ends = []
    for _ in range(3):
        state, timestep = env.step(state, {"agents": jnp.zeros((2, 2), jnp.int32)})
        ends.append(bool(timestep.last[0]))
    assert ends == [False, False, True]
    np.testing.assert_array_equal(timestep.discount["agents"], np.ones((2, 2)))


def test_memory_shows_the_last_joint_action_own_first() -> None:
    env = envs.make("matrix:rps", memory=True)
    state, timestep = env.reset(jax.random.split(jax.random.key(0), 1))
    assert not np.any(timestep.obs["agents"])
    _, timestep = env.step(state, {"agents": jnp.array([[2, 0]])})
    np.testing.assert_array_equal(timestep.obs["agents"][0], [[0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1]])
    np.testing.assert_array_equal(timestep.state[0], [0, 0, 1, 1, 0, 0])


FILES = {
    "a.json": json.dumps({"payoffs": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]], "actions": [["c", "d"], ["c", "d"]]}),
    "b.toml": 'kind = "symmetric"\npayoffs = [[3, 0], [5, 1]]\n',
    "c.csv": "3 3, 0 5\n5 0, 1 1\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_payoff_from_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    np.testing.assert_array_equal(rewards(f"matrix:{path}")["agents"], rewards("matrix:prisoners-dilemma")["agents"])


def test_one_number_a_cell_is_common_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "climbing.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in CLIMBING))
    np.testing.assert_array_equal(rewards(f"matrix:{path}")["agents"], rewards("matrix:climbing")["agents"])


def test_three_players_with_choices_of_their_own(tmp_path: Path) -> None:
    table = np.arange(2 * 3 * 4 * 3).reshape(2, 3, 4, 3)
    path = tmp_path / "three.json"
    path.write_text(json.dumps({"payoffs": table.tolist()}))
    env = envs.make(f"matrix:{path}")
    assert [(role.name, role.action.n) for role in env.spec.roles] == [("player_0", 2), ("player_1", 3), ("player_2", 4)]
    state, _ = env.reset(jax.random.split(jax.random.key(0), 1))
    assert env.render(state, 0).ndim == 3
    state, timestep = env.step(state, {f"player_{i}": jnp.array([[a]]) for i, a in enumerate((1, 2, 3))})
    assert [float(timestep.reward[f"player_{i}"][0, 0]) for i in range(3)] == table[1, 2, 3].tolist()
    assert env.render(state, 0).ndim == 3


def test_three_players_of_one_table_are_symmetric() -> None:
    """Everybody gets how many others did as they did: the same from every seat."""
    joint = np.indices((2, 2, 2))
    table = np.stack([(joint == joint[i]).sum(0) - 1 for i in range(3)], axis=-1)
    game = matrix.table(table, None)
    assert matrix.is_symmetric(game)
    assert not matrix.is_common(game)
    table[0, 0, 1, 0] += 1
    assert not matrix.is_symmetric(matrix.table(table, None))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "is no game"),
        ("a.json", "[1]", "needs an entry `payoffs`"),
        ("a.json", '{"payoffs": [[1, 2], [3]]}', "all rows of one length"),
        ("a.json", '{"payoffs": [[1, 2], [3, 4]]}', "numbers in each cell"),
        ("a.json", '{"payoffs": [[1, null], [3, 4]], "kind": "common"}', "finite numbers"),
        ("a.json", '{"payoffs": [[1, 2], [3, 4]], "kind": "comon"}', "did you mean common"),
        ("a.json", '{"payoffs": [[1, 2]], "kind": "symmetric"}', "square table"),
        ("a.json", '{"payoff": []}', "needs an entry"),
        ("a.json", '{"payoffs": [[1]], "kind": "common", "acts": 1}', "did you mean actions"),
        ("a.json", '{"payoffs": [[1, 2]], "kind": "common", "actions": [["a"], ["b"]]}', "actions name"),
        ("a.toml", "payoffs = ", "is no game"),
        ("a.csv", "1,2 3\n", "each cell needs one number"),
        ("a.csv", "1,x\n", "is no game"),
        ("a.csv", "", "each cell needs"),
    ],
)
def test_a_malformed_file_is_refused_in_a_sentence(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        envs.make(f"matrix:{path}")


@pytest.mark.parametrize(("name", "words"), [("matrix:clmbing", "did you mean climbing"), ("matrix:none.json", "cannot be read")])
def test_an_unknown_game_is_refused(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        envs.make(name)

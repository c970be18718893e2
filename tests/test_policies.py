"""Policies as folders and as players."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

from agonist import algos, policies
from agonist.checkpoints import PolicyContent, read_policy, write_policy
from agonist.types import Box, Discrete, MultiDiscrete, Role

ACTIONS = {
    "discrete": Discrete(4),
    "several": MultiDiscrete((2, 3)),
    "real": Box(-1.0, 2.0, (2,)),
}


def role_of(action, agents=2, **more):
    return Role("agents", agents, Box(-1.0, 1.0, (3,)), action, state_shape=(5,), **more)


def made(role, seed=0, name="ppo", **keys):
    config = algos.configure(name, {"hidden": [8], "memory": 4, **keys})
    algorithm = algos.make(name, config, role)
    params = jax.tree.map(lambda leaf: 2 * np.asarray(leaf), algorithm.policy(algorithm.init(jax.random.key(seed))))
    return policies.content(algorithm, config, params, {"run": "r", "step": 3})


@pytest.mark.parametrize("kind", list(ACTIONS))
@pytest.mark.parametrize("keys", [{}, {"recurrent": True, "share": False, "normalise_obs": True, "activation": "tanh"}])
def test_a_folder_is_all_that_playing_takes(tmp_path, kind, keys):
    """Written, read elsewhere and played: the same actions as before, by name and by hand."""
    content = made(role_of(ACTIONS[kind]), **keys)
    before, after = policies.load(content), policies.load(read_policy(write_policy(tmp_path, content)))
    assert (after.name, after.spec, after.provenance["step"]) == (content.name, content.spec, 3)
    one, other = before.player(7), after.player(7)
    rng = np.random.default_rng(0)
    for _ in range(4):
        obs = rng.uniform(-1, 1, (2, 3))
        actions = one.act(obs)
        assert actions.shape == (2, *ACTIONS[kind].shape)
        np.testing.assert_array_equal(actions, other.act(obs))


def test_the_name_is_of_what_plays():
    """Keys that only learning knows, the critic, the run and the algorithm's other names do not change it; the parameters do."""
    role = role_of(Discrete(4))
    name = made(role).name
    assert made(role, lr=0.5, gamma=0.5, critic="state", epochs=9, rollout=64).name == name
    assert made(role, name="mappo").name == name
    assert replace(made(role), provenance={}).name == name
    assert made(role, seed=1).name != name
    assert made(role, activation="tanh").name != name


@pytest.mark.parametrize("action", ACTIONS.values())
def test_a_role_there_and_back(action):
    role = role_of(action)
    told = json.loads(json.dumps(policies.role_out(role)))
    assert policies.role_in(told) == replace(role, obs=Box(float("-inf"), float("inf"), (3,)))


def test_infinite_bounds_are_left_out_and_come_back():
    role = role_of(Box(float("-inf"), 1.0, (2,)))
    told = policies.role_out(role)
    assert told["action"] == {"space": "Box", "high": 1.0, "shape": [2], "dtype": "float32"}
    assert policies.role_in(told).action == role.action


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        (role_of(Discrete(5)), "2 agents, observations [3], actions Discrete(n=5)"),
        (role_of(Discrete(4), agents=3), "3 agents, observations [3], actions Discrete(n=4)"),
        (replace(role_of(Discrete(4)), obs=Box(0.0, 1.0, (4, 4))), "2 agents, observations [4, 4], actions Discrete(n=4)"),
    ],
)
def test_shapes_that_differ_are_both_named(other, asked):
    content = made(role_of(Discrete(4)))
    with pytest.raises(ValueError, match=r".") as error:
        policies.load(content, other)
    assert (
        str(error.value)
        == f"policy {content.name} plays 2 agents, observations [3], actions Discrete(n=4); role 'agents' here asks for {asked}"
    )
    renamed = replace(role_of(Discrete(4)), name="others")
    assert policies.load(content, renamed).algorithm.role == renamed


# what a stranger sends


def altered(**spec):
    content = made(role_of(Discrete(4)))
    return PolicyContent({**content.spec, **spec}, content.tensors)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"algo": "os:system"}, "names os:system, without the digits of its source: nothing installed here"),
        ({"algo": "os:system#0123456789abcdef"}, "needs own code, os:system; code that a file names is run only when you say so"),
        (
            {"config": {"torso": "os:system#0123456789abcdef"}},
            "needs own code, os:system; code that a file names is run only when you say so",
        ),
        ({"algo": "os.system"}, "cannot be played here: nothing called 'os.system'"),
        ({"algo": "../ppo"}, "cannot be played here: nothing called '../ppo'"),
        ({"algo": ["ppo"]}, "cannot be played here: nothing called"),
        ({"config": {"make": "os:system"}}, "cannot be played here: ppo has no key 'make'"),
        ({"config": {"activation": "__import__('os')"}}, "cannot be played here: activation is one of relu"),
        ({"config": {"hidden": [8, 8]}}, "holds other tensors than are asked for here"),
        ({"config": {"hidden": [9]}}, "is asked for here"),
        ({"config": [1]}, "does not say what it takes to play"),
        ({"role": None}, "does not say what it takes to play"),
        ({"role": {"name": "x"}}, "does not say what it takes to play"),
        ({"role": {**policies.role_out(role_of(Discrete(4))), "action": {"space": "eval", "n": 3}}}, "does not say what it takes to play"),
        (
            {"role": {**policies.role_out(role_of(Discrete(4))), "action": {"space": "Discrete", "m": 3}}},
            "does not say what it takes to play",
        ),
    ],
)
def test_a_spec_names_what_is_registered_and_nothing_else(spec, sentence, monkeypatch):
    policies.load(made(role_of(Discrete(4))))
    monkeypatch.setattr(
        "importlib.import_module", lambda name: pytest.fail(f"{name} was imported") if "agonist" not in name else real(name)
    )
    with pytest.raises(ValueError, match=r".") as error:
        policies.load(altered(**spec))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def real(name):
    import sys

    return sys.modules[name]


def test_a_spec_without_its_parts_is_a_sentence():
    with pytest.raises(ValueError, match="does not say what it takes to play: KeyError 'role'"):
        policies.load(PolicyContent({}, {}))


def test_tensors_are_checked_by_name_and_shape():
    content = made(role_of(Discrete(4)))
    name = next(iter(content.tensors))
    with pytest.raises(ValueError, match=r"is float32\[1\]; float32\["):
        policies.load(replace(content, tensors={**content.tensors, name: np.zeros(1, np.float32)}))


# by hand


def test_a_player_plays_as_its_algorithm_does():
    """Sampled with a key of its own by each step; its memory goes on until an episode begins."""
    policy = policies.load(made(role_of(Discrete(4)), recurrent=True))
    seen = np.random.default_rng(1).uniform(-1, 1, (5, 2, 3))
    player, algorithm = policy.player(3), policy.algorithm
    act = jax.jit(algorithm.act)

    def by_hand(start):
        carry, out = algorithm.carry(1), []
        for t, obs in enumerate(seen):
            timestep = policies._moment(algorithm.role, obs.astype(np.float32), None)
            actions, _, carry = act(policy.params, timestep, carry, jax.random.fold_in(jax.random.key(3), start + t))
            out.append(np.asarray(actions)[0])
        return out

    np.testing.assert_array_equal([player.act(obs) for obs in seen], by_hand(0))
    player.reset()
    np.testing.assert_array_equal([player.act(obs) for obs in seen], by_hand(5))


def test_a_greedy_player_always_does_the_same_and_a_sampled_one_does_not():
    policy, obs = policies.load(made(role_of(Discrete(4)))), np.zeros((2, 3))
    greedy, sampled = policy.player(greedy=True), policy.player()
    assert len({tuple(greedy.act(obs)) for _ in range(20)}) == 1
    assert len({tuple(sampled.act(obs)) for _ in range(20)}) > 1
    assert [policy.player(4).act(obs).tolist() for _ in range(3)] == [policy.player(4).act(obs).tolist()] * 3


@pytest.mark.parametrize("greedy", [False, True])
def test_an_illegal_action_is_never_taken(greedy):
    policy, rng = policies.load(made(role_of(MultiDiscrete((2, 3))))), np.random.default_rng(0)
    player = policy.player(greedy=greedy)
    for _ in range(30):
        legal = rng.random((2, 5)) < 0.5
        legal[:, 0] |= ~legal[:, :2].any(1)
        legal[:, 2] |= ~legal[:, 2:].any(1)
        first, second = player.act(rng.uniform(-1, 1, (2, 3)), legal).T
        assert legal[[0, 1], first].all()
        assert legal[[0, 1], 2 + second].all()


@pytest.mark.parametrize(
    ("obs", "legal", "sentence"),
    [
        (np.zeros(3), None, "observations of role 'agents' are [2, 3], got [3]"),
        (np.zeros((1, 2, 3)), None, "observations of role 'agents' are [2, 3], got [1, 2, 3]"),
        (np.zeros((2, 3)), np.ones(4), "legal actions of role 'agents' are [2, 4], got [4]"),
        (np.zeros((2, 3)), np.ones((2, 5)), "legal actions of role 'agents' are [2, 4], got [2, 5]"),
    ],
)
def test_shapes_by_hand_are_checked(obs, legal, sentence):
    player = policies.load(made(role_of(Discrete(4)))).player()
    with pytest.raises(ValueError, match=r".") as error:
        player.act(obs, legal)
    assert str(error.value) == sentence


def test_where_actions_are_real_nothing_is_legal_or_not():
    player = policies.load(made(role_of(ACTIONS["real"]))).player(1)
    again = policies.load(made(role_of(ACTIONS["real"]))).player(1)
    np.testing.assert_array_equal(player.act(np.zeros((2, 3)), legal=np.ones((2, 2))), again.act(np.zeros((2, 3))))

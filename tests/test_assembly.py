"""Who sits where, and what a spec becomes."""

import jax
import numpy as np
import pytest

from agonist import algos, assembly, policies, specs
from agonist.assembly import seat
from agonist.checkpoints import PolicyContent
from agonist.testing import stairs
from agonist.types import Group

SPEC = stairs.SPEC
CLIMBERS, GUIDE = SPEC.roles


def content_of(role, seed, **keys):
    config = algos.configure("ppo", {"hidden": [8], **keys})
    algorithm = algos.make("ppo", config, role)
    return policies.content(algorithm, config, algorithm.policy(algorithm.init(jax.random.key(seed))), {"run": f"r{seed}"})


@pytest.fixture(scope="module")
def kept():
    """Policies by what somebody types."""
    out = {f"guide{i}": content_of(GUIDE, i) for i in range(3)} | {f"climber{i}": content_of(CLIMBERS, i, recurrent=True) for i in range(2)}
    return out | {"wide": content_of(GUIDE, 7, hidden=[9])}


@pytest.fixture(scope="module")
def seated(kept):
    def make(**players):
        def find(text):
            if text not in kept:
                raise ValueError(f"no run {text!r}")
            return kept[text]

        return seat(SPEC, {key.replace("_", "."): value for key, value in players.items()}, find, learner)

    return make


def learner(role):
    config = algos.configure("ppo", {"hidden": [8]})
    return config, Group(role.name, algos.make("ppo", config, role), trains=True)


def held(seated):
    return [(group.name, group.role.seats, group.trains) for group in seated.line_up]


def test_everybody_learns_unless_told_otherwise(seated):
    made = seated()
    assert held(made) == [("climbers", (0, 1, 2), True), ("guide", (0,), True)]
    assert made.frozen.params == ((), ())
    assert all(config is not None for config in made.configs)


def test_scripts_policies_and_trainees_share_a_role(seated, kept):
    made = seated(climbers_1="climber0", climbers_2="random", guide="action:1")
    assert held(made) == [("climbers.0", (0,), True), ("climbers.1", (1,), False), ("climbers.2", (2,), False), ("guide", (0,), False)]
    assert [group.algorithm.name for group in made.line_up] == ["ppo", "ppo", "random", "action:1"]
    assert [config is not None for config in made.configs] == [True, False, False, False]
    stack = jax.tree.leaves(made.frozen.params[1])
    alone = jax.tree.leaves(policies.load(kept["climber0"]).params)
    assert [leaf.shape for leaf in stack] == [(1, *leaf.shape) for leaf in alone]


def test_one_seat_may_differ_from_its_role(seated):
    made = seated(climbers="random", climbers_1="trainee")
    assert sorted(held(made))[:2] == [("climbers.0+2", (0, 2), False), ("climbers.1", (1,), True)]


def test_several_policies_are_stacked_and_met_with_equal_odds(seated, kept):
    made = seated(guide=["guide0", "guide1", "guide2"])
    [(_, params)] = [(group, params) for group, params in zip(made.line_up, made.frozen.params, strict=True) if not group.trains]
    for i in range(3):
        one = policies.load(kept[f"guide{i}"]).params
        jax.tree.map(lambda stack, leaf, i=i: np.testing.assert_array_equal(stack[i], leaf), params, one)
    np.testing.assert_allclose(made.frozen.odds[1], [1 / 3] * 3)
    assert made.frozen.odds[0].shape == (1,)


@pytest.mark.parametrize(
    ("players", "sentence"),
    [
        ({"guid": "random"}, "stairs has no seat players.guid; did you mean guide"),
        ({"climbers_3": "random"}, "stairs has no seat players.climbers.3; did you mean climbers."),
        ({"guide": "nobody"}, "no run 'nobody'"),
        ({"guide": []}, "players of 'guide' are an empty list: name one policy or more"),
        ({"guide": "action:2"}, "action:2 is none of role 'guide', whose actions are Discrete(n=2)"),
        ({"guide": "action:x"}, "no script 'action:x': there is random, and action:K with a number K"),
        ({"guide": ["guide0", "wide"]}, "policies met in turn need one architecture; "),
    ],
)
def test_what_cannot_sit_there_is_said(seated, players, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        seated(**players)
    assert str(error.value).startswith(sentence)


def test_a_policy_of_another_shape_is_refused_with_both(seated, kept):
    with pytest.raises(ValueError, match=r".") as error:
        seated(guide="climber0")
    theirs = "3 agents, observations [2], actions Discrete(n=3)"
    ours = "1 agents, observations [1], actions Discrete(n=2)"
    assert str(error.value) == f"policy {kept['climber0'].name} plays {theirs}; role 'guide' here asks for {ours}"


def nobody(text):
    raise AssertionError(f"nobody was asked for, but {text!r}")


def test_a_spec_becomes_a_program():
    keys = {"algo": "ppo", "env": "lighthouse:3x2", "envs": 4, "rollout": 8, "minibatches": 1, "hidden": [8], "eval_episodes": 4}
    made = assembly.assemble(specs.resolve({**keys, "roles.ship.hidden": "[4]", "players.keeper": "random", "env.rivals": "true"}), nobody)
    assert [(group.name, group.trains) for group in made.line_up] == [("keeper", False), ("ship", True)]
    assert made.configs[1].hidden == (4,)
    assert made.program.steps == 32
    shapes = made.program.shape(made.frozen)
    assert shapes.learners[0] == ()
    assert shapes.workers.length.shape == (2, 2)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"roles.shipp.lr": 1}, "lighthouse:3x2 has no role 'shipp' for roles.shipp; did you mean ship?"),
        ({"roles.ship.lrr": 1}, "roles.ship: ppo has no key 'lrr'"),
        ({"env.rivalz": 1}, "lighthouse:3x2 has no key 'rivalz'; did you mean rivals?"),
        ({"players.keeper": "random", "players.ship": "random"}, "nobody in this line-up learns"),
    ],
)
def test_what_does_not_fit_the_environment_is_said(keys, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        assembly.assemble(specs.resolve({"algo": "ppo", "env": "lighthouse:3x2", **keys}), nobody)
    assert str(error.value).startswith(sentence)


def test_contents_are_what_find_gives():
    assert isinstance(content_of(GUIDE, 1), PolicyContent)
    assert content_of(GUIDE, 1).name == content_of(GUIDE, 1).name != content_of(GUIDE, 2).name


def test_an_environment_of_the_host_is_stepped_from_one_host(monkeypatch):
    pytest.importorskip("gymnasium")
    spec = specs.resolve({"algo": "ppo", "env": "gymnasium:CartPole-v1", "steps": 1000})
    monkeypatch.setattr(assembly.jax, "process_count", lambda: 2)
    with pytest.raises(ValueError, match="is stepped from one host: several train compiled environments only"):
        assembly.assemble(spec, None)

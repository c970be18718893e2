"""The use-cases as functions: what comes back, what is named, what is refused."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import agonist
from agonist import api
from agonist.runs import open_store
from agonist.types import Env, Policy

TINY = {"rollout": 8, "envs": 4, "hidden": [8], "eval_every": 2, "eval_episodes": 4, "epochs": 1, "minibatches": 1, "shards": 1}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return str(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def run(store):
    """Both players of a game, by one policy."""
    return api.train("ppo", "matrix:rps", steps=130, seed=2, store=store, **TINY, **{"env.memory": True, "env.rounds": 5})


@pytest.fixture(scope="module")
def pair(store):
    """Two roles, both learning."""
    return api.train("ppo", "lighthouse:2x1", steps=64, store=store, **TINY)


def refused(call, *args, **keys):
    with pytest.raises(ValueError, match=r".") as error:
        call(*args, **keys)
    assert "\n" not in str(error.value)
    return str(error.value)


def folder_of(store, policy, place):
    """A policy's folder, taken elsewhere."""
    [found] = [path for path in open_store(store).list("runs/") if path.endswith(f"{policy.name}/spec.json")]
    target = place / policy.name
    shutil.copytree(f"{store}/{found.rpartition('/')[0]}", target)
    return target


def test_the_package_offers_it():
    for name in agonist.__all__:
        assert getattr(agonist, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="has no attribute 'trane'"):
        _ = agonist.trane


def test_a_run_is_what_came_of_it(run):
    assert run.result["steps"] == 128
    assert run.result["status"] == "finished"
    assert (run.spec["algo"], run.spec["env.rounds"], run.spec["steps"]) == ("ppo", 5, 128)
    assert set(run.metrics("eval/return", "loss/policy")) == {"eval/return", "loss/policy"}
    assert run.summary["id"] == run.id
    assert refused(run.policy, role="row") == f"run {run.id} has policies for agents, not for 'row'"


def test_a_policy_plays_without_its_run(run, store, tmp_path):
    """Its folder elsewhere, the store not there."""
    policy = run.policy()
    before = policy.player(seed=5)
    loaded = api.load_policy(str(folder_of(store, policy, tmp_path)), store=str(tmp_path / "nothing"))
    assert loaded.name == run.result["policy"]
    player, rng = loaded.player(seed=5), np.random.default_rng(0)
    for _ in range(5):
        obs, legal = rng.random((2, 6)), np.ones((2, 3), bool)
        legal[:, rng.integers(3)] = False
        actions = player.act(obs, legal)
        np.testing.assert_array_equal(actions, before.act(obs, legal))
        assert legal[[0, 1], actions].all()
    assert not (tmp_path / "nothing").exists()
    played = api.evaluate(loaded, episodes=3, store=str(tmp_path / "nothing"))
    assert played["env"] == "matrix:rps"
    assert played["eval/length"] == 5  # the options of its environment came with it


def test_a_policy_where_shapes_differ_names_both(run):
    sentence = refused(api.evaluate, run, env="matrix:rps")
    theirs, ours = ("2 agents, observations [6], actions Discrete(n=3)", "2 agents, observations [1], actions Discrete(n=3)")
    assert sentence == f"policy {run.result['policy']} plays {theirs}; role 'agents' here asks for {ours}"


def test_an_evaluation_says_what_was_played(run):
    played = api.evaluate(run, episodes=6, seed=3)
    assert (played["policy"], played["env"], played["episodes"], played["seed"]) == (run.result["policy"], "matrix:rps", 6, 3)
    assert played["play"] == "sampled"
    low, high = played["eval/interval"]
    assert low <= played["eval/return"] <= high
    assert api.evaluate(run.policy(), episodes=6, seed=3) == played
    assert api.evaluate(run, episodes=6, seed=3, sampled=False)["play"] == "greedy"
    assert refused(api.evaluate, run, episodes=0) == "episodes needs a whole number of 1 or more, got 0"


@pytest.mark.parametrize("sampled", [True, False])
def test_the_play_named_is_the_policys_and_not_its_partners(run, sampled):
    """Somebody else holds the first seat; always the same hand against the policy's."""
    played = api.evaluate(run, episodes=4, sampled=sampled, **{"players.agents.0": "action:1"})
    assert played["play"] == ("sampled" if sampled else "greedy")
    assert played["policy"] == run.result["policy"]
    assert played["eval/return"] == played["eval/return/agents.1"] == -played["eval/return/agents.0"]  # each its own


def test_a_run_of_two_roles_is_played_by_both_policies(pair):
    played = api.evaluate(pair, episodes=5)
    names = {role: pair.policy(role=role).name for role in ("keeper", "ship")}
    assert played["policies"] == names
    assert played["policy"] == names["keeper"]  # the first role's
    assert played["eval/return/keeper"] == played["eval/return/ship"] == played["eval/return"]
    assert pair.result["policies"] == names
    assert api.evaluate(pair.id, episodes=5, store=pair.store) == played
    alone = refused(api.evaluate, pair.policy(role="ship"), episodes=5)
    assert alone == "nobody plays role 'keeper': give players.keeper=POLICY or random"
    shy = api.evaluate(pair.policy(role="ship"), episodes=5, store=pair.store, **{"players.keeper": f"{pair.id}@last:keeper"})
    assert shy["policies"]["ship"] == names["ship"]


def test_what_an_evaluation_cannot_do_is_said(run, store):
    assert refused(api.evaluate, run, **{"player.agents": "random"}).startswith(
        "'player.agents' is no key here: there are env.KEY and players."
    )
    assert "has no seat players.agent" in refused(api.evaluate, run, **{"players.agent": "random"})
    homeless = replace(run.policy(), provenance={})
    assert refused(api.evaluate, homeless) == (f"policy {homeless.name} does not say where it was trained: name an environment with --env")
    assert "no run 'nothing'" in refused(api.evaluate, "nothing", store=store)
    assert "A policy is a folder, a hash" in refused(api.load_policy, "nothing", store=store)


def test_watching_is_one_episode(run):
    shown = list(api.watch(run, seed=1))
    assert len(shown) == 6
    assert [frame.last for frame in shown] == [False] * 5 + [True]
    assert len(list(api.watch(run, seed=1, limit=2))) == 3


def test_what_would_be_done_is_told(tmp_path):
    told = api.plan({"algo": "ppo", "env": "lighthouse:2x1", "steps": 700, **TINY, "players.ship": "random"}, str(tmp_path / "s"))
    assert (told["updates"], told["steps_an_update"], told["spec"]["steps"], told["evaluations"]) == (21, 32, 672, 11)
    assert (told["trains"], told["plays"]) == (["keeper"], ["ship"])
    assert list(tmp_path.iterdir()) == []


def test_runs_are_listed_and_shown(run, pair, store):
    assert [row["id"] for row in api.list_runs(store)] == sorted([run.id, pair.id])
    shown = api.show_run(run.id[:-1], store)
    assert (shown["id"], shown["kind"], shown["spec"]["seed"]) == (run.id, "train", 2)


def test_a_resumed_run_keeps_its_keys(run, store):
    for keys in ({"lr": 0.1}, {"seed": 3}, {"algo": "ppo"}, {"env": "matrix:rps"}):
        sentence = refused(api.train, resume=run, store=store, **keys)
        assert sentence == "a resumed run keeps its own keys: give steps, and nothing else"
    assert api.train(resume=run.id[:-2], store=store).result == run.result


def test_environments_and_types():
    env = api.make("matrix:rps", rounds=3)
    assert isinstance(env, Env)
    assert env.spec.time_limit == 3
    assert refused(api.make, "matrix:rsp").startswith("matrix:rsp is no game")


def test_policies_are_found_by_hash_run_and_step(run, store):
    for text in (run.result["policy"], run.result["policy"][:8], run.id, f"{run.id}@best"):
        found = api.load_policy(text, store)
        assert isinstance(found, Policy)
        assert found.name == run.result["policy"]
    assert api.load_policy(f"{run.id}@last", store).name == run.result["policy_last"]
    assert api.load_policy(f"{run.id}@64", store).provenance["step"] == 64

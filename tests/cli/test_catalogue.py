"""`agonist envs` and `agonist algos`."""

import re

import pytest


def test_every_family_is_listed(agonist):
    said = agonist("envs", "--json")
    assert said.code == 0
    families = {row["family"]: row for row in said.json["envs"]}
    assert {"lbf", "matrix", "lighthouse"} <= set(families)
    assert "lbf:2s-8x8-2p-2f-coop" in families["lbf"]["scenarios"]
    assert families["lbf"]["package"] is None
    shown = agonist("envs").out
    for name, row in families.items():
        assert name in shown
        assert row["scenarios"][0] in shown
    assert [row["family"] for row in agonist("envs", "matrix", "--json").json["envs"]] == ["matrix"]


def test_an_environment_is_described(agonist):
    told = agonist("envs", "lbf:2s-8x8-2p-2f-coop", "--json").json
    assert told["name"] == "lbf:2s-8x8-2p-2f-coop"
    assert told["time_limit"] == 100
    assert [(role["name"], role["agents"], role["reward_range"]) for role in told["roles"]] == [("agents", 2, [0, 1])]
    assert "sight" in [row["key"] for row in told["options"]]
    shown = agonist("envs", "lbf:2s-8x8-2p-2f-coop").out
    for part in ("agents", "100 steps", "Discrete(n=6)", "shared", "sight"):
        assert part in shown


def test_an_environments_options_are_taken(agonist):
    assert agonist("envs", "matrix:rps", "rounds=7", "--json").json["time_limit"] == 7
    assert agonist("envs", "matrix:rps", "env.rounds=7", "--json").json["time_limit"] == 7
    said = agonist("envs", "matrix:rps", "roundz=7")
    assert said.code == 2
    assert "did you mean rounds?" in said.err


def test_every_key_of_an_algorithm_has_help(agonist):
    told = agonist("algos", "ppo", "--json").json
    rows = [*told["keys"], *told["training"]]
    assert {"lr", "gamma", "hidden", "envs", "shards"} <= {row["key"] for row in rows}
    for row in rows:
        assert row["help"]
        assert row["type"]
        assert not re.search(r"typing|<class", row["type"])
    assert {row["key"]: row["default"] for row in rows}["hidden"] == [128, 128]
    shown = agonist("algos", "ppo").out
    for row in rows:
        assert f"\n{row['key']} " in shown


def test_a_name_that_settles_a_key_says_so(agonist):
    keys = {row["key"]: row for row in agonist("algos", "mappo", "--json").json["keys"]}
    assert (keys["critic"]["default"], keys["critic"]["fixed"]) == ("state", True)
    assert not keys["lr"]["fixed"]
    assert "settled by the algorithm's name" in " ".join(agonist("algos", "mappo").out.split())


def test_every_algorithm_is_listed(agonist):
    found = {row["algo"]: row for row in agonist("algos", "--json").json["algos"]}
    assert {"ppo", "ippo", "mappo"} <= set(found)
    shown = agonist("algos").out
    for row in found.values():
        assert row["about"]
        assert row["source"]
        assert row["algo"] in shown


@pytest.mark.parametrize(
    ("words", "sentence"), [("envs lbx", "did you mean lbf?"), ("envs matrix:rpss", "did you mean rps?"), ("algos ppp", "did you mean ppo")]
)
def test_an_unknown_name(agonist, words, sentence):
    said = agonist(*words.split())
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err

"""Names, cards, plugins and what is imported for them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import jax
import numpy as np
import pytest

from agonist import envs, plugins
from agonist.types import Env


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_listing_imports_neither_jax_nor_gymnasium() -> None:
    code = "import sys; from agonist import envs; envs.families(); print([m for m in ('jax', 'gymnasium', 'numpy') if m in sys.modules])"
    assert python(code) == "[]"


def test_making_one_imports_no_other() -> None:
    code = "import sys; from agonist import envs; envs.make('lbf:8x8-2p-2f')"
    code += "; print([m for m in ('gymnasium', 'agonist.envs.matrix', 'agonist.envs.lighthouse') if m in sys.modules])"
    assert python(code) == "[]"


def test_families_tell_what_they_are() -> None:
    listed = {row["family"]: row for row in envs.families()}
    assert {"gymnasium", "lbf", "lighthouse", "matrix"} <= set(listed)
    assert listed["lbf"]["package"] is None
    assert listed["lbf"]["scenarios"][0] == "lbf:2s-8x8-2p-2f-coop"
    assert all(row["about"] and row["source"] for row in listed.values())


def test_a_broken_plugin_is_listed_and_raises_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_module:card", "agonist.envs")
    offers = (*plugins.installed("agonist.envs"), plugins.Offer("agonist.envs", "broken", broken, "theirs", "1.0"))
    monkeypatch.setattr(plugins, "installed", lambda group: offers)
    row = next(row for row in envs.families() if row["family"] == "broken")
    assert "no_such_module" in row["error"]
    assert envs.describe("matrix:rps")["name"] == "matrix:rps"
    with pytest.raises(ValueError, match=r"broken.*no_such_module"):
        envs.make("broken:x")


def test_a_missing_package_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envs, "find_spec", lambda name: None)
    row = next(row for row in envs.families() if row["family"] == "gymnasium")
    assert row["install"] == "pip install 'agonist[gymnasium]'"
    with pytest.raises(ValueError, match=r"pip install 'agonist\[gymnasium\]'"):
        envs.make("gymnasium:CartPole-v1")


def test_an_unknown_family_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="no family of environments 'matrx'; did you mean matrix"):
        envs.make("matrx:rps")


def test_describe_tells_spaces_rewards_and_options() -> None:
    told = envs.describe("lighthouse:3x2", rivals=True)
    assert [role["name"] for role in told["roles"]] == ["keeper", "ship"]
    assert told["roles"][1]["reward_range"] == [-1, 1]
    assert (told["time_limit"], told["kind"]) == (12, "compiled")
    assert {row["key"] for row in told["options"]} == {"rivals", "time_limit"}


def test_lift_batches_an_environment_of_one_stream() -> None:
    batch = envs.make("lighthouse:2x2")
    one = Env(
        spec=batch.spec,
        reset=lambda key: jax.tree.map(lambda leaf: leaf[0], batch.reset(key[None])),
        step=lambda state, actions: jax.tree.map(
            lambda leaf: leaf[0], batch.step(*jax.tree.map(lambda leaf: leaf[None], (state, actions)))
        ),
        render=lambda state, _: batch.render(jax.tree.map(lambda leaf: leaf[None], state), 0),
    )
    lifted, keys = envs.lift(one), jax.random.split(jax.random.key(1), 5)
    for a, b in zip(jax.tree.leaves(lifted.reset(keys)), jax.tree.leaves(batch.reset(keys)), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(lifted.render(lifted.reset(keys)[0], 3), batch.render(batch.reset(keys)[0], 3))

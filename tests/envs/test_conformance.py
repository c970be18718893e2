"""Every environment that comes with Agonist keeps the rules of `agonist.testing`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from agonist import envs
from agonist.testing.envs import EnvSuite, HostEnvSuite


class TestForaging(EnvSuite):
    def make(self) -> Any:
        return envs.make("lbf:2s-5x5-2p-1f-coop", time_limit=40)


class TestForagingPlanes(EnvSuite):
    def make(self) -> Any:
        return envs.make("lbf:1s-6x6-4p-1f", grid=True, penalty=0.1, shared_reward=False, normalize_reward=False, max_level=3)


class TestCommonPayoff(EnvSuite):
    def make(self) -> Any:
        return envs.make("matrix:climbing")


class TestTwoRolesWithMemory(EnvSuite):
    def make(self) -> Any:
        return envs.make("matrix:matching-pennies", memory=True, rounds=7)


class TestLighthouse(EnvSuite):
    def make(self) -> Any:
        return envs.make("lighthouse:3x2")


class TestLighthouseRivals(EnvSuite):
    def make(self) -> Any:
        return envs.make("lighthouse:2x3", rivals=True)


class TestCartPole(HostEnvSuite):
    draws = find_spec("pygame") is not None

    def make(self) -> Any:
        return envs.make("gymnasium:CartPole-v1", time_limit=20)


class TestPendulum(HostEnvSuite):
    draws = find_spec("pygame") is not None

    def make(self) -> Any:
        return envs.make("gymnasium:Pendulum-v1", time_limit=15)


@pytest.mark.parametrize("row", envs.families(), ids=lambda row: row["family"])
def test_listed_scenarios_can_be_made(row: dict[str, Any]) -> None:
    assert row["error"] is None
    for name in row["scenarios"]:
        assert envs.describe(name)["name"] == name

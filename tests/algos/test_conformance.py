"""Every algorithm that comes with Agonist keeps the rules of `agonist.testing`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from agonist.algos.ppo import PPOConfig, make_ppo
from agonist.algos.scripted import make_script
from agonist.testing.algorithms import AlgorithmSuite, PlayerSuite, team
from agonist.types import Box, Discrete, MultiDiscrete

SEEN = None  # a rule that another class has already tried on the same code: a learner is dear to compile
TINY = PPOConfig(rollout=8, hidden=(8,), memory=6, epochs=2, minibatches=2)
RECURRENT = replace(TINY, recurrent=True, hidden=(8, 8))


class PPOSuite(AlgorithmSuite):
    role = team(Discrete(4))
    config = TINY

    def make(self, config: Any, axes: tuple[str, ...] = ()) -> Any:
        return make_ppo(config, self.role, axes)


class TestFeedForward(PPOSuite):
    config = replace(TINY, normalise_obs=True)


class TestStateCritic(PPOSuite):
    role = team(MultiDiscrete((3, 2)))
    config = replace(TINY, critic="state", normalise_obs=True, value_clip=False)


class TestSeparateParameters(PPOSuite):
    """Of some of a role's seats, with actions between bounds."""

    role = team(Box(-2.0, 1.0, (2,)), agents=3, seats=(2, 0))
    config = replace(TINY, share=False)
    test_equal_shards_are_one_of_them = SEEN


class TestPixels(PPOSuite):
    """And actions without bounds."""

    role = team(Box(-np.inf, np.inf, ()), obs=(3, 3, 1), agents=1)
    config = replace(TINY, torso="cnn")
    test_equal_shards_are_one_of_them = SEEN


class TestRecurrent(PPOSuite):
    config = RECURRENT
    test_equal_shards_are_one_of_them = SEEN


class TestChunks(PPOSuite):
    config = replace(RECURRENT, chunk=4, critic="state", share=False)


class ScriptSuite(PlayerSuite):
    config = "random"

    def make(self, config: Any, axes: tuple[str, ...] = ()) -> Any:
        return make_script(config, self.role)


class TestRandom(ScriptSuite):
    role = team(Discrete(5))
    plays_greedily = False


class TestRandomNumbers(ScriptSuite):
    role = team(Box(-2.0, 1.0, (2,)))
    plays_greedily = False


class TestRandomChoices(ScriptSuite):
    role = team(MultiDiscrete((3, 2)))
    plays_greedily = False


class TestConstant(ScriptSuite):
    role = team(Discrete(5))
    config = "action:3"
    heeds_legal = False

"""Gymnasium's environments (Towers et al. 2024, arXiv:2407.17032) as a HostEnv of one agent: `gymnasium:CartPole-v1`.

A batch is stepped one after another in this process. `terminated` ends value (discount 0), `truncated` does not. What the
spaces become: Discrete and MultiDiscrete as they are (counted from 0); a continuous action as it is where all its entries have
the same bounds, and from -1 to 1 scaled to each entry's own where they differ, cut at the bounds either way; an observation of
numbers as it is, float32 unless it is bytes, and any other flattened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

from agonist.options import nearest
from agonist.types import Box, Discrete, EnvSpec, MultiDiscrete, Role, Space, TimeStep, option

if TYPE_CHECKING:
    from agonist.types import HostArray

ROLE = "agents"
_TimeStep: Callable[..., TimeStep] = TimeStep  # its arrays are numpy's here


@dataclass(frozen=True)
class Options:
    """What is told to Gymnasium."""

    time_limit: int | None = option(None, "an episode is cut here; as registered where not given", unit="steps", span=(1, None))
    settings: str = option("{}", 'further arguments of gymnasium.make, as JSON: {"gravity": 9.81}')


def make(scenario: str, options: Options) -> Batch:
    """The environment `gymnasium:<scenario>`, any registered id."""
    if ":" in scenario:  # Gymnasium would import the module before the colon
        raise ValueError(
            f"gymnasium:{scenario} names a module to import; import it yourself, then ask for gymnasium:{scenario.rpartition(':')[2]}"
        )
    try:
        settings = json.loads(options.settings)
    except ValueError as error:
        raise ValueError(f"settings of gymnasium:{scenario} are no JSON: {error}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"settings of gymnasium:{scenario} are an object such as {{}}, got {options.settings}")
    return Batch(scenario, settings | ({"max_episode_steps": options.time_limit} if options.time_limit else {}))


def _one(scenario: str, settings: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(scenario, disable_env_checker=True, **settings)
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"gymnasium:{scenario} needs more than is installed: {error}") from None
    except gymnasium.error.UnregisteredEnv:
        raise ValueError(f"Gymnasium has no environment {scenario!r}{nearest(scenario, gymnasium.registry)}") from None
    except (gymnasium.error.Error, TypeError, ImportError) as error:
        raise ValueError(f"gymnasium:{scenario} cannot be made: {error}") from None


class Batch:
    """Copies of one environment, each with its own random stream; as many as `reset` is given seeds."""

    def __init__(self, scenario: str, settings: Mapping[str, Any]) -> None:
        first = _one(scenario, settings)
        self._pictures = "rgb_array" in first.metadata.get("render_modes", ())
        if self._pictures and "render_mode" not in settings:
            first.close()
            settings = {**settings, "render_mode": "rgb_array"}
            first = _one(scenario, settings)
        self._scenario, self._settings = scenario, settings
        self._envs = [first]
        obs, self._see = _observation(scenario, first.observation_space)
        action, self._act, choices = _action(scenario, first.action_space)
        width = int(np.prod(obs.shape))
        self._dtype, self._legal = obs.dtype, choices
        limit = first.spec.max_episode_steps if first.spec is not None else None
        self.spec = EnvSpec(
            name=f"gymnasium:{scenario}",
            roles=(Role(ROLE, 1, obs, action, state_shape=(width,)),),
            time_limit=limit,
            state_shape=(width,),
            about=f"Gymnasium's {scenario}.",
            source="Towers et al. 2024, arXiv:2407.17032",
        )

    def reset(self, seeds: HostArray) -> TimeStep:
        """Start a batch, an environment a seed [B]."""
        batch = len(seeds)
        for env in self._envs[batch:]:
            env.close()
        self._envs = self._envs[:batch] + [_one(self._scenario, self._settings) for _ in range(batch - len(self._envs))]
        obs = self._rows()
        for b, (env, seed) in enumerate(zip(self._envs, seeds, strict=True)):
            obs[b, 0] = self._see(env.reset(seed=int(seed))[0])
        return self._timestep(obs, np.zeros((batch, 1), np.float32), np.ones((batch, 1), np.float32), np.zeros(batch, bool))

    def step(self, actions: Mapping[str, HostArray]) -> tuple[TimeStep, TimeStep]:
        """(what acting comes next from, what the action led to)."""
        batch, given = len(self._envs), np.asarray(actions[ROLE])
        obs, reward = self._rows(), np.empty((batch, 1), np.float32)
        discount, last = np.ones((batch, 1), np.float32), np.zeros(batch, bool)
        for b, env in enumerate(self._envs):
            seen, gained, terminated, truncated, _ = env.step(self._act(given[b, 0]))
            obs[b, 0], reward[b, 0] = self._see(seen), gained
            if terminated:
                discount[b, 0] = 0.0
            last[b] = terminated or truncated
        final = self._timestep(obs, reward, discount, last)
        if not last.any():
            return final, final
        ahead = obs.copy()
        for i in np.flatnonzero(last):
            ahead[i, 0] = self._see(self._envs[i].reset()[0])
        zero, one = np.where(last[:, None], 0, reward).astype(np.float32), np.where(last[:, None], 1, discount).astype(np.float32)
        return self._timestep(ahead, zero, one, np.zeros(batch, bool)), final

    def render(self, b: int) -> HostArray:
        """An image [H, W, 3] uint8 of one environment of the batch."""
        try:
            frame = self._envs[b].render() if self._pictures else None
        except gymnasium.error.DependencyNotInstalled as error:
            raise ValueError(f"{self.spec.name} cannot be drawn: {error}") from None
        if frame is None:
            raise ValueError(f"{self.spec.name} draws no pictures")
        return np.asarray(frame, np.uint8)

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _rows(self) -> HostArray:
        return np.empty((len(self._envs), 1, *self.spec.roles[0].obs.shape), self._dtype)

    def _timestep(self, obs: HostArray, reward: HostArray, discount: HostArray, last: HostArray) -> TimeStep:
        batch = len(self._envs)
        legal = None if self._legal is None else np.ones((batch, 1, self._legal), bool)
        return _TimeStep(
            obs={ROLE: obs},
            reward={ROLE: reward},
            discount={ROLE: discount},
            last=last,
            legal={ROLE: legal},
            alive={ROLE: np.ones((batch, 1), bool)},
            state=obs.reshape(batch, -1).astype(np.float32, copy=False),
        )


def _observation(scenario: str, space: spaces.Space[Any]) -> tuple[Box, Callable[[Any], Any]]:
    """Our space, and how an observation of theirs becomes one of ours."""
    if isinstance(space, spaces.Box):
        low, high, kept = float(space.low.min()), float(space.high.max()), space.dtype == np.uint8
        return Box(low, high, tuple(space.shape), "uint8" if kept else "float32"), lambda seen: seen
    if not space.is_np_flattenable:
        raise ValueError(f"gymnasium:{scenario} observes {space}, which is no array of a fixed shape")
    flat = spaces.flatten_space(space)
    if not isinstance(flat, spaces.Box):
        raise ValueError(f"gymnasium:{scenario} observes {space}, which is no array of a fixed shape")
    box = Box(float(flat.low.min()), float(flat.high.max()), tuple(flat.shape))
    return box, lambda seen: spaces.flatten(space, seen)


def _action(scenario: str, space: spaces.Space[Any]) -> tuple[Space, Callable[[Any], Any], int | None]:
    """Our space, how an action of ours becomes one of theirs, and the length of `legal`."""
    if isinstance(space, spaces.Discrete):
        start, n = int(space.start), int(space.n)
        return Discrete(n), lambda action: int(action) + start, n
    if isinstance(space, spaces.MultiDiscrete) and len(space.shape) == 1:
        starts, ns = space.start, tuple(int(n) for n in space.nvec)
        return MultiDiscrete(ns), lambda action: action + starts, sum(ns)
    if isinstance(space, spaces.Box):
        low, high, shape = space.low, space.high, tuple(space.shape)
        if np.all(low == low.flat[0]) and np.all(high == high.flat[0]):
            box = Box(float(low.flat[0]), float(high.flat[0]), shape)
            return box, lambda action: np.clip(action, low, high).astype(space.dtype), None
        if np.all(np.isfinite(low)) and np.all(np.isfinite(high)):
            middle, half = (low + high) / 2, (high - low) / 2
            return Box(-1.0, 1.0, shape), lambda action: (middle + half * np.clip(action, -1, 1)).astype(space.dtype), None
    raise ValueError(f"gymnasium:{scenario} acts in {space}; what can be played is Discrete, a row of MultiDiscrete, or a bounded Box")

"""A tiny game in two forms, compiled and stepped from the host: chance has no part in it, so what one form plays the other must.

Three climbers go up 0, 1 or 2 steps at a time, two only from an even one; a guide may push the first of them by one. A climber at the top
leaves; the episode ends when all have left, and is cut after `LIMIT` steps. `compiled()` -> Env; `Hosted()` -> HostEnv.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from agonist.types import Array, Box, Discrete, Env, EnvSpec, HostArray, Role, TimeStep

TOP, LIMIT = 4, 6

SPEC = EnvSpec(
    name="stairs",
    roles=(
        Role("climbers", 3, Box(0.0, 8.0, (2,)), Discrete(3), "shared", (0.0, 6.0), state_shape=(3,)),
        Role("guide", 1, Box(0.0, 24.0, (1,)), Discrete(2), "individual", (-0.5, 1.5), state_shape=(3,)),
    ),
    time_limit=LIMIT,
    state_shape=(3,),
)


class Climb(NamedTuple):
    heights: Array  # [B, 3]
    time: Array  # [B]


def compiled() -> Env:
    import jax.numpy as jnp

    def reset(keys: Array) -> tuple[Climb, TimeStep]:
        return _begin(jnp, keys.shape[0])

    def step(climb: Climb, actions: Mapping[str, Array]) -> tuple[Climb, TimeStep]:
        return _step(jnp, climb, actions)

    return Env(SPEC, reset, step, render)


class Hosted:
    """The host form. It counts what it was asked for."""

    spec = SPEC

    def __init__(self) -> None:
        self.steps = self.resets = 0
        self.climb = _begin(np, 1)[0]

    def reset(self, seeds: HostArray) -> TimeStep:
        self.resets += 1
        self.climb, timestep = _begin(np, len(seeds))
        return timestep

    def step(self, actions: Mapping[str, HostArray]) -> tuple[TimeStep, TimeStep]:
        self.steps += 1
        self.climb, final = _step(np, self.climb, actions)
        fresh, first = _begin(np, len(final.last))
        self.climb = Climb(*(_where(final.last, new, old) for new, old in zip(fresh, self.climb, strict=True)))
        return TimeStep(*(_mixed(final.last, new, old) for new, old in zip(first, final, strict=True))), final

    def render(self, b: int) -> HostArray:
        return render(self.climb, b)

    def close(self) -> None:
        pass


def _begin(xp: Any, batch: int) -> tuple[Climb, TimeStep]:
    climb = Climb(xp.zeros((batch, 3), xp.int32), xp.zeros((batch,), xp.int32))
    return climb, _look(xp, climb, {"climbers": xp.zeros((batch, 3), xp.float32), "guide": xp.zeros((batch, 1), xp.float32)})


def _step(xp: Any, climb: Climb, actions: Mapping[str, Array]) -> tuple[Climb, TimeStep]:
    climbing = climb.heights < TOP
    pushed = actions["guide"] * xp.asarray([1, 0, 0])
    up = ((actions["climbers"] + pushed) * climbing).astype(xp.int32)
    team = actions["climbers"].sum(axis=1, keepdims=True) * xp.ones((1, 3))
    after = Climb(climb.heights + up, climb.time + 1)
    gained = {"climbers": team, "guide": up[:, :1] / 2 - actions["guide"] / 2}
    return after, _look(xp, after, {role: reward.astype(xp.float32) for role, reward in gained.items()})


def _look(xp: Any, climb: Climb, reward: Mapping[str, Array]) -> TimeStep:
    heights, time = climb
    climbing = heights < TOP
    over = ~climbing.any(axis=1)
    guide = xp.ones((len(heights), 1), bool)
    two = climbing & (heights % 2 == 0)
    shown = xp.stack([heights, xp.ones((1, 3), xp.int32) * xp.minimum(time, LIMIT)[:, None]], axis=-1)
    return TimeStep(
        obs={"climbers": shown.astype(xp.float32), "guide": heights.sum(axis=1).astype(xp.float32)[:, None, None]},
        reward=reward,
        discount={"climbers": climbing.astype(xp.float32), "guide": (~over[:, None]).astype(xp.float32)},
        last=over | (time >= LIMIT),
        legal={"climbers": xp.stack([climbing | ~climbing, climbing, two], axis=-1), "guide": xp.stack([guide, guide], axis=-1)},
        alive={"climbers": climbing, "guide": guide},
        state=heights.astype(xp.float32),
    )


def _where(mask: HostArray, new: HostArray, old: HostArray) -> HostArray:
    return np.where(mask.reshape((-1,) + (1,) * (old.ndim - 1)), new, old)


def _mixed(mask: HostArray, new: Any, old: Any) -> Any:
    return {role: _where(mask, new[role], old[role]) for role in old} if isinstance(old, Mapping) else _where(mask, new, old)


def render(climb: Climb, b: int) -> HostArray:
    """A column a climber, above a floor."""
    picture = np.full((2 * TOP, 3, 3), 255, np.uint8)
    for column, height in enumerate(np.asarray(climb.heights)[b]):
        picture[2 * TOP - 1 - int(height) :, column] = (40 * column, 80, 160)
    return picture

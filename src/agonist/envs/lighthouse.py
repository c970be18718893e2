"""Lighthouse: who knows the way cannot sail, and who sails does not know the way.

Out of a strait lie H harbours, each D cells away and one of them safe. The `keeper` sees which and shows one of H lamps; the
`ship` sees its place and the lamp last shown, and steers. Reaching the safe harbour is worth 1 to both, another -1, and ends
the episode. What a lamp means is nowhere written: a signalling game in the sense of Lewis (1969), "Convention".

A scenario is `HxD`. **The best return is exactly 1**: the keeper gives every harbour its own lamp, the ship waits for the
first lamp and sails D cells, done after D + 1 steps. Who sails without listening gets (2 - H) / H at best, or waits for 0.
With `rivals=true` the keeper gets the opposite of what the ship gets; both then have the value 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.envs import draw, lift
from agonist.envs.families import lighthouse as card
from agonist.options import nearest
from agonist.types import Box, Discrete, Env, EnvSpec, Role, TimeStep, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agonist.types import Array, HostArray

WAIT = 0  # the ship's action h + 1 steers for harbour h


@dataclass(frozen=True)
class Options:
    """What a scenario's name leaves open."""

    rivals: bool = option(False, "the keeper gets the opposite of the ship's reward")
    time_limit: int | None = option(None, "an episode is cut here; four times the distance, and 4", unit="steps", span=(1, None))


@dataclass(frozen=True)
class Rules:
    harbours: int
    distance: int
    rivals: bool
    limit: int


class Voyage(NamedTuple):
    safe: Array  # which harbour
    arm: Array  # towards which harbour the ship lies; any where `out` is 0
    out: Array  # how far out it is
    lamp: Array  # last shown; -1 in the dark
    time: Array


def make(scenario: str, options: Options) -> Env:
    """The environment `lighthouse:<scenario>`."""
    rules = read(scenario, options)
    one = Env(
        spec=_spec(scenario, rules),
        reset=lambda key: _reset(rules, key),
        step=lambda state, actions: _step(rules, state, actions),
        render=lambda state, _: _render(rules, state),
    )
    return lift(one)


def read(scenario: str, options: Options) -> Rules:
    """A scenario's name and options -> its rules."""
    found = re.fullmatch(r"(\d+)x(\d+)", scenario)
    if found is None or int(found[1]) < 2 or int(found[2]) < 1:
        raise ValueError(f"lighthouse:{scenario} is not HxD, two harbours or more and their distance{nearest(scenario, card.scenarios)}")
    distance = int(found[2])
    limit = options.time_limit if options.time_limit is not None else 4 * distance + 4
    return Rules(int(found[1]), distance, options.rivals, limit)


def _spec(scenario: str, rules: Rules) -> EnvSpec:
    places = 1 + rules.harbours * rules.distance
    state_shape = (2 * rules.harbours + places,)

    def role(name: str, width: int, *actions: str) -> Role:
        space, names = Discrete(len(actions)), tuple(actions)
        return Role(name, 1, Box(0.0, 1.0, (width,)), space, reward_range=(-1.0, 1.0), state_shape=state_shape, action_names=names)

    lamps, harbours = ([f"{what} {i + 1}" for i in range(rules.harbours)] for what in ("lamp", "to harbour"))

    return EnvSpec(
        name=f"lighthouse:{scenario}",
        roles=(role("keeper", rules.harbours, *lamps), role("ship", places + rules.harbours, "wait", *harbours)),
        time_limit=rules.limit,
        state_shape=state_shape,
        about=f"A keeper shows one of {rules.harbours} lamps, a ship sails {rules.distance} cells to one of as many harbours.",
        source=card.source,
    )


def _reset(rules: Rules, key: Array) -> tuple[Voyage, TimeStep]:
    none = jnp.zeros((), jnp.int32)
    state = Voyage(jax.random.randint(key, (), 0, rules.harbours), none, none, none - 1, none)
    return state, _look(rules, state)


def _step(rules: Rules, state: Voyage, actions: Mapping[str, Array]) -> tuple[Voyage, TimeStep]:
    lamp, steer = actions["keeper"][0], actions["ship"][0]
    heading = steer - 1
    moves = (steer != WAIT) & (state.out < rules.distance)  # a ship in harbour stays
    arm = jnp.where(moves & (state.out == 0), heading, state.arm)
    out = state.out + jnp.where(moves, jnp.where(arm == heading, 1, -1), 0)
    state = Voyage(state.safe, arm, out, lamp, state.time + 1)
    return state, _look(rules, state)


def _look(rules: Rules, state: Voyage) -> TimeStep:
    arrived = state.out == rules.distance
    gain = jnp.where(arrived, jnp.where(state.arm == state.safe, 1.0, -1.0), 0.0)
    safe, lamp = jax.nn.one_hot(state.safe, rules.harbours), jax.nn.one_hot(state.lamp, rules.harbours)
    cell = jnp.where(state.out == 0, 0, 1 + state.arm * rules.distance + state.out - 1)
    place = jax.nn.one_hot(cell, 1 + rules.harbours * rules.distance)

    def both(keeper: Array, ship: Array) -> dict[str, Array]:
        return {"keeper": keeper[None], "ship": ship[None]}

    goes_on, here = jnp.where(arrived, 0.0, 1.0), jnp.ones((), bool)
    return TimeStep(
        obs=both(safe, jnp.concatenate([place, lamp])),
        reward=both(-gain if rules.rivals else gain, gain),
        discount=both(goes_on, goes_on),
        last=arrived | (state.time >= rules.limit),
        legal=both(jnp.ones((rules.harbours,), bool), jnp.ones((rules.harbours + 1,), bool)),
        alive=both(here, here),
        state=jnp.concatenate([safe, place, lamp]),
    )


def _render(rules: Rules, state: Voyage) -> HostArray:
    """The sea at night: harbours around the strait, the safe one lit for the reader, the lamp shown on the tower."""
    safe, arm, out, lamp, time = (int(part) for part in state)
    size, middle = 360, (180.0, 180.0)
    sea = draw.canvas(size, size, "#16324a")
    for wave in range(9):
        draw.line(sea, (30 + wave * 38, 24 + wave % 3 * 22), (30 + wave * 38, 64 + wave % 3 * 22), 2, "#ffffff", 0.06)
        draw.line(sea, (46 + wave * 34, 250 + wave % 2 * 30), (46 + wave * 34, 290 + wave % 2 * 30), 2, "#ffffff", 0.06)

    def place(h: int, steps: float) -> tuple[float, float]:
        angle = 2 * np.pi * h / rules.harbours - np.pi / 2 + (np.pi / 2 if rules.harbours == 2 else 0.0)
        reach = 46 + 100 * steps / rules.distance if steps else 0.0
        return (middle[0] + reach * np.sin(angle), middle[1] + reach * np.cos(angle))

    for h in range(rules.harbours):
        colour = draw.PLAYERS[h % len(draw.PLAYERS)]
        for step in range(1, rules.distance):
            draw.disc(sea, place(h, step), 5, "#ffffff", 0.22)
        end = place(h, rules.distance)
        draw.disc(sea, end, 25, "#d9c9a3" if h == safe else "#6f7f86")
        if h == safe:
            draw.ring(sea, end, 29, 3, draw.GOLD)
        draw.text(sea, end, str(h + 1), 17, draw.INK)
        draw.ring(sea, end, 21, 3, colour)
    _draw_tower(sea, lamp)
    _draw_ship(sea, place(arm, out))
    draw.text(sea, (size - 14, size - 34), f"{time}/{rules.limit}", 11, "#ffffff", 0.6)
    return draw.image(sea)


def _draw_tower(sea: HostArray, lamp: int) -> None:
    if lamp >= 0:
        for radius, alpha in ((40, 0.12), (28, 0.2), (18, 0.35)):
            draw.disc(sea, (34, 40), radius, draw.PLAYERS[lamp % len(draw.PLAYERS)], alpha)
    for top, half, colour in ((26, 9, "#3d4750"), (44, 8, "#f1efe8"), (58, 10, draw.RED), (72, 12, "#f1efe8")):
        draw.box(sea, (top, 40 - half, top + 14, 40 + half), colour, 2)
    draw.disc(sea, (34, 40), 6, draw.PLAYERS[lamp % len(draw.PLAYERS)] if lamp >= 0 else "#59636c")
    if lamp >= 0:
        draw.text(sea, (98, 40), str(lamp + 1), 12, "#ffffff")


def _draw_ship(sea: HostArray, at: tuple[float, float]) -> None:
    y, x = at
    draw.box(sea, (y + 3, x - 15, y + 12, x + 15), "#8a5a34", 4)
    draw.line(sea, (y + 4, x), (y - 17, x), 2.5, "#e9e4d8")
    for row in range(14):  # a sail, row by row
        draw.line(sea, (y - 14 + row, x + 3), (y - 14 + row, x + 3 + row * 0.8), 1.6, "#fffdf5")

"""Seesaw: two stand on a plank that rests on its middle, and gain while they stand far out in balance.

A scenario is R, how far the plank reaches to either side. Each of the two weighs 1 to 3, drawn anew for every episode, and knows only
its own weight; both see where both stand and how the plank leans. A step: stay, go left, go right. While the weights times the places
add up to nothing, both gain (|left| + |right|) / 2R a step, at most 1. When they add up to more than `slack`, it tips over: the end.

Written for one stream; `lift` makes the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.envs import draw, lift
from agonist.types import Array, Box, Discrete, Env, EnvSpec, HostArray, Role, TimeStep, option

MOVES = jnp.array([0, -1, 1])  # stay, left, right
HEAVIEST = 3


@dataclass(frozen=True)
class Options:
    """What a scenario's name leaves open: env.KEY."""

    slack: int = option(4, "how much it may lean before it tips over", span=(1, None))
    time_limit: int = option(20, "an episode is cut here", unit="steps", span=(1, None))


class State(NamedTuple):
    weights: Array  # [2]
    places: Array  # [2] from -R to R
    time: Array


def make(scenario: str, options: Options) -> Env:
    """The environment `seesaw:<scenario>`."""
    if not scenario.isdigit() or int(scenario) < 1:
        raise ValueError(f"seesaw:{scenario} is not seesaw:R, with R = 1 or more: how far the plank reaches to either side")
    reach = int(scenario)
    role = Role(
        name="agents",
        agents=2,
        obs=Box(-1.0, 1.0, (HEAVIEST + 3,)),
        action=Discrete(len(MOVES)),
        rewards="shared",
        reward_range=(0.0, 1.0),
        state_shape=(6,),
    )
    spec = EnvSpec(f"seesaw:{scenario}", (role,), options.time_limit, state_shape=(6,), about="Two of unknown weight balance on a plank.")

    def reset(key: Array) -> tuple[State, TimeStep]:
        weights = jax.random.randint(key, (2,), 1, HEAVIEST + 1)
        state = State(weights, jnp.zeros((2,), jnp.int32), jnp.zeros((), jnp.int32))
        return state, look(state, jnp.zeros(()))

    def step(state: State, actions: dict[str, Array]) -> tuple[State, TimeStep]:
        places = jnp.clip(state.places + MOVES[actions["agents"]], -reach, reach)
        state = State(state.weights, places, state.time + 1)
        gain = jnp.where(lean(state) == 0, jnp.abs(places).sum() / (2 * reach), 0.0)
        return state, look(state, gain)

    def look(state: State, gain: Array) -> TimeStep:
        leans = jnp.clip(lean(state) / options.slack, -1.0, 1.0)
        tipped = jnp.abs(lean(state)) > options.slack
        places = state.places / reach
        mine = jax.nn.one_hot(state.weights - 1, HEAVIEST)
        seen = jnp.column_stack([mine, places, places[::-1], jnp.full((2,), leans)])
        both = jnp.ones((2,))
        legal = jnp.column_stack([both > 0, state.places > -reach, state.places < reach])
        return TimeStep(
            obs={"agents": seen},
            reward={"agents": gain * both},
            discount={"agents": jnp.where(tipped, 0.0, 1.0) * both},  # value ends where it tips over, not where time is up
            last=tipped | (state.time >= options.time_limit),
            legal={"agents": legal},
            alive={"agents": both > 0},
            state=jnp.concatenate([state.weights / HEAVIEST, places, leans[None], state.time[None] / options.time_limit]),
        )

    def render(state: State, _: int) -> HostArray:
        return picture(state, reach, options)

    return lift(Env(spec, reset, step, render))


def lean(state: State) -> Array:
    """Weights times places: 0 in balance, below 0 to the left."""
    return (state.weights * state.places).sum()


def picture(state: State, reach: int, options: Options) -> HostArray:
    """The plank as it leans, who stands where, and how heavy each is."""
    sheet, middle = draw.canvas(240, 360), np.array([150.0, 180.0])
    angle = np.clip(float(lean(state)) / options.slack, -1.3, 1.3) * 0.2
    along, above = np.array([np.sin(angle), np.cos(angle)]), np.array([-np.cos(angle), np.sin(angle)])

    def at(place: float, height: float) -> tuple[float, float]:
        y, x = middle + along * place * 140 / reach + above * height
        return float(y), float(x)

    for side in (-1, 1):
        draw.line(sheet, tuple(middle), (215.0, 180.0 + 34 * side), 5, draw.INK)
    draw.line(sheet, at(-reach, 0), at(reach, 0), 8, "#b58a5a")
    for place in range(-reach, reach + 1):
        draw.disc(sheet, at(place, 0), 2, draw.INK)
    for agent, (weight, place) in enumerate(zip(np.asarray(state.weights), np.asarray(state.places), strict=True)):
        size = 11 + 4 * int(weight)
        here = at(float(place), size + 4 + 46 * agent * (state.places[0] == state.places[1]))
        draw.disc(sheet, here, size, draw.PLAYERS[agent])
        draw.text(sheet, here, str(int(weight)), 14, "#ffffff")
    draw.text(sheet, (226, 180), f"{int(state.time)}/{options.time_limit}", 11)
    return draw.image(sheet)

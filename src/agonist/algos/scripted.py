"""Players without a learner: `random` draws from the legal actions, `action:K` always plays action K.

They are algorithms like any other, so a script sits in a line-up beside trainees and frozen policies.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from agonist.ops import distributions
from agonist.types import Algorithm, Array, Box, Discrete, Role, TimeStep, Tree


def make_random(role: Role) -> Algorithm:
    """Every legal action is as likely as any other; real actions are uniform between their bounds."""
    space = role.action
    if isinstance(space, Box) and not math.isfinite(space.high - space.low):
        raise ValueError(f"random play needs bounds; role {role.name!r} has actions from {space.low} to {space.high}")

    def act(params: Tree, timestep: TimeStep, carry: Tree, key: Array) -> tuple[Array, Tree, Tree]:
        batch = (timestep.last.shape[0], len(role.seats))
        if isinstance(space, Box):
            return jax.random.uniform(key, (*batch, *space.shape), minval=space.low, maxval=space.high), (), carry
        dist = distributions.for_space(space)
        return dist.sample(key, jnp.zeros((dist.width, *batch)), timestep.legal), (), carry

    def greedy(params: Tree, timestep: TimeStep, carry: Tree) -> tuple[Array, Tree]:
        raise ValueError("random play has no greedy form: evaluate it sampled")

    return _script("random", role, act, greedy, stochastic=True)


def make_constant(role: Role, action: int) -> Algorithm:
    """Always the same action."""
    if not isinstance(role.action, Discrete) or not 0 <= action < role.action.n:
        raise ValueError(f"action:{action} is none of role {role.name!r}, whose actions are {role.action}")

    def greedy(params: Tree, timestep: TimeStep, carry: Tree) -> tuple[Array, Tree]:
        return jnp.full((timestep.last.shape[0], len(role.seats)), action, jnp.int32), carry

    def act(params: Tree, timestep: TimeStep, carry: Tree, key: Array) -> tuple[Array, Tree, Tree]:
        actions, carry = greedy(params, timestep, carry)
        return actions, (), carry

    return _script(f"action:{action}", role, act, greedy, stochastic=False)


def _script(name: str, role: Role, act: object, greedy: object, stochastic: bool) -> Algorithm:
    def same(state: Tree) -> Tree:
        return state

    def none(_: object) -> Tree:
        return ()

    return Algorithm(name, role, none, same, same, none, act, greedy, stochastic=stochastic)  # type: ignore[arg-type]


def is_script(name: str) -> bool:
    return name == "random" or name.startswith("action:")


def make_script(name: str, role: Role) -> Algorithm:
    """A script by what people type: `random`, `action:2`."""
    kind, _, argument = name.partition(":")
    if kind == "random" and not argument:
        return make_random(role)
    if kind == "action" and argument.isdigit():
        return make_constant(role, int(argument))
    raise ValueError(f"no script {name!r}: there is random, and action:K with a number K")

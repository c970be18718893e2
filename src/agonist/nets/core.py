"""A whole network for a role: torso, perhaps a memory, head; parameters shared by the role's agents or one set each.

`step` acts: observations [B, N, ...] -> outputs [width, B, N]. `unroll` learns: [L, B, N, ...] -> [width, L * B * N], the memory reset
where a sequence begins anew (`first` [L, B]). Without a memory the two are the same function and the carry is ().
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from agonist import own
from agonist.nets import heads, own_torso, recurrent, torso
from agonist.nets.layers import Net, from_key, stacked
from agonist.options import nearest


class Network(NamedTuple):
    init: Callable[[Array], Any]
    carry: Callable[[int], Any]  # B -> [B, N, memory], or ()
    step: Callable[[Any, Any, Array], tuple[Any, Array]]  # params, carry, x -> carry, outputs
    unroll: Callable[[Any, Any, Array, Array], Array]  # params, carry, xs, first -> outputs [width, rows]


@dataclass(frozen=True)
class Shape:
    """What is common to the networks of a role."""

    seats: tuple[int, ...]
    agents: int
    share: bool = True
    agent_id: bool = True
    torso: str = "mlp"
    hidden: tuple[int, ...] = (128, 128)
    activation: str = "relu"
    memory: int = 0


class Stack(NamedTuple):
    """A network of rows, before agents come into it. Features first: x [F, rows] (pixels [rows, H, W, C]), h [H, rows] or ()."""

    init: Callable[[Generator, tuple[int, ...]], Any]
    step: Callable[[Any, Any, Array], tuple[Any, Array]]  # params, h, x -> h, outputs [width, rows]
    unroll: Callable[[Any, Any, Array, Array], Array]  # params, h, xs [F, L * rows], first [L, rows] -> [width, L * rows]


def make_network(shape: Shape, inputs: tuple[int, ...], width: int, head_scale: float) -> Network:
    identified = shape.agent_id and shape.agents > 1 and shape.share
    pixels = shape.torso == "cnn" or (own.known(shape.torso) is not None and len(inputs) == 3)
    stack = _recurrent(shape, width, head_scale) if shape.memory else _feedforward(shape, width, head_scale)
    row = inputs if pixels else (prod(inputs) + (shape.agents if identified else 0),)

    def init(key: Array) -> Any:
        if shape.share:
            return from_key(key, lambda rng: stack.init(rng, row))
        return from_key(key, lambda rng: stacked(rng, shape.agents, lambda rng: stack.init(rng, row)))

    def carry(batch: int) -> Any:
        return jnp.zeros((batch, len(shape.seats), shape.memory)) if shape.memory else ()

    def by_rows(x: Array) -> Array:
        """[..., N, *inputs] as a stack takes it."""
        if pixels:
            return x.reshape(-1, *inputs)
        agents = x.shape[x.ndim - len(inputs) - 1]
        x = x.reshape(-1, agents, prod(inputs)).transpose(2, 0, 1)
        return (heads.agent_id(x, shape.seats, shape.agents) if identified else x).reshape(row[0], -1)

    def step(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        lead = x.shape[:2]
        h, y = stack.step(params, jax.tree.map(lambda leaf: leaf.reshape(-1, leaf.shape[-1]).T, h), by_rows(x))
        return jax.tree.map(lambda leaf: leaf.T.reshape(*lead, -1), h), y.reshape(width, *lead)

    def unroll(params: Any, h: Any, xs: Array, first: Array) -> Array:
        h = jax.tree.map(lambda leaf: leaf.reshape(-1, leaf.shape[-1]).T, h)
        return stack.unroll(params, h, by_rows(xs), jnp.repeat(first, xs.shape[2], axis=1))

    if shape.share:
        return Network(init, carry, step, unroll)
    return Network(init, carry, *_each_by_itself(shape, step, unroll))


def _each_by_itself(shape: Shape, step: Callable[..., Any], unroll: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The same functions with parameters [agents, ...], one set an agent."""

    def held(params: Any) -> Any:
        """Those of the seats played here."""
        whole = shape.seats == tuple(range(shape.agents))
        return params if whole else jax.tree.map(lambda leaf: leaf[jnp.array(shape.seats)], params)

    def step_one(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        h, y = step(params, jax.tree.map(lambda leaf: leaf[:, None], h), x[:, None])
        return jax.tree.map(lambda leaf: leaf[:, 0], h), y[..., 0]

    def unroll_one(params: Any, h: Any, xs: Array, first: Array) -> Array:
        return unroll(params, jax.tree.map(lambda leaf: leaf[:, None], h), xs[:, :, None], first)

    def step_each(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        return jax.vmap(step_one, in_axes=(0, 1, 1), out_axes=(1, 2))(held(params), h, x)

    def unroll_each(params: Any, h: Any, xs: Array, first: Array) -> Array:
        out = jax.vmap(unroll_one, in_axes=(0, 1, 2, None), out_axes=2)(held(params), h, xs, first)
        return out.reshape(out.shape[0], -1)

    return step_each, unroll_each


def _torso(shape: Shape, hidden: tuple[int, ...]) -> Net:
    if (code := own.known(shape.torso)) is not None:
        return own_torso.make(code, hidden, shape.activation)
    if shape.torso == "cnn":
        return torso.cnn(width=hidden[-1] if hidden else 128, activation=shape.activation)
    if shape.torso != "mlp":
        raise ValueError(f"there is no torso {shape.torso!r}{nearest(shape.torso, ('mlp', 'cnn'))}")
    return torso.mlp(hidden, shape.activation)


def _feedforward(shape: Shape, width: int, head_scale: float) -> Stack:
    net = heads.chain(_torso(shape, shape.hidden), heads.head(width, head_scale))
    return Stack(net.init, lambda p, h, x: (h, net.apply(p, x)), lambda p, h, xs, first: net.apply(p, xs))


def _recurrent(shape: Shape, width: int, head_scale: float) -> Stack:
    """The first layer, the memory, the other layers, the head."""
    before, cell = _torso(shape, shape.hidden[:1]), recurrent.gru(shape.memory)
    after = heads.chain(torso.mlp(shape.hidden[1:], shape.activation), heads.head(width, head_scale))

    def init(rng: Generator, inputs: tuple[int, ...]) -> Any:
        first = before.init(rng, inputs)
        return {
            "before": first,
            "cell": cell.init(rng, heads.width_of(before, first, inputs)),
            "after": after.init(rng, (shape.memory,)),
        }

    def step(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        h = cell.step(params["cell"], h, before.apply(params["before"], x))
        return h, after.apply(params["after"], h)

    def unroll(params: Any, h: Any, xs: Array, first: Array) -> Array:
        features = before.apply(params["before"], xs)
        hs = cell.unroll(params["cell"], h, features.reshape(-1, *first.shape), first)
        return after.apply(params["after"], hs.reshape(shape.memory, -1))

    return Stack(init, step, unroll)

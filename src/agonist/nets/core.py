"""A whole network for a role: torso, perhaps a memory, head; parameters shared by the role's agents or one set each.

`step` acts: observations [B, N, ...] -> outputs [B, N, width]. `unroll` learns: [L, B, N, ...] -> [L, B, N, width], the memory reset
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

from agonist.nets import heads, recurrent, torso
from agonist.nets.layers import Net, from_key, stacked


class Network(NamedTuple):
    init: Callable[[Array], Any]
    carry: Callable[[int], Any]  # B -> [B, N, memory], or ()
    step: Callable[[Any, Any, Array], tuple[Any, Array]]  # params, carry, x -> carry, outputs
    unroll: Callable[[Any, Any, Array, Array], Array]  # params, carry, xs, first -> outputs


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
    """A network of rows [..., F], before agents come into it."""

    init: Callable[[Generator, tuple[int, ...]], Any]
    step: Callable[[Any, Any, Array], tuple[Any, Array]]  # params, h [rows, H] or (), x [rows, ...]
    unroll: Callable[[Any, Any, Array, Array], Array]  # params, h, xs [L, rows, ...], first [L, rows]


def make_network(shape: Shape, inputs: tuple[int, ...], width: int, head_scale: float) -> Network:
    identified = shape.agent_id and shape.agents > 1 and shape.share
    pixels = shape.torso == "cnn"
    stack = _recurrent(shape, width, head_scale) if shape.memory else _feedforward(shape, width, head_scale)
    row = inputs if pixels else (prod(inputs) + (shape.agents if identified else 0),)
    n = len(shape.seats)

    def prepared(x: Array, lead: int) -> Array:
        if pixels:
            return x
        x = x.reshape(*x.shape[:lead], prod(inputs))
        return heads.agent_id(x, shape.seats, shape.agents) if identified else x

    def init(key: Array) -> Any:
        if shape.share:
            return from_key(key, lambda rng: stack.init(rng, row))
        return from_key(key, lambda rng: stacked(rng, shape.agents, lambda rng: stack.init(rng, row)))

    def carry(batch: int) -> Any:
        return jnp.zeros((batch, n, shape.memory)) if shape.memory else ()

    def step(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        x = prepared(x, 2)
        if not shape.share:
            return jax.vmap(stack.step, in_axes=(0, 1, 1), out_axes=(1, 1))(_held(params, shape), h, x)
        h, y = stack.step(params, jax.tree.map(_rows, h), _rows(x))
        seated = (x.shape[0], n, -1)
        return jax.tree.map(lambda leaf: leaf.reshape(seated), h), y.reshape(seated)

    def unroll(params: Any, h: Any, xs: Array, first: Array) -> Array:
        xs = prepared(xs, 3)
        if not shape.share:
            held = _held(params, shape)
            return jax.vmap(stack.unroll, in_axes=(0, 1, 2, None), out_axes=2)(held, h, xs, first)
        length, batch = first.shape
        rows = xs.reshape(length, batch * n, *xs.shape[3:])
        out = stack.unroll(params, jax.tree.map(_rows, h), rows, jnp.repeat(first, n, axis=1))
        return out.reshape(length, batch, n, width)

    return Network(init, carry, step, unroll)


def _rows(x: Array) -> Array:
    """[B, N, ...] -> [B * N, ...]."""
    return x.reshape(-1, *x.shape[2:])


def _held(params: Any, shape: Shape) -> Any:
    """Of every agent's parameters, those of the seats played here."""
    if shape.seats == tuple(range(shape.agents)):
        return params
    return jax.tree.map(lambda leaf: leaf[jnp.array(shape.seats)], params)


def _torso(shape: Shape, hidden: tuple[int, ...]) -> Net:
    if shape.torso == "cnn":
        return torso.cnn(width=hidden[-1] if hidden else 128, activation=shape.activation)
    return torso.mlp(hidden, shape.activation)


def _feedforward(shape: Shape, width: int, head_scale: float) -> Stack:
    net = heads.chain(_torso(shape, shape.hidden), heads.head(width, head_scale))
    return Stack(net.init, lambda p, h, x: (h, net.apply(p, x)), lambda p, h, xs, first: _by_rows(net, p, xs))


def _by_rows(net: Net, params: Any, xs: Array) -> Array:
    """[L, rows, ...] through a net as one axis of rows: a CPU's products are twice as fast on matrices as on more axes."""
    out = net.apply(params, xs.reshape(-1, *xs.shape[2:]))
    return out.reshape(*xs.shape[:2], -1)


def _recurrent(shape: Shape, width: int, head_scale: float) -> Stack:
    """The first layer, the memory, the other layers, the head."""
    before, cell = _torso(shape, shape.hidden[:1]), recurrent.gru(shape.memory)
    after = heads.chain(torso.mlp(shape.hidden[1:], shape.activation), heads.head(width, head_scale))

    def init(rng: Generator, inputs: tuple[int, ...]) -> Any:
        features = (shape.hidden[0],) if shape.hidden else inputs
        return {
            "before": before.init(rng, inputs),
            "cell": cell.init(rng, features),
            "after": after.init(rng, (shape.memory,)),
        }

    def step(params: Any, h: Any, x: Array) -> tuple[Any, Array]:
        h = cell.step(params["cell"], h, before.apply(params["before"], x))
        return h, after.apply(params["after"], h)

    def unroll(params: Any, h: Any, xs: Array, first: Array) -> Array:
        hs = cell.unroll(params["cell"], h, _by_rows(before, params["before"], xs), first)
        return _by_rows(after, params["after"], hs)

    return Stack(init, step, unroll)

"""What stands at a network's ends: a linear head, nets one after another, agents' identities.

Features [F, rows] -> [width, rows]. A head's scale of 0.01 makes a first policy nearly uniform, 1.0 is for values (arXiv:2005.12729).
"""

import jax
import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from agonist.nets.layers import Net, Params, Shape, dense, dense_init


def head(width: int, scale: float) -> Net:
    def init(rng: Generator, shape: Shape) -> Params:
        return dense_init(rng, shape[-1], width, scale)

    return Net(init, dense)


def chain(*nets: Net) -> Net:
    """One after another; the parameters are a dict by position."""

    def init(rng: Generator, shape: Shape) -> Params:
        params: Params = {}
        for i, net in enumerate(nets):
            params[f"net_{i}"] = net.init(rng, shape)
            shape = width_of(net, params[f"net_{i}"], shape)
        return params

    def apply(params: Params, x: Array) -> Array:
        for i, net in enumerate(nets):
            x = net.apply(params[f"net_{i}"], x)
        return x

    return Net(init, apply)


def width_of(net: Net, params: Params, shape: Shape) -> Shape:
    """The shape of one row's output."""
    one = (1, *shape) if len(shape) > 1 else (*shape, 1)  # pixels come rows first
    return jax.eval_shape(net.apply, params, jax.ShapeDtypeStruct(one, jnp.float32)).shape[:1]


def agent_id(x: Array, seats: tuple[int, ...], agents: int) -> Array:
    """Observations [F, ..., N] of the seats of a role of so many agents -> [F + agents, ..., N], each with who it is."""
    identity = jnp.eye(agents, dtype=x.dtype)[:, jnp.array(seats)]
    identity = identity.reshape(agents, *[1] * (x.ndim - 2), len(seats))
    return jnp.concatenate([x, jnp.broadcast_to(identity, (agents, *x.shape[1:]))])

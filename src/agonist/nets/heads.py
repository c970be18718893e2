"""What stands at a network's ends: a linear head, agents' identities, parameters of each agent's own.

`head(width, scale)`: features [..., F] -> [..., width]. Scale 0.01 makes a first policy nearly uniform, 1.0 is for values
(arXiv:2005.12729).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agonist.nets.layers import Net, Params, Shape, dense, dense_init

POLICY_SCALE = 0.01
VALUE_SCALE = 1.0


def head(width: int, scale: float) -> Net:
    def init(key: Array, shape: Shape) -> Params:
        return dense_init(key, shape[-1], width, scale)

    return Net(init, dense)


def chain(*nets: Net) -> Net:
    """One after another; the parameters are a dict by position."""

    def init(key: Array, shape: Shape) -> Params:
        params: Params = {}
        for i, (net, key_net) in enumerate(zip(nets, jax.random.split(key, len(nets)), strict=True)):
            params[f"net_{i}"] = net.init(key_net, shape)
            row = jax.eval_shape(net.apply, params[f"net_{i}"], jax.ShapeDtypeStruct((1, *shape), jnp.float32))
            shape = row.shape[1:]
        return params

    def apply(params: Params, x: Array) -> Array:
        for i, net in enumerate(nets):
            x = net.apply(params[f"net_{i}"], x)
        return x

    return Net(init, apply)


def agent_id(obs: Array, seats: tuple[int, ...], agents: int) -> Array:
    """Observations [..., N, F] of the seats of a role of so many agents -> [..., N, F + agents], each with who it is."""
    identity = jnp.eye(agents, dtype=obs.dtype)[jnp.array(seats)]
    return jnp.concatenate([obs, jnp.broadcast_to(identity, (*obs.shape[:-1], agents))], axis=-1)


def per_agent(net: Net, n: int, seats: tuple[int, ...] | None = None) -> Net:
    """A net of its own for each of `n` agents: parameters [n, ...], applied to x [..., N, F] of the seats (all of them by default)."""

    def init(key: Array, shape: Shape) -> Any:
        return jax.vmap(lambda key_agent: net.init(key_agent, shape))(jax.random.split(key, n))

    def apply(params: Any, x: Array) -> Array:
        held = params if seats is None else jax.tree.map(lambda p: p[jnp.array(seats)], params)
        axis = x.ndim - 2
        return jax.vmap(net.apply, in_axes=(0, axis), out_axes=axis)(held, x)

    return Net(init, apply)

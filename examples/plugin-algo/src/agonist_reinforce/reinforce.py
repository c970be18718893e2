"""The policy gradient with a learned baseline (Williams 1992), for agents that choose, against `agonist.types` alone.

A network of one hidden layer, shared by the agents of a role, sees an agent's observation and gives the logits of its actions and the
baseline. What an action brought is the discounted sum of all that came after it; where a rollout or a time limit cuts it off, the
baseline of the last moment stands for the rest. One step of momentum a rollout.

Batch [T, B, N] -> new parameters and these metrics:
    loss/policy     minus the mean of log probability times (return - baseline)
    loss/value      half the mean of (return - baseline) squared, times `value_coef`
    policy/entropy  mean entropy of the action distribution, in nats
    grad/norm       length of the gradient before it is shortened
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.types import Algorithm, Array, Batch, Discrete, Plan, Role, TimeStep, Tree, option


@dataclass(frozen=True)
class ReinforceConfig:
    lr: float = option(0.1, "step size", traced=True, span=(0, None))
    momentum: float = option(0.9, "share of the last step that is taken again", traced=True, span=(0, 1))
    gamma: float = option(0.97, "discount a step", traced=True, span=(0, 1))
    entropy: float = option(0.01, "weight of the entropy bonus", traced=True, span=(0, None))
    value_coef: float = option(0.5, "weight of the baseline's loss", traced=True, span=(0, None))
    max_grad_norm: float = option(0.5, "gradients longer than this are shortened to it", traced=True, span=(0, None))
    rollout: int = option(64, "steps an environment takes between updates", unit="steps", span=(1, None))
    hidden: int = option(64, "width of the hidden layer", acts=True, span=(1, None))


class ReinforceState(NamedTuple):
    params: Mapping[str, Array]
    velocity: Mapping[str, Array]
    rates: Mapping[str, Array]  # the traced fields of the config: data, so that another value compiles nothing


def make_reinforce(config: ReinforceConfig, role: Role, axes: tuple[str, ...] = ()) -> Algorithm:
    """The algorithm for one role. `axes` are the mapped axes (shards, devices) over which gradients are averaged."""
    if not isinstance(role.action, Discrete):
        raise ValueError(f"reinforce is for one choice out of several; role {role.name!r} has actions {role.action}")

    def init(key: Array) -> ReinforceState:
        params = first_params(config, role, key)
        rates = {f.name: np.float32(getattr(config, f.name)) for f in fields(config) if f.metadata["traced"]}
        return ReinforceState(params, jax.tree.map(jnp.zeros_like, params), rates)

    def params_of(state: ReinforceState) -> Tree:
        return state.params

    def act(params: Tree, timestep: TimeStep, carry: Tree, key: Array) -> tuple[Array, Tree, Tree]:
        logits, _ = network(params, timestep.obs, timestep.legal)
        return jax.random.categorical(key, logits).astype(jnp.int32), {}, carry

    def greedy(params: Tree, timestep: TimeStep, carry: Tree) -> tuple[Array, Tree]:
        return network(params, timestep.obs, timestep.legal)[0].argmax(-1).astype(jnp.int32), carry

    def value(params: Tree, timestep: TimeStep, carry: Tree) -> Array:
        return network(params, timestep.obs, timestep.legal)[1]

    def update(state: ReinforceState, batch: Batch, key: Array) -> tuple[ReinforceState, Mapping[str, Array], Tree]:
        target = returns_of(batch, state.rates["gamma"])
        (_, told), grads = jax.value_and_grad(loss, has_aux=True)(state.params, batch, target, state.rates)
        if axes:
            grads, told = jax.lax.pmean((grads, told), axes)
        norm = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in grads.values()))
        short = jnp.minimum(1.0, state.rates["max_grad_norm"] / jnp.maximum(norm, 1e-8))
        velocity = jax.tree.map(lambda v, g: state.rates["momentum"] * v + short * g, state.velocity, grads)
        params = jax.tree.map(lambda p, v: p - state.rates["lr"] * v, state.params, velocity)
        return ReinforceState(params, velocity, state.rates), {**told, "grad/norm": norm}, ()

    return Algorithm(
        name="reinforce",
        role=role,
        init=init,
        actor=params_of,
        policy=params_of,
        carry=lambda batch: (),  # it remembers nothing from step to step
        act=act,
        greedy=greedy,
        update=update,
        value=value,
        plan=Plan(config.rollout),
    )


def first_params(config: ReinforceConfig, role: Role, key: Array) -> Mapping[str, Array]:
    """Small logits: the first policy is nearly uniform."""
    inputs, actions = int(np.prod(role.obs.shape)), role.action.n
    key_in, key_out = jax.random.split(key)
    return {
        "w_in": jax.random.normal(key_in, (inputs, config.hidden)) / np.sqrt(inputs),
        "b_in": jnp.zeros((config.hidden,)),
        "w_out": jax.random.normal(key_out, (config.hidden, actions + 1)) * 0.01,
        "b_out": jnp.zeros((actions + 1,)),
    }


def network(params: Mapping[str, Array], obs: Array, legal: Array) -> tuple[Array, Array]:
    """Observations [..., N, *obs] -> logits [..., N, A], illegal actions out of reach, and the baseline [..., N]."""
    x = obs.reshape(*legal.shape[:-1], -1).astype(jnp.float32)
    out = jnp.tanh(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]
    return jnp.where(legal, out[..., :-1], -1e9), out[..., -1]


def returns_of(batch: Batch, gamma: Array) -> Array:
    """[T, B, N] what came after each step, to the end of its episode; beyond a cut or the rollout, the baseline."""
    t = batch.transition
    last = t.last[..., None].at[-1].set(True)

    def back(following: Array, at: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        reward, discount, ends, beyond = at
        total = reward + gamma * discount * jnp.where(ends, beyond, following)
        return total, total

    parts = (t.reward, t.discount, last, t.extras["next_value"])
    _, totals = jax.lax.scan(back, jnp.zeros_like(t.reward[0]), parts, reverse=True)
    return totals


def loss(params: Mapping[str, Array], batch: Batch, target: Array, rates: Mapping[str, Array]) -> tuple[Array, Mapping[str, Array]]:
    t = batch.transition
    weight = t.alive / jnp.maximum(t.alive.sum(), 1)  # who has left weighs nothing
    logits, baseline = network(params, t.obs, t.legal)
    log_probs = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(log_probs, t.actions[..., None], axis=-1)[..., 0]
    advantage = jax.lax.stop_gradient(target - baseline)
    policy = -(weight * taken * advantage).sum()
    value = rates["value_coef"] * 0.5 * (weight * jnp.square(target - baseline)).sum()
    entropy = -(weight * (jnp.exp(log_probs) * jnp.where(t.legal, log_probs, 0.0)).sum(-1)).sum()
    told = {"loss/policy": policy, "loss/value": value, "policy/entropy": entropy}
    return policy + value - rates["entropy"] * entropy, told

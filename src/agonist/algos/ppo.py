"""Proximal policy optimisation for teams: IPPO, MAPPO, recurrent or not, any kind of action, in one file.

Each role learns by itself from its own seats. IPPO's critic sees what its agent sees; MAPPO's sees the environment's state
(`critic=state`): nothing else differs. A feed-forward network is trained on single steps, a recurrent one on sequences of `chunk`
steps that start from the memory with which they were acted.

Schulman et al. 2017 (arXiv:1707.06347), Yu et al. 2022 (arXiv:2103.01955); GAE, Schulman et al. 2016 (arXiv:1506.02438).
Differences: the value of a cut episode's last moment comes from the observation before the reset; advantages are normalised within
a shard's minibatch.

Batch [T, B, N] -> new parameters and these metrics, each the mean over minibatches and shards:
    loss/policy             the clipped surrogate, lower is better; near 0 by construction
    loss/value              half the squared error of the clipped value, times `value_coef`
    policy/entropy          mean entropy of the action distribution, in nats; falls as the policy makes up its mind
    policy/kl               mean of (ratio - 1) - log ratio: how far the new policy is from the one that acted
    policy/clip_fraction    share of actions whose ratio left 1 +- clip
    value/explained         1 - Var(target - value) / Var(target), before the update: 1 is a perfect critic, 0 a constant one
    grad/actor, grad/critic gradient norms before clipping
    rate/lr                 the actor's learning rate now
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.nets.core import Network, Shape, make_network
from agonist.ops import distributions, normalise, optim, returns
from agonist.ops.masked import masked_mean
from agonist.ops.shards import mean_over, permutation
from agonist.types import Algorithm, Array, Batch, Plan, Role, TimeStep, Transition, Tree, option

MAVA = "Mava's default"
OURS = "our sweep on lbf:2s-8x8-2p-2f-coop (docs/performance.md); Mava's are lr=2.5e-4 gamma=0.99"
ADAM = optim.adam()


@dataclass(frozen=True)
class PPOConfig:
    lr: float = option(2e-3, "step size of every Adam of the algorithm", traced=True, source=OURS, span=(0, None))
    actor_lr: float | None = option(None, "the actor's step size, where it differs from lr", traced=True, span=(0, None))
    critic_lr: float | None = option(None, "the critic's step size, where it differs from lr", traced=True, span=(0, None))
    horizon: float = option(
        0.0, "rates fall linearly to zero over so many steps; 0: they stay", unit="env steps", traced=True, span=(0, None)
    )
    gamma: float = option(0.97, "discount a step; nearer to 1 where rewards are far apart", traced=True, source=OURS, span=(0, 1))
    gae_lambda: float = option(0.95, "how far advantages look ahead: 0 one step, 1 to the end", traced=True, source=MAVA, span=(0, 1))
    clip: float = option(0.2, "how far a ratio may leave 1 before its gradient stops", traced=True, source=MAVA, span=(0, None))
    entropy: float = option(0.01, "weight of the entropy bonus", traced=True, source=MAVA, span=(0, None))
    value_coef: float = option(0.5, "weight of the value loss", traced=True, source=MAVA, span=(0, None))
    max_grad_norm: float = option(0.5, "gradients longer than this are shortened to it", traced=True, source=MAVA, span=(0, None))
    rollout: int = option(128, "steps an environment takes between updates", unit="steps", source=MAVA, span=(1, None))
    epochs: int = option(4, "times that a rollout is gone through", source=MAVA, span=(1, None))
    minibatches: int = option(2, "parts in which it is gone through", source=MAVA, span=(1, None))
    critic: str = option(
        "observation", "what the critic sees: its agent's observation (IPPO) or the state (MAPPO)", choices=("observation", "state")
    )
    torso: str = option("mlp", "first layers; own ones by ./file.py:function", choices=("mlp", "cnn"), acts=True, code=True)
    hidden: tuple[int, ...] = option(
        (128, 128), "widths of the layers; in a recurrent network the first lies before its memory", source=MAVA, acts=True, span=(1, None)
    )
    activation: str = option("relu", "between layers", choices=("relu", "tanh", "gelu", "silu"), source=MAVA, acts=True)
    recurrent: bool = option(False, "a GRU between the first layer and the others", acts=True)
    memory: int = option(128, "width of the GRU", source=MAVA, acts=True, span=(1, None))
    chunk: int = option(0, "steps of a recurrent training sequence; 0: the whole rollout", unit="steps", source=MAVA, span=(0, None))
    share: bool = option(True, "one set of parameters for all agents of a role, or one each", source=MAVA, acts=True)
    agent_id: bool = option(True, "tell an agent which of its role's seats it holds", source=MAVA, acts=True)
    normalise_obs: bool = option(False, "divide observations by their running deviation", acts=True)
    value_clip: bool = option(True, "hold the new value within clip of the old one", source=MAVA)


class PPOState(NamedTuple):
    params: Mapping[str, Tree]  # actor, critic
    optim: Mapping[str, Tree]
    moments: Mapping[str, Tree]  # of what actor and critic see, where normalised
    rates: Mapping[str, Array]  # the traced fields of the config
    updates: Array


class Nets(NamedTuple):
    actor: Network
    critic: Network
    dist: distributions.Distribution


def make_ppo(config: PPOConfig, role: Role, axes: tuple[str, ...] = ()) -> Algorithm:
    """PPO for one role. `axes` are the mapped axes (shards, devices) over which gradients and statistics are averaged."""
    _check(config, role)
    nets = _nets(config, role)

    def carry(batch: int) -> Tree:
        return {"actor": nets.actor.carry(batch), "critic": nets.critic.carry(batch)}

    def policy(state: PPOState) -> Tree:
        return {"actor": state.params["actor"], "moments": {name: m for name, m in state.moments.items() if name == "actor"}}

    def actor(state: PPOState) -> Tree:
        return {**state.params, "moments": state.moments}

    def outputs(params: Tree, timestep: TimeStep, memory: Tree) -> tuple[Tree, Array]:
        return nets.actor.step(params["actor"], memory["actor"], _seen(params, "actor", timestep.obs))

    def values(params: Tree, timestep: TimeStep, memory: Tree) -> tuple[Tree, Array]:
        seen = _critic_sees(config, role, timestep.obs, timestep.state)
        after, out = nets.critic.step(params["critic"], memory["critic"], _seen(params, "critic", seen))
        return after, out[0]

    def act(params: Tree, timestep: TimeStep, memory: Tree, key: Array) -> tuple[Array, Tree, Tree]:
        after, out = outputs(params, timestep, memory)
        actions = nets.dist.sample(key, out, timestep.legal)
        extras = {"log_prob": nets.dist.log_prob(out, timestep.legal, actions)}
        if _chunk(config) < config.rollout:
            extras["carry"] = memory
        memory = {**memory, "actor": after}
        if "critic" in params:  # not in a policy that only plays
            memory["critic"], extras["value"] = values(params, timestep, memory)
        return actions, extras, memory

    def greedy(params: Tree, timestep: TimeStep, memory: Tree) -> tuple[Array, Tree]:
        after, out = outputs(params, timestep, memory)
        return nets.dist.mode(out, timestep.legal), {**memory, "actor": after}

    return Algorithm(
        name="ppo",
        role=role,
        init=lambda key: _init(nets, config, role, key),
        actor=actor,
        policy=policy,
        carry=carry,
        act=act,
        greedy=greedy,
        update=lambda state, batch, key: _update(nets, config, role, axes, state, batch, key),
        value=lambda params, timestep, memory: values(params, timestep, memory)[1],
        plan=Plan(config.rollout, config.rollout // _chunk(config), config.minibatches),
    )


def _check(config: PPOConfig, role: Role) -> None:
    if config.chunk and not config.recurrent:
        raise ValueError(f"chunk={config.chunk} is for recurrent=true: a feed-forward network is trained on single steps")
    if config.chunk < 0 or config.chunk > config.rollout or config.rollout % _chunk(config):
        raise ValueError(f"need chunk to divide rollout, got chunk={config.chunk}, rollout={config.rollout}")
    if config.critic == "state" and not role.state_shape:
        raise ValueError(f"critic=state needs an environment with a state; role {role.name!r} has none: use critic=observation")
    if config.torso == "cnn" and (len(role.obs.shape) != 3 or config.critic == "state"):
        raise ValueError(f"torso=cnn needs observations [height, width, channels] for all it sees; role {role.name!r} has {role.obs.shape}")


def _chunk(config: PPOConfig) -> int:
    """Steps of a training sequence."""
    return (config.chunk or config.rollout) if config.recurrent else 1


def _nets(config: PPOConfig, role: Role) -> Nets:
    shape = Shape(
        role.seats, role.agents, config.share, config.agent_id, config.torso, config.hidden, config.activation,
        config.memory if config.recurrent else 0,
    )  # fmt: skip
    dist = distributions.for_space(role.action)
    critic_shape = role.state_shape if config.critic == "state" else role.obs.shape
    return Nets(make_network(shape, role.obs.shape, dist.width, 0.01), make_network(shape, critic_shape, 1, 1.0), dist)


def _init(nets: Nets, config: PPOConfig, role: Role, key: Array) -> PPOState:
    key_actor, key_critic = jax.random.split(key)
    params = {"actor": nets.actor.init(key_actor), "critic": nets.critic.init(key_critic)}
    critic_shape = role.state_shape if config.critic == "state" else role.obs.shape
    moments = {"actor": normalise.init(role.obs.shape), "critic": normalise.init(critic_shape)} if config.normalise_obs else {}
    given = {f.name: getattr(config, f.name) for f in fields(config) if f.metadata["traced"]}
    rates = {name: np.float32(config.lr if number is None else number) for name, number in given.items()}
    return PPOState(params, {name: ADAM.init(tree) for name, tree in params.items()}, moments, rates, np.int32(0))


def _seen(params: Tree, who: str, obs: Array) -> Array:
    obs = obs.astype(jnp.float32)
    return normalise.apply(params["moments"][who], obs) if who in params["moments"] else obs


def _critic_sees(config: PPOConfig, role: Role, obs: Array, state: Array) -> Array:
    """[..., N, F]: the agents' observations, or the state, the same for each."""
    if config.critic == "observation":
        return obs
    at = state.ndim - len(role.state_shape)
    return jnp.repeat(jnp.expand_dims(state, at), len(role.seats), axis=at)


class Samples(NamedTuple):
    """What the loss looks at: sequences of L steps, [L, M, N, ...]."""

    obs: Array  # as the actor sees it
    seen: Array  # by the critic
    legal: Array | None
    actions: Array
    log_prob: Array
    value: Array
    advantage: Array
    target: Array
    weight: Array  # 0 for an agent that has left
    first: Array  # [L, M] a new episode begins within the sequence


def _update(
    nets: Nets, config: PPOConfig, role: Role, axes: tuple[str, ...], state: PPOState, batch: Batch, key: Array
) -> tuple[PPOState, Mapping[str, Array], Tree]:
    samples, carry = _samples(config, role, state, batch)
    width = samples.first.shape[1]
    left = _left(state, batch, axes)
    descend = partial(_descend, nets, config, axes, left)

    def minibatch(state: PPOState, chosen: Array) -> tuple[PPOState, Mapping[str, Array]]:
        part = jax.tree.map(lambda leaf: leaf.take(chosen, axis=1), samples)
        return descend(state, part, jax.tree.map(lambda leaf: leaf.take(chosen, axis=0), carry))

    def epoch(state: PPOState, key: Array) -> tuple[PPOState, Mapping[str, Array]]:
        return jax.lax.scan(minibatch, state, permutation(key, width).reshape(config.minibatches, -1))

    explained = _explained(samples)
    state, metrics = jax.lax.scan(epoch, state, jax.random.split(key, config.epochs))
    told = {name: value.mean() for name, value in metrics.items()}
    told |= {"value/explained": mean_over(explained, axes), "rate/lr": state.rates["actor_lr"] * left}
    if config.normalise_obs:  # counted after the update: its ratios compare with what the actor saw
        state = state._replace(moments=_count(config, role, axes, state, batch.transition))
    return state._replace(updates=state.updates + 1), told, ()


def _samples(config: PPOConfig, role: Role, state: PPOState, batch: Batch) -> tuple[Samples, Tree]:
    """A rollout [T, B, N, ...] as training sequences [L, M, N, ...] and the memories [M, N, ...] with which they begin."""
    t, length, params = batch.transition, _chunk(config), {"moments": state.moments}
    value, last = t.extras["value"], t.last[..., None]  # [T, B, N], [T, B, 1]
    followed = jnp.roll(value, -1, axis=0)
    v_t = jnp.where(last.at[-1].set(True), t.extras["next_value"], followed)
    advantage = returns.gae(t.reward, state.rates["gamma"] * t.discount, last, value, v_t, state.rates["gae_lambda"])
    whole = Samples(
        obs=_seen(params, "actor", t.obs),
        seen=_seen(params, "critic", _critic_sees(config, role, t.obs, t.state)),
        legal=t.legal,
        actions=t.actions,
        log_prob=t.extras["log_prob"],
        value=value,
        advantage=advantage,
        target=advantage + value,
        weight=t.alive.astype(jnp.float32),
        first=jnp.roll(t.last, 1, axis=0).at[::length].set(False),
    )
    carry = batch.carry
    if "carry" in t.extras:
        carry = jax.tree.map(lambda leaf: leaf[::length].reshape(-1, *leaf.shape[2:]), t.extras["carry"])
    return jax.tree.map(lambda leaf: _sequences(leaf, length), whole), carry


def _sequences(leaf: Array, length: int) -> Array:
    """[T, B, ...] -> [L, T / L * B, ...]."""
    parts = leaf.reshape(-1, length, *leaf.shape[1:])
    return jnp.moveaxis(parts, 1, 0).reshape(length, -1, *leaf.shape[2:])


def _left(state: PPOState, batch: Batch, axes: tuple[str, ...]) -> Array:
    """The share of the learning rates that is left at this step of their schedule."""
    shards: Array = jax.lax.axis_size(axes) if axes else 1
    steps = state.updates * float(batch.transition.last.size) * shards
    horizon = state.rates["horizon"]
    return jnp.where(horizon > 0, jnp.maximum(0.0, 1.0 - steps / jnp.maximum(horizon, 1.0)), 1.0)


def _explained(samples: Samples) -> Array:
    mean = masked_mean(samples.target, samples.weight)
    spread = masked_mean(jnp.square(samples.target - mean), samples.weight)
    error = samples.target - samples.value
    missed = masked_mean(jnp.square(error - masked_mean(error, samples.weight)), samples.weight)
    return 1.0 - missed / jnp.maximum(spread, 1e-8)


def _count(config: PPOConfig, role: Role, axes: tuple[str, ...], state: PPOState, t: Transition) -> Mapping[str, Tree]:
    seen = {"actor": t.obs, "critic": _critic_sees(config, role, t.obs, t.state)}
    return {name: normalise.update(state.moments[name], x.astype(jnp.float32), t.alive, axes) for name, x in seen.items()}


def _descend(
    nets: Nets, config: PPOConfig, axes: tuple[str, ...], left: Array, state: PPOState, part: Samples, carry: Tree
) -> tuple[PPOState, Mapping[str, Array]]:
    """One step of actor and critic on one minibatch [L, M, N, ...]."""
    part = _by_rows(part)
    actor_loss = partial(_actor_loss, nets, state.rates, part, carry["actor"])
    critic_loss = partial(_critic_loss, nets, config, state.rates, part, carry["critic"])
    (_, told), actor_grads = jax.value_and_grad(actor_loss, has_aux=True)(state.params["actor"])
    value_loss, critic_grads = jax.value_and_grad(critic_loss)(state.params["critic"])
    told["loss/value"] = value_loss
    grads, told = mean_over(({"actor": actor_grads, "critic": critic_grads}, told), axes)
    params, optims = {}, {}
    for name, grad in grads.items():
        lr = state.rates[f"{name}_lr"] * left
        params[name], optims[name], told[f"grad/{name}"] = ADAM.step(
            grad, state.optim[name], state.params[name], lr, state.rates["max_grad_norm"]
        )
    return state._replace(params=params, optim=optims), told


def _by_rows(part: Samples) -> Samples:
    """What follows the networks goes row by row, [L * M * N, ...]: a CPU is slow along short last axes."""
    kept = ("obs", "seen", "first")
    rows = {name: jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[3:]), x) for name, x in part._asdict().items() if name not in kept}
    return part._replace(**rows)


def _actor_loss(nets: Nets, rates: Mapping[str, Array], part: Samples, carry: Tree, params: Tree) -> tuple[Array, dict[str, Array]]:
    out = nets.actor.unroll(params, carry, part.obs, part.first)
    log_ratio = nets.dist.log_prob(out, part.legal, part.actions) - part.log_prob
    ratio, clip = jnp.exp(log_ratio), rates["clip"]
    mean = masked_mean(part.advantage, part.weight)
    deviation = jnp.sqrt(masked_mean(jnp.square(part.advantage - mean), part.weight))
    advantage = (part.advantage - mean) / (deviation + 1e-8)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * advantage)
    loss = -masked_mean(gain, part.weight)
    entropy = masked_mean(nets.dist.entropy(out, part.legal), part.weight)
    told = {
        "loss/policy": loss,
        "policy/entropy": entropy,
        "policy/kl": masked_mean(ratio - 1.0 - log_ratio, part.weight),
        "policy/clip_fraction": masked_mean((jnp.abs(ratio - 1.0) > clip).astype(jnp.float32), part.weight),
    }
    return loss - rates["entropy"] * entropy, told


def _critic_loss(nets: Nets, config: PPOConfig, rates: Mapping[str, Array], part: Samples, carry: Tree, params: Tree) -> Array:
    value = nets.critic.unroll(params, carry, part.seen, part.first)[0]
    error = jnp.square(value - part.target)
    if config.value_clip:
        held = part.value + jnp.clip(value - part.value, -rates["clip"], rates["clip"])
        error = jnp.maximum(error, jnp.square(held - part.target))
    return rates["value_coef"] * 0.5 * masked_mean(error, part.weight)

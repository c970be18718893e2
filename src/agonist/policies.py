"""Policies: an algorithm's functions with parameters, from a run or a folder, and a player that acts by hand.

A policy's folder says what it takes to play: the algorithm, those of its keys that shape how it acts, the role's spaces, and the
tensors. Whatever else is known (run, step, environment) is provenance and no part of its name. Own code is named there with the hash
of its source, and run only where somebody allowed it (`agonist.own`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agonist import algos, own
from agonist.checkpoints import PolicyContent
from agonist.trees import flatten, unflatten
from agonist.types import Algorithm, Box, Discrete, HostArray, MultiDiscrete, Policy, Role, TimeStep, Tree

SPACES = {"Discrete": Discrete, "MultiDiscrete": MultiDiscrete, "Box": Box}


def content(algorithm: Algorithm, config: Any, params: Tree, provenance: Mapping[str, Any]) -> PolicyContent:
    """What a policy's folder holds."""
    acts = {field.name: getattr(config, field.name) for field in fields(config) if field.metadata.get("acts", True)}
    spec = {"algo": algorithm.name, "config": _plain(acts), "role": role_out(algorithm.role)}
    return PolicyContent(spec, flatten(params), provenance)


def load(content: PolicyContent, role: Role | None = None) -> Policy:
    """A policy ready to play: the role it was trained for, or one of an environment that asks for the same."""
    try:
        trained, algo, config = role_in(content.spec["role"]), str(content.spec["algo"]), dict(content.spec["config"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"policy {content.name} does not say what it takes to play: {type(error).__name__} {error} in its spec") from None
    if role is not None:
        check_fits(content.name, trained, role)
    with own.strange(f"policy {content.name}", str(content.provenance.get("run", ""))):
        try:
            algo = algos.named(algo)
            bound = algos.configure(algo, config)
        except ValueError as error:
            said = str(error) if content.name in str(error) else f"policy {content.name} cannot be played here: {error}"
            raise ValueError(said) from None
        algorithm = algos.make(algo, bound, role or trained)
    like = jax.eval_shape(lambda: algorithm.policy(algorithm.init(jax.random.key(0))))
    return Policy(content.name, algorithm, unflatten(like, content.tensors, f"policy {content.name}"), content.spec, content.provenance)


def check_fits(name: str, trained: Role, asked: Role) -> None:
    theirs, ours = (_shape(role) for role in (trained, asked))
    if theirs != ours:
        raise ValueError(f"policy {name} plays {theirs}; role {asked.name!r} here asks for {ours}")


def _shape(role: Role) -> str:
    return f"{role.agents} agents, observations {list(role.obs.shape)}, actions {role.action}"


def role_out(role: Role) -> dict[str, Any]:
    """What of a role shapes its policies; bounds that are infinite are left out."""
    space = {key: value for key, value in asdict(role.action).items() if not (isinstance(value, float) and np.isinf(value))}
    return {
        "name": role.name,
        "agents": role.agents,
        "obs": {"shape": list(role.obs.shape), "dtype": role.obs.dtype},
        "action": {"space": type(role.action).__name__, **_plain(space)},
        "state": list(role.state_shape),
    }


def role_in(spec: Mapping[str, Any]) -> Role:
    action = dict(spec["action"])
    kind = SPACES[action.pop("space")]
    if kind is Box:
        action = {"low": float("-inf"), "high": float("inf")} | action
    space = kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in action.items()})
    obs = Box(float("-inf"), float("inf"), tuple(spec["obs"]["shape"]), spec["obs"]["dtype"])
    return Role(spec["name"], int(spec["agents"]), obs, space, state_shape=tuple(spec["state"]))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


class Player:
    """A policy that acts by hand, one environment at a time, with its own memory and randomness.

    >>> player = policy.player(seed=0)                                                                   # doctest: +SKIP
    >>> actions = player.act(obs)        # [agents, ...] -> [agents, ...]; player.reset() where an episode begins   # doctest: +SKIP
    """

    def __init__(self, policy: Policy, seed: int = 0, greedy: bool | None = None) -> None:
        self.policy = policy
        self._key = jax.random.key(seed)
        self._steps = 0
        self._greedy = not policy.algorithm.stochastic if greedy is None else greedy
        self._act = jax.jit(_act_greedily if self._greedy else _act_sampled, static_argnums=0)
        self.reset()

    def reset(self) -> None:
        """An episode begins: forget the last one."""
        self._carry = self.policy.algorithm.carry(1)

    def act(self, obs: Any, legal: Any = None) -> HostArray:
        """Observations [agents, ...] (and legal actions [agents, A]) -> actions [agents, ...]."""
        role = self.policy.algorithm.role
        seen = np.asarray(obs, role.obs.dtype)
        wanted = (len(role.seats), *role.obs.shape)
        if seen.shape != wanted:
            raise ValueError(f"observations of role {role.name!r} are {list(wanted)}, got {list(seen.shape)}")
        timestep = _moment(role, seen, legal)
        key = jax.random.fold_in(self._key, self._steps)
        actions, self._carry = self._act(self.policy.algorithm, self.policy.params, timestep, self._carry, key)
        self._steps += 1
        return np.asarray(actions)[0]


def _moment(role: Role, obs: HostArray, legal: Any) -> TimeStep:
    """One observation as a time step of a batch of one."""
    n = len(role.seats)
    one = jnp.ones((1, n))
    if not isinstance(role.action, Box):
        wanted = (n, role.action.n if isinstance(role.action, Discrete) else sum(role.action.ns))
        legal = np.ones(wanted, bool) if legal is None else np.asarray(legal, bool)
        if legal.shape != wanted:
            raise ValueError(f"legal actions of role {role.name!r} are {list(wanted)}, got {list(legal.shape)}")
    mask = None if legal is None or isinstance(role.action, Box) else np.asarray(legal, bool)[None]
    return TimeStep(obs[None], one * 0, one, jnp.zeros((1,), bool), mask, one > 0, jnp.zeros((1, *role.state_shape)))


def _act_sampled(algorithm: Algorithm, params: Tree, timestep: TimeStep, carry: Tree, key: Any) -> tuple[Any, Tree]:
    actions, _, carry = algorithm.act(params, timestep, carry, key)
    return actions, carry


def _act_greedily(algorithm: Algorithm, params: Tree, timestep: TimeStep, carry: Tree, key: Any) -> tuple[Any, Tree]:
    return algorithm.greedy(params, timestep, carry)

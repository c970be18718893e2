"""From a spec to something that trains or plays: environment, who sits where, buffers, and the program.

`assemble(spec, find)` -> `Assembly`. `find` gives a policy's content for the text by which somebody named it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist import algos, envs, loop, policies, rollout
from agonist.algos import scripted
from agonist.buffers import make_buffer
from agonist.checkpoints import PolicyContent
from agonist.options import nearest
from agonist.placement import Layout, layout
from agonist.specs import TRAINEE, Spec, for_role
from agonist.types import Env, EnvSpec, Group, HostEnv, LineUp, Players, Policy, Role, Tree

Find = Callable[[str], PolicyContent]


class Assembly(NamedTuple):
    env: Env | HostEnv
    line_up: LineUp
    frozen: Players
    configs: tuple[Any, ...]  # a trainee's, None for everybody else
    program: loop.Program


def assemble(spec: Spec, find: Find) -> Assembly:
    """All that training needs."""
    env = envs.built(spec.env, spec.options)
    known = [role.name for role in env.spec.roles]
    for name in spec.roles:
        if name not in known:
            raise ValueError(f"{env.spec.name} has no role {name!r} for roles.{name}{nearest(name, known)}")
    if jax.process_count() > 1 and not isinstance(env, Env):
        raise ValueError(f"{env.spec.name} is stepped from one host: several train compiled environments only, as in agonist envs")
    lay = layout(spec.train.shards) if isinstance(env, Env) else Layout(tuple(jax.devices()[:1]), spec.train.shards)
    seated = seat(env.spec, spec.players, find, lambda role: trainee(spec, role, lay.axes))
    buffers = tuple(make_buffer(group.algorithm.plan) if group.trains else None for group in seated.line_up)
    if isinstance(env, Env):
        program = loop.make_program(env, seated.line_up, buffers, spec.train, lay)
    else:
        env_eval: Any = envs.built(spec.env, spec.options)  # evaluation may not disturb the episodes of training
        if env_eval is env:
            raise ValueError("give a function that makes this environment: evaluation plays in one of its own")
        program = loop.make_host_program(env, env_eval, seated.line_up, buffers, spec.train)
    return Assembly(env, *seated, program)


def trainee(spec: Spec, role: Role, axes: tuple[str, ...]) -> tuple[Any, Group]:
    algo, config = for_role(spec, role.name)
    return config, Group(role.name, algos.make(algo, config, role, axes), trains=True)


class Seated(NamedTuple):
    line_up: LineUp
    frozen: Players
    configs: tuple[Any, ...]


def seat(spec: EnvSpec, players: Mapping[str, Any], find: Find, learn: Callable[[Role], tuple[Any, Group]]) -> Seated:
    """Who sits where: `players` by role or role.seat; every other seat goes to the role's trainee."""
    groups: list[Group] = []
    params: list[Tree] = []
    configs: list[Any] = []
    for role, who in _parts(spec, players):
        if who == TRAINEE:
            config, group = learn(role)
            configs.append(config)
            groups.append(group._replace(name=_label(spec, role)))
            params.append(())
        else:
            group, stack = _other(role, who, find)
            configs.append(None)
            groups.append(group._replace(name=_label(spec, role)))
            params.append(stack)
    line_up = tuple(groups)
    rollout.check_line_up(spec, line_up)
    odds = tuple(jnp.full((n,), 1.0 / n) for n in (len(who) if isinstance(who, list) else 1 for _, who in _parts(spec, players)))
    return Seated(line_up, Players(tuple(params), odds), tuple(configs))


def _label(spec: EnvSpec, role: Role) -> str:
    whole = role.seats == tuple(range(role.agents))
    return role.name if whole else f"{role.name}.{'+'.join(map(str, role.seats))}"


def _parts(spec: EnvSpec, players: Mapping[str, Any]) -> list[tuple[Role, Any]]:
    """(a role with the seats held, who holds them): one part for each player named, one for the trainee's seats."""
    names = [role.name for role in spec.roles] + [f"{role.name}.{seat}" for role in spec.roles for seat in range(role.agents)]
    for key in players:
        if key not in names:
            raise ValueError(f"{spec.name} has no seat players.{key}{nearest(key, names)}")
    out: list[tuple[Role, Any]] = []
    for role in spec.roles:
        by_seat = [players.get(f"{role.name}.{seat}", players.get(role.name, TRAINEE)) for seat in range(role.agents)]
        different = [who for i, who in enumerate(by_seat) if who not in by_seat[:i]]
        out += [(role.holding(tuple(seat for seat, held in enumerate(by_seat) if held == who)), who) for who in different]
    return out


def _other(role: Role, who: Any, find: Find) -> tuple[Group, Tree]:
    """A script, a frozen policy, or several of one architecture, met in turn."""
    if isinstance(who, str) and scripted.is_script(who):
        return Group(who, scripted.make_script(who, role)), ()
    if who == []:
        raise ValueError(f"players of {role.name!r} are an empty list: name one policy or more")
    loaded = [load(text, role, find) for text in (who if isinstance(who, list) else [who])]
    first = loaded[0]
    for policy in loaded[1:]:
        if policy.spec != first.spec:
            raise ValueError(f"policies met in turn need one architecture; {policy.name} is not built like {first.name}")
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *[policy.params for policy in loaded])
    greedy = not first.algorithm.stochastic
    return Group("+".join(policy.name for policy in loaded), first.algorithm, greedy=greedy), stack


def load(text: str, role: Role, find: Find) -> Policy:
    return policies.load(find(text), role)

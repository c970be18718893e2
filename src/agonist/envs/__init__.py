"""Environments by name: `family:scenario` -> Env (compiled, a batch) or HostEnv (anything else; `reset(seeds)` sets its batch).

Ours and plugins' come through one door, the entry-point group `agonist.envs`, whose entries are `families.Family` cards.
Nothing is imported that was not asked for; listing imports cards only. Own code is named in the same place: `./my_env.py:make`,
`module:make`, or the function or environment itself (see `envs.own_code`).
"""

from __future__ import annotations

import importlib
import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agonist import own, plugins
from agonist.envs import own_code
from agonist.envs.families import Family
from agonist.options import fill, nearest, rows
from agonist.types import Env

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agonist.types import Array, EnvSpec, HostArray, HostEnv, Role, TimeStep, Tree

GROUP = "agonist.envs"


def make(name: Any, **options: Any) -> Env | HostEnv:
    """The environment of a name such as `lbf:2s-8x8-2p-2f-coop`, with its family's options."""
    return built(named(name), options)


def built(name: str, options: Mapping[str, Any]) -> Env | HostEnv:
    """The same of a name as `named` gives it: no code is run that this process does not run already."""
    if (code := own.known(name)) is not None:
        return own_code.make(code, options)
    card, scenario = _card(name)
    family = name.partition(":")[0]
    if card.scenarios and not scenario:
        raise ValueError(f"{family} is a family of environments: name one, such as {family}:{card.scenarios[0]}")
    if scenario and not card.scenarios:
        raise ValueError(f"{family} is one environment and has no scenario {scenario!r}")
    env: Env | HostEnv = _named(card.make)(scenario, fill(_named(card.options), options, name))
    return env


def named(env: Any) -> str:
    """An environment's name; own code by its lasting one. A family's name goes before a module's."""
    return env if isinstance(env, str) and _installed(env.partition(":")[0]) else own.named(env)


def families() -> list[dict[str, Any]]:
    """Every family that is installed, by name. A broken plugin is listed with its `error`, a missing package with `install`."""
    out = []
    for name, entry in sorted(plugins.offers(GROUP).items()):
        row: dict[str, Any] = {"family": name, "package": plugins.package(entry)}
        try:
            card = plugins.load(GROUP, name, plugins.PATIENCE)
        except ValueError as error:
            out.append(row | {"about": "", "source": "", "scenarios": [], "install": None, "error": str(error)})
            continue
        row |= {"about": card.about, "source": card.source, "scenarios": [f"{name}:{scenario}" for scenario in card.scenarios] or [name]}
        out.append(row | {"install": card.install if _missing(card) else None, "error": None})
    return out


def describe(name: str, **options: Any) -> dict[str, Any]:
    """One environment: its roles with their spaces and rewards, its time limit, and the options it takes."""
    name = named(name)
    env = built(name, options)
    kind, spec = "compiled" if isinstance(env, Env) else "host", env.spec
    if not isinstance(env, Env):
        env.close()
    code = own.known(name)
    part = own_code.options_of(code)[0] if code else _named(_card(name)[0].options)
    return _told(spec) | {"kind": kind, "options": rows(part)}


def lift(one: Env) -> Env:
    """A batch of an environment written for one stream: `reset(key)`, `step(state, actions)`, arrays without the axis B."""
    import jax

    def render(state: Tree, b: int) -> HostArray:
        return one.render(jax.tree.map(lambda leaf: leaf[b], state), 0)

    def reset(keys: Array) -> tuple[Tree, TimeStep]:
        return jax.vmap(one.reset)(keys)

    return Env(spec=one.spec, reset=reset, step=jax.vmap(one.step), render=render)


def _card(name: str) -> tuple[Family, str]:
    """The family's card, and the scenario."""
    family, _, scenario = name.partition(":")
    try:
        card: Family = plugins.load(GROUP, family)
    except ValueError:
        if _installed(family):
            raise
        raise ValueError(f"there is no family of environments {family!r}{nearest(family, plugins.offers(GROUP))}") from None
    if _missing(card):
        raise ValueError(f"{family} needs the package {card.needs}: {card.install}")
    return card, scenario


def _installed(family: str) -> bool:
    return any(family in (offer.name, f"{offer.package}/{offer.name}") for offer in plugins.installed(GROUP))


def _missing(card: Family) -> bool:
    return bool(card.needs) and find_spec(card.needs) is None


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _told(spec: EnvSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "about": spec.about,
        "source": spec.source,
        "time_limit": spec.time_limit,
        "state_shape": list(spec.state_shape),
        "roles": [_told_role(role) for role in spec.roles],
    }


def _told_role(role: Role) -> dict[str, Any]:
    return {
        "name": role.name,
        "agents": role.agents,
        "obs": str(role.obs),
        "action": str(role.action),
        "rewards": role.rewards,
        "reward_range": [bound if math.isfinite(bound) else None for bound in role.reward_range],
    }

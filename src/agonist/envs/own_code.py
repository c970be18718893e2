"""Environments of one's own code, without a package: a function that makes one, or one that is made already.

The function's parameters are the environment's options, `env.KEY`: a frozen dataclass (named by the annotation of its only parameter),
or keywords with defaults. What it gives is asked once, without being run, for the shapes that its spec promises.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from agonist import own
from agonist.options import fill
from agonist.types import Env, EnvSpec, option

if TYPE_CHECKING:
    from agonist.types import HostEnv

BATCH = 2


def make(code: own.Code, options: Mapping[str, Any]) -> Env | HostEnv:
    """The environment that own code stands for, with its options."""
    name = own.short(code.name)
    if _is_env(code.made):
        if options:
            raise ValueError(f"{name} is an environment that is made already and takes no options; got {', '.join(options)}")
        made = code.made
    else:
        part, whole = options_of(code)
        filled = fill(part, options, name)
        made = code.made(filled) if whole else code.made(**{key: getattr(filled, key) for key in part.__dataclass_fields__})
    if not _is_env(made):
        raise ValueError(
            f"{name} gave a {type(made).__name__}; an environment is an agonist.types.Env, or a HostEnv with spec, reset, step"
        )
    if isinstance(made, Env):
        _check(name, made)
    return made


def options_of(code: own.Code) -> tuple[type[Any], bool]:
    """(the dataclass of its options, whether the function takes it whole)"""
    name = own.short(code.name)
    if _is_env(code.made):
        return make_dataclass("Options", []), False
    if not callable(code.made):
        raise ValueError(f"{name} is a {type(code.made).__name__}; an environment is a function that makes one, or one itself")
    hints = get_type_hints(vars(code.made).get("__init__", code.made) if isinstance(code.made, type) else code.made)
    parameters = [p for p in inspect.signature(code.made).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if len(parameters) == 1 and is_dataclass(kind := hints.get(parameters[0].name)):
        return kind, True  # type: ignore[return-value]
    for parameter in parameters:
        if parameter.default is parameter.empty:
            raise ValueError(f"{name} needs a default for {parameter.name}: env.{parameter.name} may be left out")
    return make_dataclass("Options", [(p.name, hints.get(p.name, _kind(p.default)), option(p.default, "")) for p in parameters]), False


def _kind(default: Any) -> Any:
    """The type of a parameter without an annotation."""
    if isinstance(default, tuple):
        return tuple[type(default[0]) if default else str, ...]  # type: ignore[misc]
    return str | None if default is None else type(default)


def _is_env(made: Any) -> bool:
    able = all(callable(getattr(made, part, None)) for part in ("reset", "step"))
    return able and isinstance(getattr(made, "spec", None), EnvSpec) and not isinstance(made, type)


def _check(name: str, env: Env) -> None:
    """A batch's shapes are those of the spec: the mistake of an environment for one stream that was not lifted, and of a wrong spec."""
    import jax

    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), BATCH))
    _, timestep = jax.eval_shape(env.reset, keys)
    if timestep.last.shape != (BATCH,):
        raise ValueError(
            f"reset of {name} gives `last` of shape {timestep.last.shape} for a batch of {BATCH}: written for one stream, it becomes "
            "a batch by agonist.envs.lift(env)"
        )
    for role in env.spec.roles:
        for part in ("obs", "reward", "discount", "legal", "alive"):
            if role.name not in (getattr(timestep, part) or {}):
                raise ValueError(f"reset of {name} gives no {part} of the role {role.name!r}, which its spec names")
        found, wanted = timestep.obs[role.name].shape, (BATCH, role.agents, *role.obs.shape)
        if found != wanted:
            raise ValueError(f"reset of {name} gives observations {found} of role {role.name!r}; by its spec they are {wanted}")

"""Algorithms by name, found by the same door as plugins (entry-point group `agonist.algos`); nothing is imported but the one asked for.

Own code is named in the same place: `./my_algo.py:make_mine`, `module:make_mine`, or the function itself.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, get_type_hints

from agonist import own, plugins
from agonist.options import fill
from agonist.types import Algorithm, Role

GROUP = "agonist.algos"


@dataclass(frozen=True)
class Card:
    """What is known of an algorithm without importing it."""

    make: Any  # "module:function" of (config, role, axes) -> Algorithm, or the function
    config: Any  # "module:dataclass", or the dataclass
    about: str
    source: str
    fixed: Mapping[str, Any] = field(default_factory=dict)  # keys that its name settles


def named(algo: Any) -> str:
    """An algorithm's name; own code by its lasting one."""
    return algo if isinstance(algo, str) and ":" not in algo and not algo.endswith(".py") else own.named(algo)


def card(name: str, patience: float | None = None) -> Card:
    """Of a name as `named` gives it."""
    if ":" not in name:
        known: Card = plugins.load(GROUP, name, patience)
        return known
    if (code := own.known(name)) is None:
        raise ValueError(f"{name} is no algorithm that is installed, and no own code that is run here")
    about = inspect.cleandoc(inspect.getdoc(code.made) or "").partition("\n\n")[0]
    return Card(code.made, _config_of(code), " ".join(about.split()), code.file)


def package(name: str) -> str | None:
    """Whose it is; None where it is ours or own code."""
    return None if ":" in name else plugins.find(GROUP, name).package


def config_type(name: str) -> type[Any]:
    kind: type[Any] = _named(card(name).config)
    return kind


def configure(name: str, keys: Mapping[str, Any]) -> Any:
    """An algorithm's config; keys that its name settles may not be given otherwise."""
    known, kind = card(name), config_type(name)
    for key, value in known.fixed.items():
        if key in keys and keys[key] != value:
            raise ValueError(f"{name} means {key}={value}; for {key}={keys[key]} use another algorithm")
    return fill(kind, {**lasting(name, keys), **known.fixed}, own.short(name))


def lasting(name: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """An algorithm's keys, own code by its lasting name."""
    code = {field.name: field.metadata.get("choices", ()) for field in fields(config_type(name)) if field.metadata.get("code")}
    return {key: _code(key, value, code[key]) if key in code and value is not None else value for key, value in keys.items()}


def _code(key: str, value: Any, choices: Sequence[str]) -> str:
    """Text with a colon can be nothing but code."""
    if not isinstance(value, str) or ":" not in value or value in choices or own.is_name(value):
        return own.named(value)
    try:
        return own.load(value).name
    except ValueError as error:
        raise ValueError(f"{key} is {', '.join([*choices, 'or own code, ./file.py:function'])}; {error}") from None


def make(name: str, config: Any, role: Role, axes: tuple[str, ...] = ()) -> Algorithm:
    made = _named(card(name).make)(config, role, axes)
    if not isinstance(made, Algorithm):
        raise ValueError(f"{own.short(name)} gave a {type(made).__name__}; an algorithm is an agonist.types.Algorithm")
    return replace(made, name=name) if ":" in name or package(name) else made  # as it is found again, whatever it calls itself


def _config_of(code: own.Code) -> type[Any]:
    """The dataclass that the first parameter's annotation names."""
    if not callable(code.made):
        raise ValueError(f"{own.short(code.name)} is a {type(code.made).__name__}; an algorithm is a function of (config, role, axes)")
    given = list(inspect.signature(code.made).parameters)
    if len(given) < 3:
        raise ValueError(f"{own.short(code.name)} takes ({', '.join(given)}); an algorithm is a function of (config, role, axes)")
    try:
        kind = get_type_hints(code.made).get(given[0])
    except NameError as error:
        raise ValueError(f"{own.short(code.name)}: {error}, in the annotation of a parameter") from None
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"{own.short(code.name)} does not say what its keys are: annotate {given[0]} with a frozen dataclass of them")
    return kind


def _named(path: Any) -> Any:
    if not isinstance(path, str):
        return path
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)

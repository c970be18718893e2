"""Algorithms by name, found by the same door as plugins (entry-point group `agonist.algos`); nothing is imported but the one asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agonist import plugins
from agonist.options import fill
from agonist.types import Algorithm, Role

GROUP = "agonist.algos"


@dataclass(frozen=True)
class Card:
    """What is known of an algorithm without importing it."""

    make: str  # "module:function" of (config, role, axes) -> Algorithm
    config: str  # "module:dataclass"
    about: str
    source: str
    fixed: Mapping[str, Any] = field(default_factory=dict)  # keys that its name settles


def card(name: str) -> Card:
    return plugins.load(GROUP, name)


def config_type(name: str) -> type[Any]:
    return _named(card(name).config)


def configure(name: str, keys: Mapping[str, Any]) -> Any:
    """An algorithm's config; keys that its name settles may not be given otherwise."""
    known = card(name)
    for key, value in known.fixed.items():
        if key in keys and keys[key] != value:
            raise ValueError(f"{name} means {key}={value}; for {key}={keys[key]} use another algorithm")
    return fill(config_type(name), {**keys, **known.fixed}, name)


def make(name: str, config: Any, role: Role, axes: tuple[str, ...] = ()) -> Algorithm:
    return _named(card(name).make)(config, role, axes)


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)

"""Environments by name: `family:scenario` -> Env (compiled, a batch) or HostEnv (anything else).

Ours and plugins' come through one door, the entry-point group `agonist.envs`. Nothing is imported that was not asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, get_type_hints

from agonist import plugins

if TYPE_CHECKING:
    from agonist.types import Env, HostEnv

GROUP = "agonist.envs"


def make(name: str, **options: Any) -> Env | HostEnv:
    """The environment of a name such as `lbf:2s-8x8-2p-2f-coop`, with its family's options."""
    family, _, scenario = name.partition(":")
    card = plugins.load(GROUP, family)
    module, _, function = card.make.partition(":")
    factory = getattr(importlib.import_module(module), function)
    return factory(scenario, get_type_hints(factory)["options"](**options))

"""Agonist: where multi-agent policies are trained, matched, measured and kept.

    run = agonist.train("ppo", "lbf:2s-8x8-2p-2f-coop", steps=4e5)
    player = run.policy().player(seed=0)
    actions = player.act(obs)

Importing this imports no jax: the functions below come from `agonist.api` when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agonist.api import Run, Sweep, evaluate, list_runs, load_policy, make, show_run, study, sweep, train, watch

__version__ = "0.1.0"
__all__ = ["Run", "Sweep", "evaluate", "list_runs", "load_policy", "make", "show_run", "study", "sweep", "train", "watch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'agonist' has no attribute {name!r}")
    from agonist import devices

    devices.prepare()
    from agonist import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

"""One door for ours and theirs: what an installed package offers under an entry-point group, loaded when asked for by name.

Groups: agonist.envs, agonist.algos, agonist.solvers, agonist.channels, agonist.executors.
`offers(group)` -> name -> entry point, importing nothing; `load(group, name)` -> the object, or a ValueError in a sentence.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agonist.options import nearest


@cache
def offers(group: str) -> dict[str, EntryPoint]:
    """What is installed under a group, by name. Ours win over a plugin of the same name."""
    found = sorted(entry_points(group=group), key=lambda entry: (package(entry) is None, entry.value))
    return {entry.name: entry for entry in found}


def package(entry: EntryPoint) -> str | None:
    """The distribution that an entry point comes from; None for our own."""
    name = entry.dist.name if entry.dist is not None else "unknown"
    return None if name == "agonist" else name


def load(group: str, name: str) -> Any:
    """The object that a name stands for. A broken plugin raises here and nowhere else."""
    entry = offers(group).get(name)
    if entry is None:
        raise ValueError(f"nothing called {name!r} among {group}{nearest(name, offers(group))}")
    try:
        return entry.load()
    except Exception as error:  # a plugin may fail in any way; the sentence names it
        raise ValueError(f"{name} of the package {package(entry) or 'agonist'} is broken: {type(error).__name__}: {error}") from error

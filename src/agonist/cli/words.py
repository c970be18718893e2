"""The words that several commands take, and how keys are told from names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from agonist import devices, own
from agonist.options import read_words

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where runs are kept: a directory (else $AGONIST_STORE, else .agonist).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, say what would be done, and stop.")]
Greedy = Annotated[
    bool | None,
    typer.Option("--greedy/--sampled", help="Play each action's most likely choice, or draw it (else as the algorithm does by itself)."),
]
EnvName = Annotated[str | None, typer.Option("--env", metavar="ENV", help="Where to play (else where the policy was trained).")]
Who = Annotated[str, typer.Argument(metavar="POLICY|RUN", help="A run, its @last or @STEP policy, a policy's hash, or a folder.")]
PlayKeys = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="env.KEY=VALUE of the environment, players.ROLE[.SEAT]=POLICY or random."),
]


def _allow_code(ctx: typer.Context, allowed: bool) -> bool:
    """While the command works."""
    ctx.with_resource(own.allowing(allowed))
    return allowed


AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", callback=_allow_code, help="Run the own code, somebody's .py file, that a run or a policy names."),
]

KEY = re.compile(r"[A-Za-z_][\w.+-]*=")


def split(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names, and keys with their texts, whatever their order."""
    names = [word for word in words if not KEY.match(word)]
    return names, read_words([word for word in words if KEY.match(word)])


def sampled(greedy: bool | None) -> bool | None:
    return None if greedy is None else not greedy


def named(names: Sequence[str]) -> dict[str, str]:
    """The words without a key: an algorithm and an environment."""
    if len(names) > 2:
        raise ValueError(f"there is one ALGO and one ENV, and keys are written key=value; got {' '.join(names)}")
    return dict(zip(("algo", "env"), names, strict=False))


def shards(given: Mapping[str, Any]) -> int:
    """How many devices may be of use; what is wrong with the key is said when the keys are checked."""
    try:
        return max(1, int(float(given["shards"])))
    except (KeyError, TypeError, ValueError, OverflowError):
        return devices.DEFAULT_SHARDS


@contextmanager
def says_store(store: str | None) -> Iterator[None]:
    """How to go on with a run that was stopped is said with the store in which it is."""
    try:
        yield
    except RuntimeError as error:
        if store and type(error).__name__ == "Interrupted":
            error.args = (f"{error} --store {store}",)
        raise

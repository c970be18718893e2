"""The words that several commands take, and how keys are told from names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from agonist.options import read_words

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where runs are kept: a directory (else $AGONIST_STORE, else .agonist).")
]
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

KEY = re.compile(r"[A-Za-z_][\w.+-]*=")


def split(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names, and keys with their texts, whatever their order."""
    names = [word for word in words if not KEY.match(word)]
    return names, read_words([word for word in words if KEY.match(word)])


def sampled(greedy: bool | None) -> bool | None:
    return None if greedy is None else not greedy

"""Episodes -> something to look at: a GIF, an MP4, an HTML player, or the terminal itself.

A `Cast` says who sits where, a `Film` holds what they played, episode by episode. `check(out)` refuses, before anything is played, what
could not be written afterwards; `write(out, film)` writes it whole or not at all and returns its size in bytes. The file's suffix says
which form. `terminal.play` needs no file.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agonist.rollout import Frame
    from agonist.types import EnvSpec, LineUp, Role

FORMS = {".gif": "a film for any page", ".mp4": "a film, by ffmpeg", ".html": "a player with rewards and actions"}
HOLD = 1.5  # seconds that an episode's end is shown
GET_FFMPEG = {"darwin": "brew install ffmpeg", "win32": "winget install ffmpeg"}


class Reel(NamedTuple):
    """One episode."""

    seed: int
    frames: Sequence[Frame]


class Agent(NamedTuple):
    """A seat, and who holds it."""

    name: str
    role: Role
    seat: int
    who: str  # a policy's hash, or a script


class Cast(NamedTuple):
    env: str
    about: str
    agents: tuple[Agent, ...]


class Film(NamedTuple):
    cast: Cast
    reels: Sequence[Reel]
    fps: float


def cast(spec: EnvSpec, line_up: LineUp, policies: Mapping[str, str]) -> Cast:
    """Everybody on stage; `policies` are the names of those groups that have one."""
    held = {(group.role.name, seat): policies.get(group.name, group.algorithm.name) for group in line_up for seat in group.role.seats}
    seats = [(role, seat) for role in spec.roles for seat in range(role.agents)]
    agents = [Agent(f"{role.name} {seat}" if role.agents > 1 else role.name, role, seat, held[role.name, seat]) for role, seat in seats]
    return Cast(spec.name, spec.about, tuple(agents))


def check(out: str) -> None:
    """Refuse, before anything is played, what could not be written afterwards."""
    path = Path(out).expanduser()
    suffix = path.suffix.lower()
    if suffix not in FORMS:
        named = path.stem or "watch"
        raise ValueError(f"--out writes .gif, .mp4 or .html, such as {named}.html; got {out!r}")
    if path.is_dir():
        raise ValueError(f"--out {out} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"--out {out} cannot be written: permission denied")
    if suffix == ".mp4" and not shutil.which("ffmpeg"):
        get = GET_FFMPEG.get(sys.platform, "apt-get install ffmpeg, or as your system installs packages")
        raise ValueError(f"--out {out} needs ffmpeg, which is not on PATH ({get}); a .gif or .html needs nothing")


def write(out: str, film: Film) -> int:
    """Write the film and return the file's size in bytes."""
    path = Path(out).expanduser()
    partial = path.with_name(f".{path.name}.part")
    form = importlib.import_module(f"{__name__}.{path.suffix.lower()[1:]}")
    try:
        form.write(partial, film)
        size = partial.stat().st_size
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return size

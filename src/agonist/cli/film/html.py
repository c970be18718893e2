"""A film -> one HTML file with a player: pictures, and each agent's rewards and actions beside them.

The file is whole by itself and asks nothing of a network: its policy allows its own script and style by their hashes and nothing
else. What others have written (names of environments, policies, actions) comes in as data and is shown as text.

The pictures are indices into one palette of 256 colours. Each is told by the rectangle in which it differs from the one before it:
four little-endian 16-bit numbers (left, top, width, height), then width x height bytes, the exclusive or of both; the first differs
from zeros. All of them one after another, in zlib's form, in base64. The exclusive or undoes itself, so a player goes backwards as
easily as forwards, and pixels that stay are zeros that cost nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import struct
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from agonist.cli.film import HOLD, Agent, Film, Reel
from agonist.cli.film.pictures import largest, painted, palette_of, picture
from agonist.cli.output import plain
from agonist.types import Box, Discrete, HostArray, Role


def write(path: Path, film: Film) -> None:
    path.write_text(page(film), encoding="utf8", newline="\n")


def page(film: Film) -> str:
    here = files("agonist.cli.film")
    style, script, frame = ((here / f"player.{kind}").read_text(encoding="utf8") for kind in ("css", "js", "html"))
    data = json.dumps(plain(told(film)), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    parts = {"policy": policy, "title": html.escape(film.cast.env), "style": style, "script": script, "data": data}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], frame)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def told(film: Film) -> dict[str, Any]:
    """All that the player shows."""
    width, height = largest(film)
    palette, stream = packed(film)
    return {
        "about": film.cast.about,
        "fps": film.fps,
        "hold": HOLD,
        "width": width,
        "height": height,
        "palette": palette.hex(),
        "pictures": base64.b64encode(zlib.compress(stream, 9)).decode(),
        "agents": [_agent(agent) for agent in film.cast.agents],
        "episodes": [_episode(film, reel) for reel in film.reels],
    }


def packed(film: Film) -> tuple[bytes, bytes]:
    """The palette, red, green and blue of 256 colours, and all pictures one after another."""
    shown = [picture(frame, largest(film)) for reel in film.reels for frame in reel.frames]
    sheet = palette_of(shown, 256)
    palette = bytes(sheet.getpalette() or ())
    before, stream = None, bytearray()
    for one in painted(shown, sheet):
        now = np.asarray(one, np.uint8)
        change = now if before is None else now ^ before
        stream += _rectangle(change)
        before = now
    return palette.ljust(768, b"\0"), bytes(stream)


def _rectangle(change: HostArray) -> bytes:
    """Where a change is, and what it is."""
    rows, columns = np.flatnonzero(change.any(axis=1)), np.flatnonzero(change.any(axis=0))
    if not len(rows):
        return struct.pack("<4H", 0, 0, 0, 0)
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    return struct.pack("<4H", left, top, right - left, bottom - top) + change[top:bottom, left:right].tobytes()


def _agent(agent: Agent) -> dict[str, Any]:
    shared = agent.role.rewards == "shared"
    return {"name": agent.name, "role": agent.role.name, "who": agent.who, "shared": shared, "action": _choices(agent.role)}


def _choices(role: Role) -> dict[str, Any]:
    """What an action's numbers mean: so many choices each, or between two bounds."""
    space = role.action
    if isinstance(space, Box):
        bounds = [bound if np.isfinite(bound) else None for bound in (space.low, space.high)]
        return {"kind": "box", "parts": int(np.prod(space.shape)), "low": bounds[0], "high": bounds[1]}
    if isinstance(space, Discrete):
        return {"kind": "choice", "parts": 1, "choices": [space.n], "names": list(role.action_names)}
    return {"kind": "choice", "parts": len(space.ns), "choices": list(space.ns), "names": []}


def _episode(film: Film, reel: Reel) -> dict[str, Any]:
    """Rewards and who is there at each of the T + 1 moments, and the T actions between them, an agent a row."""
    seats = [(agent.role.name, agent.seat) for agent in film.cast.agents]
    frames = reel.frames
    return {
        "seed": reel.seed,
        "returns": {group: [_short(frame.returns[group]) for frame in frames] for group in frames[0].returns},
        "rewards": [[_short(frame.rewards[role][seat]) for frame in frames] for role, seat in seats],
        "alive": [[int(frame.alive[role][seat]) for frame in frames] for role, seat in seats],
        "actions": [[_numbers(frame.actions[role][seat]) for frame in frames if frame.actions] for role, seat in seats],
    }


def _numbers(action: HostArray) -> list[float]:
    return [_short(number) for number in np.ravel(action).tolist()]


def _short(number: float) -> float:
    """Six digits: a float32 has no more to say, and a file is short."""
    return number if isinstance(number, int) else float(f"{number:.6g}")

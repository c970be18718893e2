"""A film in the terminal: two pixels a character (upper half blocks), below them step, return, and who does what.

Colours are as many as the terminal has; without them light and dark become letters, the commonest colour of a picture a blank. Where only
ASCII can be written a character is one pixel. A terminal's own screen is used and left as it was, also by Ctrl-C; where there is no
terminal the pictures are printed one below the other, without waiting.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from PIL import Image
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agonist.cli import output
from agonist.cli.film import HOLD, Agent, Cast
from agonist.cli.film.pictures import told
from agonist.cli.output import number
from agonist.rollout import Frame
from agonist.types import Discrete, HostArray

HALF = "▀"  # its ink is the upper pixel, its paper the lower one
RAMP = " .:-=+*#%@"
LEAST = 6  # rows that a picture has at least

Form = Literal["half", "paper", "letters"]


class Shot(NamedTuple):
    """A frame as it is now; rich asks for it whenever it draws."""

    cast: Cast
    title: str
    frame: Frame
    step: int
    sums: HostArray  # [agents] rewards so far
    plain: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, options.height or console.height
        rows = _agents(self, max(1, height - LEAST - 4))
        yield Text(self.title, "bold", no_wrap=True, overflow="crop")
        yield from _picture(self.frame.image, width, max(LEAST, height - len(rows) - 3), _form(console, self.plain))
        yield Text(f"step {self.step}   {told(self.frame.returns)}", no_wrap=True, overflow="crop")
        yield from rows


def play(console: Console, cast: Cast, episodes: Iterable[tuple[str, Iterable[Frame]]], fps: float, plain: bool) -> None:
    """Show the episodes, each with its title, `fps` steps a second."""
    shots = _shots(cast, episodes, plain)
    if not console.is_terminal or console.is_dumb_terminal:
        for shot in shots:
            console.print(shot)
        return
    with output.working(False, "playing"):
        first = next(shots)  # whatever must be compiled is, before the screen is taken
    due = time.monotonic()
    with Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as stage:
        for shot in itertools.chain([first], shots):
            stage.update(shot, refresh=True)
            due = max(due + (HOLD if shot.frame.last else 1 / fps), time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def _shots(cast: Cast, episodes: Iterable[tuple[str, Iterable[Frame]]], plain: bool) -> Iterator[Shot]:
    for title, frames in episodes:
        sums = np.zeros(len(cast.agents))
        for step, frame in enumerate(frames):
            sums = sums + [frame.rewards[agent.role.name][agent.seat] for agent in cast.agents]
            yield Shot(cast, title, frame, step, sums, plain)


# who does what


def _agents(shot: Shot, most: int) -> list[Text]:
    """A row an agent: name, action, reward of the step and so far; at most so many rows."""
    agents = shot.cast.agents
    shown = agents if len(agents) <= most else agents[: most - 1]
    frame, widest = shot.frame, max(len(agent.name) for agent in agents)
    rows = [Text(f"{'':<{widest}}  {'so far':>9}  {'reward':>9}  action", "dim", no_wrap=True, overflow="crop")]
    for agent, total in zip(shown, shot.sums, strict=False):
        reward, here = frame.rewards[agent.role.name][agent.seat], frame.alive[agent.role.name][agent.seat]
        did = "" if frame.actions is None else said(agent, frame.actions[agent.role.name][agent.seat]) if here else "gone"
        text = f"{agent.name:<{widest}}  {number(total):>9}  {number(reward) if shot.step else '':>9}  {did}"
        rows.append(Text(text, "" if here else "dim", no_wrap=True, overflow="crop"))
    if len(shown) < len(agents):
        rows.append(Text(f"and {len(agents) - len(shown)} more", "dim"))
    return rows


def said(agent: Agent, action: HostArray) -> str:
    """An action in words, or in numbers where it has none."""
    values = np.ravel(action).tolist()
    if isinstance(agent.role.action, Discrete) and agent.role.action_names:
        return agent.role.action_names[values[0]]
    return " ".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in values)


# the picture


def _form(console: Console, plain: bool) -> Form:
    if console.no_color or console.color_system is None:
        return "letters"
    return "paper" if plain else "half"


def _picture(image: HostArray, width: int, height: int, form: Form) -> Iterator[Segment]:
    """As large as it can be in so many characters; a character is twice as high as it is wide."""
    tall, wide = image.shape[:2]
    scale = min(width / wide, 2 * height / tall)
    columns, rows = max(1, int(wide * scale)), max(1, int(tall * scale / 2))
    size = (columns, rows * 2 if form == "half" else rows)
    pixels = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX)).astype(np.int64) @ (1 << 16, 1 << 8, 1)
    if form == "letters":
        yield from (Segment(line + "\n") for line in _letters(pixels))
        return
    upper, lower = (pixels[::2], pixels[1::2]) if form == "half" else (pixels, pixels)
    for row in zip(upper.tolist(), lower.tolist(), strict=True):
        for pair, run in itertools.groupby(zip(*row, strict=True)):
            yield Segment((HALF if form == "half" else " ") * len(list(run)), _style(*pair))
        yield Segment("\n")


def _style(upper: int, lower: int) -> Style:
    ink, paper = (Color.from_rgb(value >> 16, value >> 8 & 255, value & 255) for value in (upper, lower))
    return Style(color=ink, bgcolor=paper)


def _letters(pixels: HostArray) -> Iterator[str]:
    """The farther a colour is from the commonest one, the denser its letter: so it reads on light and dark terminals."""
    colours, counts = np.unique(pixels, return_counts=True)
    ground = colours[counts.argmax()]
    apart = sum(np.abs((pixels >> shift & 255) - (ground >> shift & 255)) for shift in (16, 8, 0))
    for row in np.rint(apart / max(apart.max(), 1) * (len(RAMP) - 1)).astype(int):
        yield "".join(RAMP[i] for i in row)

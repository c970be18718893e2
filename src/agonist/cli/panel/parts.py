"""What all panels are made of: a box, a head with something that turns, a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from agonist.cli import output

if TYPE_CHECKING:
    from agonist.training import Progress

Score = tuple[float | None, float | None, float | None]  # mean, low, high
WIDEST = 110  # columns: a line that is longer is hard to read
ENDED = {"finished": "bold green", "interrupted": "bold yellow", "failed": "bold red"}  # phases after which nothing comes
PHASES = {
    "compiling": "compiling (first time for these shapes; kept for the next run)",
    "final evaluation": "final evaluation of the best policy",
}


def final_of(told: Progress) -> Score | None:
    """What a finished run came to, by its final evaluation."""
    values = told.values
    if told.phase != "finished" or "final/return" not in values:
        return None
    return values["final/return"], values.get("final/return_low"), values.get("final/return_high")


def turning(plain: bool) -> Spinner:
    return Spinner("line" if plain else "dots")


def boxed(title: str, rows: Sequence[RenderableType], width: int) -> Panel:
    return Panel(Group(*rows), title=row(title, width, "bold"), title_align="left", width=width, border_style="dim")


def row(text: str, width: int, style: str = "") -> Text:
    """One line, cut where it is too long."""
    return Text(text if len(text) <= width else text[: max(width, 0)], style, no_wrap=True, overflow="crop")


def head(phase: Text, seconds: float, spinner: Spinner | None) -> RenderableType:
    """What is being done, and for how long; the spinner turns while it goes on."""
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(ratio=1, no_wrap=True, overflow="crop")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(spinner or "", phase, Text(output.duration(seconds), "dim"))
    return grid


def bar(done: int, total: int, left: float | None, width: int) -> RenderableType:
    """A bar and what it says; where there is no room for both the bar goes."""
    share = f"{done / max(total, 1):4.0%}"
    tail = f"  {output.duration(left)} left" if left is not None else ""
    text = f"{done:,} / {total:,} steps{share:>6}{tail}"
    if len(text) > width * 2 // 3:
        text = f"{output.count(done)} / {output.count(total)}{share:>6}{tail}"
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(ProgressBar(total=max(total, 1), completed=done, complete_style="green", finished_style="green"), text)
    return grid

"""What training looks like while it goes on: a live panel where stderr is a terminal, plain lines where it is not.

`with progress(["ppo", "matrix:rps"], seed=0, runs=None) as told:` gives the function that a run is watched with, or many runs at
once. It only takes notes and returns; the panel is drawn by its own thread, four times a second at most, and a closed stderr stops no
training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.control import Control
from rich.live import Live

from agonist.cli import output
from agonist.cli.panel import many, one

if TYPE_CHECKING:
    from agonist.training import Progress

Told = Callable[["Progress"], None]

REFRESH = 4  # a second


@contextmanager
def progress(title: Sequence[str], seed: Any, runs: int | None) -> Iterator[Told]:
    """Show what is told of one run, or of `runs` of them. The panel stays when the work is done, and goes where it never began."""
    notes = many.Notes(title, runs) if runs is not None and runs > 1 else one.Notes(title, seed)
    console = output.console(sys.stderr)
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda told: _print(notes.lines(told))
        return
    plain = output.is_plain(sys.stderr)
    drawing = many.Drawing(notes, plain) if isinstance(notes, many.Notes) else one.Drawing(notes, plain)
    with _live(console, drawing) as live:
        try:
            yield lambda told: _noted(notes, told)
        except BaseException:
            live.transient = not notes.begun
            raise


def _noted(notes: one.Notes | many.Notes, told: Progress) -> None:
    notes.take(told)


def _print(lines: Sequence[str]) -> None:
    with suppress(OSError, ValueError):  # whoever read this has gone
        for line in lines:
            print(line, file=sys.stderr, flush=True)


def _live(console: Console, drawing: RenderableType) -> Live:
    """A terminal that becomes narrower breaks the lines it shows, and what was drawn cannot be found again: then all is drawn anew."""
    widths = [console.width]

    def draw() -> RenderableType:
        widths.append(console.width)
        if widths.pop(0) > widths[0]:
            console.control(Control.home(), Control.clear())
        return drawing

    return Live(get_renderable=draw, console=console, refresh_per_second=REFRESH, redirect_stdout=False)

"""What training looks like while it goes on: a live panel where stderr is a terminal, plain lines where it is not.

`with progress(["ppo", "matrix:rps"], seed=0) as told:` gives the function that a run is watched with. It only takes notes and
returns; the panel is drawn by its own thread, four times a second at most, and a closed stderr stops no training.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from agonist.cli import output
from agonist.cli.plot import sparkline

if TYPE_CHECKING:
    from agonist.training import Progress

Told = Callable[["Progress"], None]

REFRESH = 4  # a second
EVERY = 2.0, 0.5  # seconds between plain lines: any, and those with a new evaluation
PHASES = {
    "compiling": "compiling (first time for these shapes; kept for the next run)",
    "final evaluation": "final evaluation of the best policy",
}
DETAILS = (  # what is shown, by row: title, beginnings of metrics' names
    ("losses", ("loss/",)),
    ("policy", ("policy/entropy", "policy/kl", "value/explained")),
)
SHORT = {"value/explained": "explained variance"}


@dataclass
class Notes:
    """What is known of the run that is under way."""

    title: Sequence[str]
    seed: Any
    seeds: int | None
    began: float = field(default_factory=time.monotonic)
    heard: float = 0.0  # when the newest report came
    newest: Progress | None = None
    first: tuple[int, float] | None = None  # step and seconds of the first report after compiling
    evaluations: list[tuple[int, float, float | None, float | None]] = field(default_factory=list)  # step, mean, low, high
    done: list[str] = field(default_factory=list)  # runs that have finished, of several seeds

    def take(self, told: Progress) -> bool:
        """Note a report. True where it brings a new evaluation."""
        if self.newest is not None and told.run != self.newest.run:
            self.began, self.first, self.evaluations = time.monotonic(), None, []
        self.newest, self.heard = told, time.monotonic()
        if self.first is None and told.phase == "training":
            self.first = told.step, told.seconds
        if told.phase == "finished" and self.seeds:
            self.done.append(told.run)
        if told.evaluated is None or (self.evaluations and self.evaluations[-1][0] == told.evaluated):
            return False
        values = told.values
        row = values.get("eval/return"), values.get("eval/return_low"), values.get("eval/return_high")
        if row[0] is not None:
            self.evaluations.append((told.evaluated, row[0], row[1], row[2]))
        return row[0] is not None

    def name(self, plain: bool) -> str:
        seed = f"seed {self.seed}" if not self.seeds else f"run {min(len(self.done) + 1, self.seeds)} of {self.seeds}"
        return (" - " if plain else " · ").join([*([self.newest.run] if self.newest else []), *self.title, seed])

    def left(self) -> float | None:
        """Seconds that the rest will take at the speed so far."""
        if not self.newest or not self.first or self.newest.step <= self.first[0]:
            return None
        pace = (self.newest.seconds - self.first[1]) / (self.newest.step - self.first[0])
        return max(0.0, (self.newest.total - self.newest.step) * pace - (time.monotonic() - self.heard))


@contextmanager
def progress(title: Sequence[str], seed: Any, seeds: int | None) -> Iterator[Told]:
    """Show what is told. The panel stays when the work is done, and goes where it never began."""
    notes = Notes(title, seed, seeds)
    console = output.console(sys.stderr)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _lines(notes)
        return
    drawing = Drawing(notes, plain=output.is_plain(sys.stderr))
    with Live(drawing, console=console, refresh_per_second=REFRESH, redirect_stdout=False) as live:
        try:
            yield lambda told: _noted(notes, told)
        except BaseException:
            live.transient = notes.newest is None
            raise


def _noted(notes: Notes, told: Progress) -> None:
    notes.take(told)


# plain lines


def _lines(notes: Notes) -> Told:
    last: list[Any] = [0.0, None]  # when, and which phase

    def told(report: Progress) -> None:
        evaluated = notes.take(report)
        now = time.monotonic()
        new_phase = report.phase != last[1]
        if new_phase or now - last[0] >= EVERY[evaluated] or report.step >= report.total:
            last[:] = now, report.phase
            with suppress(OSError, ValueError):  # whoever read this has gone
                print(line(notes, report), file=sys.stderr, flush=True)

    return told


def line(notes: Notes, told: Progress) -> str:
    """A report in one line that a log can keep."""
    head = f"[{output.duration(told.seconds)}] {told.run}"
    if told.phase not in ("training", "interrupted", "finished"):
        return f"{head} {PHASES.get(told.phase, told.phase)}"
    parts = [head, told.phase, f"{told.step:,} / {told.total:,} steps"]
    if notes.evaluations:
        parts.append(f"eval/return {output.interval(*notes.evaluations[-1][1:])}")
    if (speed := told.values.get("perf/env_steps_per_second")) is not None:
        parts.append(f"{speed:,.0f} env steps/s")
    parts += [f"{name} {output.number(value)}" for name, value in told.values.items() if name.startswith("loss/")]
    if (left := notes.left()) is not None and told.phase == "training":
        parts.append(f"{output.duration(left)} left")
    return "  ".join(parts)


# the panel


@dataclass
class Drawing:
    """The panel as it is now; rich asks for it whenever it draws."""

    notes: Notes
    plain: bool
    spinner: Spinner = field(default_factory=lambda: Spinner("dots"))

    def __post_init__(self) -> None:
        if self.plain:
            self.spinner = Spinner("line")

    def __rich_console__(self, console: Console, options: Any) -> Iterator[RenderableType]:
        notes = self.notes
        width = min(options.max_width, 110)
        rows = [_head(notes, self.spinner, width)]
        if notes.newest and notes.newest.total:
            rows.append(_bar(notes, width))
        rows += [Text(f"{title:<8} {text}", overflow="ellipsis", no_wrap=True) for title, text in _facts(notes, width, self.plain)]
        yield Panel(
            Group(*rows),
            title=Text(notes.name(self.plain), "bold", overflow="ellipsis", no_wrap=True),
            title_align="left",
            width=width,
            border_style="dim",
        )


def _head(notes: Notes, spinner: Spinner, width: int) -> RenderableType:
    """What is being done, and for how long."""
    phase = notes.newest.phase if notes.newest else "starting"
    style = {"finished": "bold green", "interrupted": "bold yellow"}.get(phase, "bold")
    row = Table.grid(expand=True, padding=(0, 1))
    row.add_column(width=1)
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    row.add_column(justify="right")
    still = phase in ("finished", "interrupted")
    seconds = (notes.heard if still else time.monotonic()) - notes.began
    row.add_row("" if still else spinner, Text(PHASES.get(phase, phase), style), Text(output.duration(seconds), "dim"))
    return row


def _bar(notes: Notes, width: int) -> RenderableType:
    told = notes.newest
    assert told is not None
    left = notes.left() if told.phase == "training" else None
    row = Table.grid(expand=True, padding=(0, 1))
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    text = f"{told.step:,} / {told.total:,} steps  {told.step / told.total:4.0%}" + (
        f"  {output.duration(left)} left" if left is not None else ""
    )
    row.add_row(ProgressBar(total=told.total, completed=told.step, complete_style="green", finished_style="green"), text)
    return row


def _facts(notes: Notes, width: int, plain: bool) -> Iterator[tuple[str, str]]:
    """Titles and texts of the rows below the bar."""
    if notes.evaluations:
        means = [row[1] for row in notes.evaluations]
        best = max(notes.evaluations, key=lambda row: row[1])
        newest = output.interval(*notes.evaluations[-1][1:])
        tail = f"best {output.number(best[1])} at {output.count(best[0])}"
        room = width - 4 - 9 - len(newest) - len(tail) - 6
        yield "return", f"{newest}   {sparkline(means, max(room, 8), plain)}   {tail}"
    values: Mapping[str, float] = notes.newest.values if notes.newest else {}
    if "perf/env_steps_per_second" in values:
        yield "speed", f"{values['perf/env_steps_per_second']:,.0f} env steps/s"
    for title, beginnings in DETAILS:
        found = {name: value for begin in beginnings for name, value in values.items() if name.startswith(begin)}
        if found:
            yield title, "   ".join(f"{SHORT.get(name) or name.partition('/')[2]} {output.number(value)}" for name, value in found.items())

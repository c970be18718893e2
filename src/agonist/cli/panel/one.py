"""One run under way: its phase, how far it is, its return and losses; as a panel, or as lines that a log can keep."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from agonist.cli import output
from agonist.cli.panel.parts import ENDED, PHASES, WIDEST, Score, bar, boxed, final_of, head, row, turning
from agonist.cli.plot import sparkline

if TYPE_CHECKING:
    from agonist.training import Progress

EVERY = 2.0, 0.5  # seconds between plain lines: any, and those with a new evaluation
DETAILS = (  # what is shown, by row: title, beginnings of metrics' names
    ("losses", ("loss/",)),
    ("policy", ("policy/entropy", "policy/kl", "value/explained")),
)
SHORT = {"value/explained": "explained variance"}


@dataclass
class Notes:
    """What is known of the run."""

    title: Sequence[str]
    seed: Any
    began: float = field(default_factory=time.monotonic)
    heard: float = 0.0  # when the newest report came
    newest: Progress | None = None
    first: tuple[int, float] | None = None  # step and seconds of the first report after compiling
    evaluations: list[tuple[int, float, float | None, float | None]] = field(default_factory=list)  # step, mean, low, high
    said: tuple[float, str] = float("-inf"), ""  # when the newest plain line was written, and in which phase

    @property
    def begun(self) -> bool:
        return self.newest is not None

    def take(self, told: Progress) -> bool:
        """Note a report. True where it brings a new evaluation."""
        self.newest, self.heard = told, time.monotonic()
        if self.first is None and told.phase == "training":
            self.first = told.step, told.seconds
        if told.evaluated is None or (self.evaluations and self.evaluations[-1][0] == told.evaluated):
            return False
        values = told.values
        row = values.get("eval/return"), values.get("eval/return_low"), values.get("eval/return_high")
        if row[0] is not None:
            self.evaluations.append((told.evaluated, row[0], row[1], row[2]))
        return row[0] is not None

    @property
    def score(self) -> Score:
        """Mean, low, high: of the final evaluation where there was one, else of the newest."""
        final = final_of(self.newest) if self.newest else None
        return final or (self.evaluations[-1][1:] if self.evaluations else (None, None, None))

    def name(self, plain: bool) -> str:
        parts = [self.newest.run if self.newest else "", *self.title, "" if self.seed is None else f"seed {self.seed}"]
        return (" - " if plain else " · ").join(filter(None, parts))

    def left(self) -> float | None:
        """Seconds that the rest will take at the speed so far."""
        if not self.newest or not self.first or self.newest.step <= self.first[0]:
            return None
        pace = (self.newest.seconds - self.first[1]) / (self.newest.step - self.first[0])
        return max(0.0, (self.newest.total - self.newest.step) * pace - (time.monotonic() - self.heard))

    def lines(self, told: Progress) -> list[str]:
        """What a log keeps of a report: a new phase, the end, and what is new now and then."""
        evaluated, now = self.take(told), time.monotonic()
        if told.phase == self.said[1] and now - self.said[0] < EVERY[evaluated] and told.step < told.total:
            return []
        self.said = now, told.phase
        return [line(self, told)]


def line(notes: Notes, told: Progress) -> str:
    """A report in one line that a log can keep."""
    head = f"[{output.duration(told.seconds)}] {told.run}"
    if told.phase not in ("training", *ENDED):
        return f"{head} {PHASES.get(told.phase, told.phase)}"
    parts = [head, told.phase, f"{told.step:,} / {told.total:,} steps"]
    if told.why:
        parts.append(told.why)
    if notes.score[0] is not None:
        parts.append(f"eval/return {output.interval(*notes.score)}")
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

    def __post_init__(self) -> None:
        self.spinner = turning(self.plain)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        notes, width = self.notes, min(options.max_width, WIDEST)
        told, inner = notes.newest, width - 4  # the box and a blank on either side
        phase = told.phase if told else "starting"
        over = phase in ENDED
        seconds = (notes.heard if over else time.monotonic()) - notes.began
        rows = [head(Text(PHASES.get(phase, phase), ENDED.get(phase, "bold")), seconds, None if over else self.spinner)]
        if told and told.total:
            rows.append(bar(told.step, told.total, notes.left() if phase == "training" else None, inner))
        rows += [row(told.why, inner, "red")] if told and told.why else []
        rows += [row(f"{title:<8} {text}", inner) for title, text in _facts(notes, inner - 9, self.plain)]
        yield boxed(notes.name(self.plain), rows, width)


def _facts(notes: Notes, room: int, plain: bool) -> Iterator[tuple[str, str]]:
    """Titles and texts of the rows below the bar; a row that is too narrow leaves out its last parts."""
    if notes.evaluations:
        means = [row[1] for row in notes.evaluations]
        best = max(notes.evaluations, key=lambda row: row[1])
        newest = output.interval(*notes.score)
        tail = f"best {output.number(best[1])} at {output.count(best[0])}"
        space = room - len(newest) - len(tail) - 6
        yield "return", "   ".join([newest, sparkline(means, space, plain), tail] if space >= 8 else _fitting([newest, tail], room))
    values: Mapping[str, float] = notes.newest.values if notes.newest else {}
    if "perf/env_steps_per_second" in values:
        yield "speed", f"{values['perf/env_steps_per_second']:,.0f} env steps/s"
    for title, beginnings in DETAILS:
        found = {name: value for begin in beginnings for name, value in values.items() if name.startswith(begin)}
        parts = [f"{SHORT.get(name) or name.partition('/')[2]} {output.number(value)}" for name, value in found.items()]
        if found:
            yield title, "   ".join(_fitting(parts, room))


def _fitting(parts: Sequence[str], room: int) -> list[str]:
    """As many of the parts as there is room for, at least the first."""
    out = list(parts[:1])
    for part in parts[1:]:
        if len("   ".join([*out, part])) > room:
            break
        out.append(part)
    return out

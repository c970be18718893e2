"""Many runs at once, told of in any order: how far the whole is, who is best; as a panel, or as lines that a log can keep."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from agonist.cli import output
from agonist.cli.panel.parts import ENDED, WIDEST, Score, bar, boxed, final_of, head, row, turning
from agonist.cli.plot import sparkline

if TYPE_CHECKING:
    from agonist.training import Progress

EVERY = 2.0  # seconds between plain lines, but for runs that end
SEED = re.compile(r"(^|\s+)seed \S+$")
AROUND = 6  # rows of the panel that are no run: its box, head, bar, what was left out, and the terminal's own last one
NARROW = 70  # columns below which a return is shown without its interval
CURVE = 5, 30  # columns of a curve
NO_SCORE: Score = (None, None, None)


@dataclass
class One:
    """What is known of one run."""

    newest: Progress
    since: int | None = None  # the step at which training began in this process
    returns: dict[int, Score] = field(default_factory=dict)  # step -> mean, low, high

    @property
    def name(self) -> str:
        return self.newest.label or self.newest.run

    @property
    def group(self) -> str:
        """What it shares with runs that differ by their seed alone."""
        return SEED.sub("", self.name) or "all seeds"

    @property
    def ended(self) -> bool:
        return self.newest.phase in ENDED

    @property
    def failed(self) -> bool:
        return self.newest.phase == "failed"

    @property
    def score(self) -> Score:
        """Mean, low, high: of the final evaluation where there was one, else of the newest; of what has failed none."""
        if self.failed:
            return NO_SCORE
        return final_of(self.newest) or (self.returns[max(self.returns)] if self.returns else NO_SCORE)

    @property
    def mean(self) -> float | None:
        return self.score[0]

    def state(self) -> str:
        told = self.newest
        if told.phase == "finished":
            return "done"
        return told.phase if self.ended or told.phase == "compiling" else f"{told.step / max(told.total, 1):.0%}"


class Row(NamedTuple):
    name: str
    state: str
    style: str
    score: Score
    curve: Sequence[float]


@dataclass
class Notes:
    """What is known of them all."""

    title: Sequence[str]
    runs: int
    began: float = field(default_factory=time.monotonic)
    heard: float = 0.0
    trained: float | None = None  # when the first run had been compiled
    ones: dict[str, One] = field(default_factory=dict)
    said: float = float("-inf")  # when the newest plain line was written
    lock: threading.RLock = field(default_factory=threading.RLock)  # the panel is drawn while reports come in

    @property
    def begun(self) -> bool:
        return bool(self.ones)

    def take(self, told: Progress) -> bool:
        """Note a report. True where it says that a run has ended."""
        with self.lock:
            return self._take(told)

    def _take(self, told: Progress) -> bool:
        run = self.ones.setdefault(told.run, One(told))
        before, run.newest, self.heard = run.newest, told, time.monotonic()
        if told.phase == "training":
            run.since = told.step if run.since is None else run.since
            self.trained = self.heard if self.trained is None else self.trained
        values = told.values
        if told.evaluated is not None and "eval/return" in values:
            run.returns[told.evaluated] = (values["eval/return"], values.get("eval/return_low"), values.get("eval/return_high"))
        return run.ended and (before is told or before.phase not in ENDED)

    def steps(self) -> tuple[int, int]:
        """Done, and in all: of a run that has ended what it did, of one that waits as much as of the others."""
        known = list(self.ones.values())
        done = sum(run.newest.step for run in known)
        total = sum(run.newest.step if run.ended else run.newest.total for run in known)
        each = sum(run.newest.total for run in known) / max(len(known), 1)
        return done, total + round(each * self.waiting())

    def waiting(self) -> int:
        return max(0, self.runs - len(self.ones))

    def over(self) -> bool:
        return not self.waiting() and all(run.ended for run in self.ones.values())

    def left(self) -> float | None:
        """Seconds that the rest will take at the speed so far."""
        gained = sum(run.newest.step - run.since for run in self.ones.values() if run.since is not None)
        if self.trained is None or gained <= 0 or self.heard <= self.trained:
            return None
        done, total = self.steps()
        return max(0.0, (total - done) * (self.heard - self.trained) / gained - (time.monotonic() - self.heard))

    def counts(self) -> str:
        """`5 running, 12 finished, 1 failed, 3 waiting`."""
        kinds = Counter(run.newest.phase if run.ended else "running" for run in self.ones.values())
        kinds["waiting"] = self.waiting()
        return ", ".join(f"{kinds[kind]} {kind}" for kind in ("running", *ENDED, "waiting") if kinds[kind])

    def failure(self) -> str:
        """The newest run that has failed, and why, where that is known."""
        runs = [run for run in self.ones.values() if run.failed and run.newest.why]
        return f"{runs[-1].name}: {runs[-1].newest.why}" if runs else ""

    def groups(self) -> Mapping[str, Sequence[One]]:
        """Runs that differ by their seed alone, the best group first."""
        out: dict[str, list[One]] = {}
        for run in sorted(self.ones.values(), key=lambda run: (len(run.name), run.name)):  # seed 2 before seed 10
            out.setdefault(run.group, []).append(run)
        return dict(sorted(out.items(), key=lambda item: -_mean(item[1])))

    def lines(self, told: Progress) -> list[str]:
        """What a log keeps of a report: a run that has ended, and how far the whole is, but rarely."""
        with self.lock:
            ended, now = self._take(told), time.monotonic()
            head = f"[{output.duration(now - self.began)}]"
            out = [f"{head} {_ended(self.ones[told.run])}"] if ended else []
            if now - self.said >= EVERY or (ended and self.over()):
                self.said = now
                out.append(f"{head} {self.line()}")
            return out

    def line(self) -> str:
        (done, total), left = self.steps(), self.left()
        parts = [f"{self.runs} runs: {self.counts()}", f"{done:,} / {total:,} steps"]
        name, best = next(iter(self.groups().items()))
        if _mean(best) > float("-inf"):
            parts.append(f"best {name} {output.number(_mean(best))}")
        if left is not None and done < total:
            parts.append(f"{output.duration(left)} left")
        return "  ".join(parts)


def _mean(runs: Sequence[One]) -> float:
    means = [run.mean for run in runs if run.mean is not None]
    return sum(means) / len(means) if means else float("-inf")


def _ended(run: One) -> str:
    told = run.newest
    came = (f"  {told.why}" if told.why else "") if run.failed else f"  eval/return {output.interval(*run.score)}"
    return f"{run.name}  {told.phase} at {told.step:,} steps{came}  {told.run if told.label else ''}".rstrip()


# the panel


@dataclass
class Drawing:
    """The panel as it is now; rich asks for it whenever it draws."""

    notes: Notes
    plain: bool

    def __post_init__(self) -> None:
        self.spinner = turning(self.plain)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self.notes.lock:
            drawn = self.draw(min(options.max_width, WIDEST), console.height)
        yield drawn

    def draw(self, width: int, height: int) -> RenderableType:
        notes, inner, over = self.notes, width - 4, self.notes.over()
        seconds = (notes.heard if over else time.monotonic()) - notes.began
        rows = [head(Text(notes.counts() if notes.begun else "starting", "bold"), seconds, None if over else self.spinner)]
        done, total = notes.steps()
        if total:
            rows.append(bar(done, total, None if over else notes.left(), inner))
        failure = notes.failure()
        shown, more = _chosen(notes, max(1, height - AROUND - bool(failure)))
        rows += _table(shown, inner, self.plain)
        rows += [row(more, inner, "dim")] if more else []
        rows += [row(failure, inner, "red")] if failure else []
        return boxed((" - " if self.plain else " · ").join([*notes.title, f"{notes.runs} runs"]), rows, width)


def _chosen(notes: Notes, room: int) -> tuple[list[Row], str]:
    """A row a run where they have room, else a row a group; and what had none."""
    groups = notes.groups()
    if len(notes.ones) > room and 1 < len(groups) < len(notes.ones):
        rows, kind = [_row_of_group(name, runs) for name, runs in groups.items()], "groups"
    else:
        rows, kind = [_row_of_run(run) for runs in groups.values() for run in runs], "runs"
    left = len(rows) - room
    return rows[:room], f"and {left} more {kind if left > 1 else kind[:-1]}" if left > 0 else ""


def _row_of_run(run: One) -> Row:
    curve = [mean for step in sorted(run.returns) if (mean := run.returns[step][0]) is not None]
    return Row(run.name, run.state(), ENDED.get(run.newest.phase, ""), run.score, curve)


def _row_of_group(name: str, runs: Sequence[One]) -> Row:
    """The mean of its runs that have not failed, as far as all that were evaluated have come."""
    ended, failed = (sum(run.newest.phase == phase for run in runs) for phase in ("finished", "failed"))
    share = sum(run.newest.step for run in runs) / max(sum(run.newest.total for run in runs), 1)
    state = f"{ended}/{len(runs)} done" if ended == len(runs) else f"{ended}/{len(runs)} {share:.0%}"
    heard = [
        {step: score[0] for step, score in run.returns.items() if score[0] is not None} for run in runs if run.returns and not run.failed
    ]
    steps = sorted(set.intersection(*map(set, heard))) if heard else []
    curve = [sum(returns[step] for returns in heard) / len(heard) for step in steps]
    style = ENDED["failed"] if failed else ENDED["finished"] if ended == len(runs) else ""
    mean = _mean(runs)
    return Row(name, state, style, (mean if mean > float("-inf") else None, None, None), curve)


def _table(rows: Sequence[Row], width: int, plain: bool) -> Iterator[Text]:
    """Name, state, return and curve, in columns that fit; all curves on one scale."""
    if not rows:
        return
    values = [value for one in rows for value in one.curve]
    span = (min(values), max(values)) if values else None
    scores = [output.interval(*(one.score if width >= NARROW else (one.score[0], None, None))) for one in rows]
    states, score_wide = max(len(one.state) for one in rows), max(map(len, scores))
    names = min(max(len(one.name) for one in rows), max(8, width - states - score_wide - 4))
    room = width - names - states - score_wide - 6
    for one, score in zip(rows, scores, strict=True):
        text = Text(no_wrap=True, overflow="crop")
        text.append(f"{one.name[:names]:<{names}}  ")
        text.append(f"{one.state:>{states}}", one.style)
        text.append(f"  {score:<{score_wide}}", "bold")
        if room >= CURVE[0]:
            text.append(f"  {sparkline(one.curve, min(room, CURVE[1]), plain, span)}")
        yield text

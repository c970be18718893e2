"""Curves in a terminal: a line of blocks, and a braille plot with its axes.

`sparkline([0, .5, 1]) -> "▁▄█"`. `curve(steps, values, low, high)` -> lines of text: the mean in braille dots, the interval as a shade
behind it. `curves([Line("A", points), ...])`: several in one frame, told apart by their letters and colours, a darker shade where
intervals overlap. Where only ASCII can be written, `#`, `*`, the letters, `.` and `:` take their places.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from agonist.cli.output import count, number

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
BRAILLE = 0x2800
COLOURS = "green", "blue", "magenta", "yellow", "cyan", "red"
EVERY = 12  # columns from one letter of a line to its next
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column of a cell, then row


def sparkline(values: Sequence[float], width: int, plain: bool = False, span: tuple[float, float] | None = None) -> str:
    """At most `width` blocks, each the mean of its share of the values; the lowest value, or that of a span, is the lowest block."""
    shares = thin(values, width)
    if not shares:
        return ""
    low, high = span or (min(shares), max(shares))
    blocks = PLAIN_BLOCKS if plain else BLOCKS
    top = len(blocks) - 1
    return "".join(blocks[round((value - low) / (high - low) * top) if high > low else top // 2] for value in shares)


def thin(values: Sequence[float], most: int) -> list[float]:
    """The same curve with at most `most` points; numbers that are none are left out."""
    kept = [value for value in values if math.isfinite(value)]
    if len(kept) <= most:
        return kept
    edges = [len(kept) * i // most for i in range(most + 1)]
    return [sum(kept[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]


class Point(NamedTuple):
    x: float
    y: float
    low: float
    high: float


class Line(NamedTuple):
    mark: str  # a letter; "" where there is but one
    points: Sequence[Point]


class Frame(NamedTuple):
    """Where values fall on a grid of dots."""

    x: tuple[float, float]
    y: tuple[float, float]
    columns: int
    rows: int

    def column(self, x: float) -> int:
        return round((x - self.x[0]) / (self.x[1] - self.x[0]) * (self.columns - 1))

    def row(self, y: float) -> int:
        """Counted from the top."""
        share = (y - self.y[0]) / (self.y[1] - self.y[0])
        return round((1 - min(max(share, 0.0), 1.0)) * (self.rows - 1))


def curve(
    steps: Sequence[float],
    values: Sequence[float],
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    *,
    width: int = 72,
    height: int = 10,
    title: str = "eval/return",
    unit: str = "steps",
    plain: bool = False,
) -> list[Text]:
    """A picture of values over steps; nothing where there are fewer than two points."""
    points = points_of(steps, values, low, high)
    return curves([Line("", points)], width=width, height=height, title=title, unit=unit, plain=plain)


def points_of(
    steps: Sequence[float], values: Sequence[float], low: Sequence[float] | None = None, high: Sequence[float] | None = None
) -> list[Point]:
    """The finite ones; where there is no interval it is the value alone."""
    return [
        Point(x, y, a if math.isfinite(a) else y, b if math.isfinite(b) else y)
        for x, y, a, b in zip(steps, values, values if low is None else low, values if high is None else high, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]


def curves(
    lines: Sequence[Line], *, width: int = 72, height: int = 10, title: str = "", unit: str = "steps", plain: bool = False
) -> list[Text]:
    """Several lines in one frame; one of a single point is left out, and nothing is drawn where no line is left."""
    lines = [line for line in lines if len(line.points) > 1 and line.points[0].x < line.points[-1].x]
    if not lines:
        return []
    points = [point for line in lines for point in line.points]
    y = bounds([point.y for point in points], [point.low for point in points], [point.high for point in points])
    labels = [number(y[1]), number(sum(y) / 2), number(y[0])]
    margin = max(map(len, labels))
    ends = sum(bool(line.mark) for line in lines)
    cells = max(10, width - margin - 3 - ends - bool(ends))
    frame = Frame((min(point.x for point in points), max(point.x for point in points)), y, cells * 2, height * 4)
    drawn = [(line.mark, _dots(frame, line.points), _shade(frame, line.points)) for line in lines]
    side = {0: labels[0], (height - 1) // 2: labels[1], height - 1: labels[2]}
    out = [Text(f"{'':{margin}}   {title}", style="bold")] if title else []
    for row in range(height):
        text = Text(f"{side.get(row, ''):>{margin}} {'|' if plain else '┤' if row in side else '│'}", style="dim")
        for column in range(cells):
            text.append(*_cell(drawn, row, column, plain))
        for i, line in enumerate(lines):
            if line.mark and frame.row(line.points[-1].y) // 4 == row:
                text.append(" " * (cells + margin + 3 - len(text)) + line.mark, COLOURS[i % len(COLOURS)])
        out.append(text)
    return [*out, *_foot(frame, margin, unit, plain)]


def bounds(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """What an axis shows: all the values, and of their intervals as much as leaves the values half of it."""
    bottom, top = min(values), max(values)
    room = (top - bottom) / 2 or 0.5 * max(abs(top), 1.0)
    bottom, top = max(min(low), bottom - room), min(max(high), top + room)
    return (bottom - 0.5, top + 0.5) if bottom == top else (bottom, top)


def _dots(frame: Frame, points: Sequence[Point]) -> set[tuple[int, int]]:
    """(row, column) of every dot of the line through the means."""
    out: set[tuple[int, int]] = set()
    for (x0, y0, *_), (x1, y1, *_) in itertools.pairwise(points):
        c0, c1, r0, r1 = frame.column(x0), frame.column(x1), frame.row(y0), frame.row(y1)
        pieces = max(abs(c1 - c0), abs(r1 - r0), 1)
        out |= {(round(r0 + (r1 - r0) * i / pieces), round(c0 + (c1 - c0) * i / pieces)) for i in range(pieces + 1)}
    return out


def _shade(frame: Frame, points: Sequence[Point]) -> set[tuple[int, int]]:
    """(row, column) of every cell within the interval."""
    out: set[tuple[int, int]] = set()
    for (x0, _, a0, b0), (x1, _, a1, b1) in itertools.pairwise(points):
        if a0 == b0 and a1 == b1:
            continue
        first, last = frame.column(x0), frame.column(x1)
        for column in range(first, last + 1):
            t = (column - first) / max(last - first, 1)
            top, bottom = frame.row(b0 + (b1 - b0) * t), frame.row(a0 + (a1 - a0) * t)
            out |= {(row, column // 2) for row in range(top // 4, bottom // 4 + 1)}
    return out


Drawn = tuple[str, set[tuple[int, int]], set[tuple[int, int]]]  # a line's mark, its dots, the cells of its interval


def _cell(drawn: Sequence[Drawn], row: int, column: int, plain: bool) -> tuple[str, str]:
    """Lines that share a cell take turns in it; a letter here and there says whose line it is."""
    bits = [sum(DOTS[dx][dy] for dx in range(2) for dy in range(4) if (row * 4 + dy, column * 2 + dx) in dots) for _, dots, _ in drawn]
    here = [i for i, of_it in enumerate(bits) if of_it]
    if here:
        lettered = [i for i in here if drawn[i][0] and (column + EVERY * i // len(drawn)) % EVERY == 0]
        i = lettered[0] if lettered and not plain else here[column % len(here)]
        text = (drawn[i][0] or "*") if plain or lettered else chr(BRAILLE + functools.reduce(operator.or_, bits))
        return text, f"bold {COLOURS[i % len(COLOURS)]}"
    shades = [i for i, (_, _, shade) in enumerate(drawn) if (row, column) in shade]
    if not shades:
        return " ", ""
    return ((".", ":") if plain else ("░", "▒"))[len(shades) > 1], "bright_black"


def _foot(frame: Frame, margin: int, unit: str, plain: bool) -> list[Text]:
    corner, dash, cells = ("+", "-", frame.columns // 2) if plain else ("└", "─", frame.columns // 2)
    left, right = count(frame.x[0]), f"{count(frame.x[1])} {unit}"
    axis = Text(f"{'':{margin}} {corner}{dash * cells}", style="dim")
    return [axis, Text(f"{'':{margin}}  {left}{right:>{max(cells - len(left), 0)}}", style="dim")]

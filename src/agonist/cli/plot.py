"""Curves in a terminal: a line of blocks, and a braille plot with its axes.

`sparkline([0, .5, 1]) -> "▁▄█"`. `curve(steps, values, low, high)` -> lines of text: the mean in braille dots, the interval as a shade
behind it. Where only ASCII can be written, `#`, `*` and `.` take their places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from agonist.cli.output import count, number

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
BRAILLE = 0x2800
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column of a cell, then row


def sparkline(values: Sequence[float], width: int, plain: bool = False) -> str:
    """At most `width` blocks, each the mean of its share of the values; the lowest is the lowest block."""
    shares = thin(values, width)
    if not shares:
        return ""
    low, high = min(shares), max(shares)
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
    points = [
        Point(x, y, a if math.isfinite(a) else y, b if math.isfinite(b) else y)
        for x, y, a, b in zip(steps, values, low or values, high or values, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    if len(points) < 2 or points[0].x == points[-1].x:
        return []
    bounds = _bounds(min(min(p.y, p.low) for p in points), max(max(p.y, p.high) for p in points))
    labels = [number(bounds[1]), number(sum(bounds) / 2), number(bounds[0])]
    margin = max(map(len, labels))
    cells = max(10, width - margin - 3)
    frame = Frame((points[0].x, points[-1].x), bounds, cells * 2, height * 4)
    dots, shade = _dots(frame, points), _shade(frame, points)
    side = {0: labels[0], (height - 1) // 2: labels[1], height - 1: labels[2]}
    lines = [Text(f"{'':{margin}}   {title}", style="bold")]
    for row in range(height):
        line = Text(f"{side.get(row, ''):>{margin}} {'|' if plain else '┤' if row in side else '│'}", style="dim")
        for column in range(cells):
            line.append(*_cell(dots, shade, row, column, plain))
        lines.append(line)
    return [*lines, *_foot(points, margin, cells, unit, plain)]


def _bounds(low: float, high: float) -> tuple[float, float]:
    return (low - 0.5, high + 0.5) if low == high else (low, high)


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
        first, last = frame.column(x0), frame.column(x1)
        for column in range(first, last + 1):
            t = (column - first) / max(last - first, 1)
            top, bottom = frame.row(b0 + (b1 - b0) * t), frame.row(a0 + (a1 - a0) * t)
            out |= {(row, column // 2) for row in range(top // 4, bottom // 4 + 1)}
    return out


def _cell(dots: set[tuple[int, int]], shade: set[tuple[int, int]], row: int, column: int, plain: bool) -> tuple[str, str]:
    bits = sum(DOTS[dx][dy] for dx in range(2) for dy in range(4) if (row * 4 + dy, column * 2 + dx) in dots)
    if bits:
        return ("*" if plain else chr(BRAILLE + bits)), "bold green"
    return (("." if plain else "░"), "bright_black") if (row, column) in shade else (" ", "")


def _foot(points: Sequence[Point], margin: int, cells: int, unit: str, plain: bool) -> list[Text]:
    corner, dash = ("+", "-") if plain else ("└", "─")
    left, right = count(points[0].x), f"{count(points[-1].x)} {unit}"
    axis = Text(f"{'':{margin}} {corner}{dash * cells}", style="dim")
    return [axis, Text(f"{'':{margin}}  {left}{right:>{max(cells - len(left), 0)}}", style="dim")]

"""Pictures of results with matplotlib (the extra `stats`): curves with bands, and dots with intervals. PNG or SVG, by the file's suffix.

    draw_curves(path, panels)      a `Panel` a task or metric, its `Line`s told apart by colour, dash and a label at the end
    draw_intervals(path, rows)     a `Row` a group: its interval, its mean, and its runs as small dots

Colours are Okabe and Ito's (2008), which the colour-blind tell apart; the dashes do without colour. The same data make the same bytes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from agonist.stats.curves import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Theme = Literal["light", "dark"]
SUFFIXES = (".png", ".svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8A900")
DASHES = (
    "solid",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (7, 1.6, 1.4, 1.6)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 1.2)),
    (0, (1, 2)),
    (0, (3, 2)),
)
ON_DARK = ("#4FA8E0", "#F0823C", "#2DC596", "#DE95BF", "#F2B632", "#8CD0F5", "#A6A6A6", "#D8CC3A")  # the same hues, lighter
MOST = len(COLOURS)  # lines that can be told apart
INK = {
    "light": ("#ffffff", "#1f2328", "#6b7280", "#e5e7eb"),
    "dark": ("#16181d", "#e8eaed", "#9aa1ab", "#282c33"),
}  # ground, text, faint, grid
PLACE = 0.062  # of a panel's height: how far apart two labels stand at least


class Line(NamedTuple):
    label: str
    curve: Curve


class Panel(NamedTuple):
    title: str
    lines: Sequence[Line]
    y: str = ""
    x: str = "environment steps"


class Row(NamedTuple):
    label: str
    centre: float
    low: float  # nan where there is no interval
    high: float
    runs: Sequence[float] = ()
    note: str = ""  # at the right: what is said of it


def check_path(path: str) -> str:
    """The path, if a picture can be written under it; asked before any work is done."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"a picture is a .png or a .svg, got {path}")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ValueError(f"cannot write {path}: there is no folder {folder}")
    _figure(1, 1)
    return path


def draw_curves(path: str, panels: Sequence[Panel], theme: Theme = "light") -> None:
    """One panel after another, two beside each other where there are several; the same group has the same colour in all."""
    panels = [panel for panel in panels if any(len(line.curve.steps) for line in panel.lines)]
    if not panels:
        raise ValueError("there is nothing to draw: no curve has a point")
    names = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    if len(names) > MOST:
        raise ValueError(f"{len(names)} lines are more than the {MOST} that a picture can tell apart")
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = _figure(7.2 if columns == 1 else 11.4, 0.35 + 3.9 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _curves(axes, panel, names, theme)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    _save(figure, path, theme)


def _curves(axes: Axes, panel: Panel, names: Sequence[str], theme: Theme) -> None:
    drawn = [line for line in panel.lines if len(line.curve.steps)]
    for line in drawn:
        i, (steps, centre, low, high, _) = names.index(line.label), line.curve
        colour = _colour(i, theme)
        axes.fill_between(steps, low, high, color=colour, alpha=0.16, linewidth=0)
        mark = "o" if len(steps) == 1 else None
        axes.plot(steps, centre, color=colour, linestyle=DASHES[i], linewidth=1.9, marker=mark, solid_capstyle="round")
    every = [np.concatenate([getattr(line.curve, part) for line in drawn]) for part in ("centre", "low", "high")]
    bottom, top = limits(*every)
    axes.set_ylim(bottom, top)
    _dress(axes, panel.title, theme)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    if len(drawn) > 1 or drawn[0].label:
        _label_ends(axes, drawn, names, theme)


def limits(centre: Any, low: Any, high: Any) -> tuple[float, float]:
    """All the values, and of their intervals as much as leaves the values half of the axis; a little air."""
    bottom, top = float(np.min(centre)), float(np.max(centre))
    room = (top - bottom) / 2 or 0.05 * max(abs(top), 1.0)
    bottom = max(float(np.nanmin([bottom, *low])), bottom - room)
    top = min(float(np.nanmax([top, *high])), top + room)
    air = (top - bottom) * 0.04 or room
    return bottom - air, top + air


def _label_ends(axes: Axes, drawn: Sequence[Line], names: Sequence[str], theme: Theme) -> None:
    """Each line's name beside its end, none upon another, a hair from one to the other where it had to move."""
    bottom, top = axes.get_ylim()
    left, right = axes.get_xlim()
    wanted = [(float(line.curve.centre[-1]) - bottom) / (top - bottom) for line in drawn]
    for line, want, place in zip(drawn, wanted, spread(wanted, PLACE), strict=True):
        i = names.index(line.label)
        colour = _colour(i, theme)
        reached = (float(line.curve.steps[-1]) - left) / (right - left)
        axes.plot([reached, 1.02], [want, place], color=colour, linewidth=0.7, alpha=0.6, transform=axes.transAxes, clip_on=False)
        axes.plot([1.02, 1.075], [place, place], color=colour, linestyle=DASHES[i], linewidth=1.9, transform=axes.transAxes, clip_on=False)
        axes.text(1.09, place, line.label, transform=axes.transAxes, va="center", fontsize=9, color=INK[theme][1])


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """The nearest places (of 0 to 1) that keep their order and are `apart`, or as far apart as there is room."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    apart = min(apart, 1 / max(len(wanted) - 1, 1))
    places: list[float] = []
    for i in order:
        places.append(max(wanted[i], 0.0, places[-1] + apart if places else 0.0))
    ceiling = 1.0
    for at in reversed(range(len(places))):
        places[at] = min(places[at], ceiling)
        ceiling = places[at] - apart
    return [places[order.index(i)] for i in range(len(wanted))]


def draw_intervals(path: str, rows: Sequence[Row], title: str = "", x: str = "", theme: Theme = "light") -> None:
    """A line a group, the first on top: runs, mean and interval; a dashed line at the first mean, against which the others stand."""
    if not any(math.isfinite(row.centre) for row in rows):
        raise ValueError("there is nothing to draw: no group has a result")
    figure = _figure(8.6, 1.3 + 0.5 * len(rows))
    axes = figure.subplots()
    ground, text, faint, _ = INK[theme]
    for at, row in enumerate(rows):
        colour = _colour(at, theme)
        axes.plot(row.runs, [at + 0.22] * len(row.runs), "o", color=colour, alpha=0.45, markersize=3.6, markeredgewidth=0)
        axes.plot([row.low, row.high], [at, at], color=colour, linewidth=4.5, alpha=0.38, solid_capstyle="round")
        axes.plot([row.centre], [at], "o", color=colour, markersize=8, markeredgecolor=ground, markeredgewidth=1.4)
        axes.text(1.02, at, row.note, transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=faint)
    if len(rows) > 1 and math.isfinite(rows[0].centre):
        axes.axvline(rows[0].centre, color=faint, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    centre = [value for row in rows for value in (row.centre, *row.runs) if math.isfinite(value)]
    axes.set_xlim(*limits(centre, [row.low for row in rows], [row.high for row in rows]))
    axes.set_ylim(len(rows) - 0.45, -0.55)
    _dress(axes, title, theme)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(rows)), [row.label for row in rows], color=text)
    axes.tick_params(axis="y", length=0, labelsize=9.5)
    axes.set_xlabel(x)
    _save(figure, path, theme)


def _colour(i: int, theme: Theme) -> str:
    return (COLOURS if theme == "light" else ON_DARK)[i % MOST]


def short(value: float) -> str:
    """`400k`, `1.2M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("pictures are drawn by matplotlib, which is not installed: pip install 'agonist[stats]'") from None
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08))


def _dress(axes: Axes, title: str, theme: Theme) -> None:
    ground, text, faint, grid = INK[theme]
    axes.set_facecolor(ground)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=text, pad=10)
    axes.grid(color=grid, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(faint)
    axes.tick_params(colors=faint, labelsize=9, length=0, pad=6)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=faint, fontsize=9)


def _save(figure: Figure, path: str, theme: Theme) -> None:
    import matplotlib

    figure.set_facecolor(INK[theme][0])
    vector = path.lower().endswith(".svg")
    with matplotlib.rc_context({"svg.hashsalt": "agonist", "svg.fonttype": "path"}):
        try:
            figure.savefig(path, dpi=160, metadata={"Date": None} if vector else {"Software": None}, bbox_inches="tight", pad_inches=0.16)
        except OSError as error:
            raise ValueError(f"cannot write {path}: {error.strerror}") from None

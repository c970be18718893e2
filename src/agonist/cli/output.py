"""What leaves the command line: one JSON object or a picture on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, TextIO

import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

PIPED_WIDTH = 160  # columns where nobody's terminal says how many


def prepare_streams() -> None:
    """A character that the terminal's encoding lacks is replaced, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def printable(text: str) -> str:
    """Text as a terminal may have it: names and notes come from anybody's files, and an escape in them would be obeyed. Lines stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "?" for c in text)


class Screen(Console):
    """A console on which nothing but its own colours and movements is more than text, whoever wrote it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout, or on the stream given. Where it is no terminal, tables are not squeezed."""
    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Screen(file=stream, width=width, highlight=False, emoji=False)


def is_plain(stream: TextIO) -> bool:
    """Whether only ASCII can be written."""
    return "utf" not in (getattr(stream, "encoding", None) or "").lower()


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    console(sys.stderr).print(Text.assemble(("agonist: ", "bold red"), sentence), soft_wrap=True)


def note(sentence: str) -> None:
    console(sys.stderr).print(Text(sentence, style="dim"), soft_wrap=True)


@contextmanager
def working(as_json: bool, what: str = "") -> Iterator[None]:
    """While the work goes on: under --json whatever a program prints goes to stderr, for stdout is for the object alone; on a
    terminal something turns beside what is being done."""
    screen = console(sys.stderr)
    turning = what and screen.is_terminal and not screen.is_dumb_terminal
    with redirect_stdout(sys.stderr) if as_json else nullcontext(), screen.status(what) if turning else nullcontext():
        yield


@contextmanager
def counting(total: int, what: str, patience: float = 2.0) -> Iterator[Callable[[str], None]]:
    """Tell it the next of `total` things: on a terminal, work that takes longer than a moment shows how far it has come."""
    screen = console(sys.stderr)
    began, done, turning = time.monotonic(), 0, screen.status("")

    def tell(name: str) -> None:
        nonlocal done
        done += 1
        if screen.is_terminal and not screen.is_dumb_terminal and time.monotonic() - began > patience:
            turning.start()
            turning.update(f"{what} {name}, {done:,} of {total:,}")

    try:
        yield tell
    finally:
        turning.stop()


def show(result: Mapping[str, Any], as_json: bool, picture: Callable[[Console], None]) -> None:
    """The result, once."""
    if as_json:
        said = _json(result, indent=2 if sys.stdout.isatty() else None)
        print(said if printable(said) == said else json.dumps(json.loads(said), indent=2 if sys.stdout.isatty() else None))
    else:
        picture(console())


def _json(result: Mapping[str, Any], indent: int | None) -> str:
    """Most are plain already, and a long listing is said in an instant so. Numbers that are none become null here too."""
    try:
        return orjson.dumps(result, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:
        return json.dumps(plain(result), allow_nan=False, indent=indent, ensure_ascii=False)


def plain(value: Any) -> Any:
    """As JSON can say it: numbers that are none become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


# how things are said


def number(value: float | None) -> str:
    """Three or four digits that matter."""
    if value is None or not math.isfinite(value):
        return "-"
    size = abs(value)
    if size == 0:
        return "0"
    if not 0.001 <= size < 1e6:
        return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}" if size < 0.1 else f"{value:.3f}" if size < 10 else f"{value:.1f}"


def interval(mean: float | None, low: float | None, high: float | None) -> str:
    """`0.97 [0.95, 0.99]`: all with the decimals that the interval's width says, of which it fills one, or two of a narrow one."""
    if mean is None or not math.isfinite(mean):
        return "-"
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return _said(mean, *_decimals(mean, 0.0))
    form = _decimals(max(abs(mean), abs(low), abs(high)), high - low)
    return f"{_said(mean, *form)} [{_said(low, *form)}, {_said(high, *form)}]"


def _decimals(size: float, width: float) -> tuple[int, bool]:
    """How many, and whether by powers of ten: two as long as they tell, one for what has three digits before them."""
    width = width or abs(size)
    power = math.floor(math.log10(width) + 1e-6) if width else -2  # 1.57 - 1.56 is a little less than 0.01
    decimals = -power if power >= -2 else 1 - power
    if decimals > 6:
        return max(1, decimals + math.floor(math.log10(abs(size))) if size else 1), True
    return max(decimals, 1 if abs(size) >= 100 else 2), False


def _said(value: float, decimals: int, by_powers: bool) -> str:
    text = f"{value:.{decimals}e}" if by_powers and value else f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def said(name: str, value: Any) -> str:
    """A key's or a fact's value on one line: as a filter takes it, but for long numbers. Seeds are names, not amounts."""
    from agonist.runs.matching import text_of

    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if name == "seed" else f"{value:,}"
    if isinstance(value, list):
        value = [float(f"{one:.4g}") if isinstance(one, float) else one for one in value]
    return " ".join(text_of(value).split())


def duration(seconds: float) -> str:
    """`0:42`, `3:07:20`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def age(seconds: float) -> str:
    """`5 s`, `12 min`, `3 h`, `9 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def count(value: float) -> str:
    """`400k`, `1.2M`: for axes."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def size(byte_count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if byte_count < 1000:
            return f"{byte_count:.0f} {unit}" if unit == "B" or byte_count >= 100 else f"{byte_count:.1f} {unit}"
        byte_count /= 1000
    return f"{byte_count:.1f} TB"

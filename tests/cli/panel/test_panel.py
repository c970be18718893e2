"""Which panel is shown, and where: a terminal, a log, a stream that has closed."""

import io
import re
import sys

import pytest
from rich.console import Console

from agonist.cli import output, panel
from agonist.cli.panel import parts, progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Begins to be stderr where it is called: until then pytest has its own."""

    def begin(term="xterm-256color"):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("COLUMNS", "80")
        return stream

    return begin


def bare(text):
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", text)


def test_lines_where_there_is_no_terminal(monkeypatch, report):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(["ppo", "x"], 0, None) as told:
        told(report(phase="compiling"))
        told(report(phase="finished", step=1000))
    with progress(["ppo", "x"], 0, 2) as told:
        told(report(label="seed 0", phase="finished", step=1000))
    rows = stream.getvalue().splitlines()
    assert [word in row for word, row in zip(("compiling", "finished", "seed 0  finished", "2 runs"), rows, strict=True)] == [True] * 4
    assert "\x1b" not in stream.getvalue()


def test_lines_where_the_terminal_is_dumb(terminal, report):
    stream = terminal("dumb")
    with progress(["ppo", "x"], 0, None) as told:
        told(report(phase="finished", step=1000))
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("runs", "title"), [(None, "fast-hoopoe · ppo · x · seed 0"), (1, "fast-hoopoe · ppo · x · seed 0"), (3, "ppo · x · 3 runs")]
)
def test_a_panel_where_there_is_one(terminal, report, runs, title):
    stream = terminal()
    with progress(["ppo", "x"], 0, runs) as told:
        told(report(step=500, label="seed 0"))
    assert title in bare(stream.getvalue())
    assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h")


def test_without_colour_there_is_none(terminal, monkeypatch, report):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = terminal()
    with progress(["ppo", "x"], 0, None) as told:
        told(report(phase="finished", step=500))
    assert "finished" in stream.getvalue()
    assert not re.search(r"\x1b\[[\d;]*[34][\d;]*m", stream.getvalue())


def test_a_panel_that_never_began_goes(terminal):
    stream = terminal()

    def refused():
        with progress(["ppo", "x"], 0, None):
            raise ValueError("no such key")

    with pytest.raises(ValueError, match="no such key"):
        refused()
    assert stream.getvalue().rstrip().endswith("\x1b[2K") or "\x1b[1A\x1b[2K" in stream.getvalue()[-60:]


def test_a_closed_stderr_stops_no_training(monkeypatch, report):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with progress(["ppo", "x"], 0, None) as told:
        told(report(step=1))


def test_a_narrower_terminal_is_drawn_anew():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=20, legacy_windows=False)
    live, clear = panel._live(console, parts.row("something", 80)), "\x1b[H\x1b[2J"
    for width, cleared in ((100, 0), (120, 0), (60, 1), (60, 1), (90, 1), (40, 2)):
        console.width = width
        live.get_renderable()
        assert stream.getvalue().count(clear) == cleared


def test_a_bar_gives_way_where_it_is_narrow(drawn):
    wide, narrow = drawn(parts.bar(250_000, 1_000_000, 65.0, 80), 80), drawn(parts.bar(250_000, 1_000_000, 65.0, 36), 36)
    assert "250,000 / 1,000,000 steps   25%  1:05 left" in wide
    assert "250k / 1M   25%  1:05 left" in narrow
    assert "0 / 0 steps    0%" in drawn(parts.bar(0, 0, None, 80), 80)
    assert output.duration(65) == "1:05"

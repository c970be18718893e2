"""A film in the terminal."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from agonist.cli.film import Agent, terminal
from agonist.types import Discrete, Role


def shown(film, width=60, height=20, plain=False, step=2, **keys):
    out = io.StringIO()
    keys = {"color_system": "truecolor", **keys}
    console = Console(file=out, width=width, height=height, force_terminal=True, legacy_windows=False, **keys)
    shots = list(terminal._shots(film.cast, [("woods", film.reels[0].frames)], plain))
    console.print(shots[step])
    return out.getvalue()


def bare(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_two_pixels_a_character_in_true_colour(film):
    rows = shown(film).splitlines()
    assert bare(rows[0]).rstrip() == "woods"
    assert "\x1b[38;2;250;240;0;48;2;250;240;0m▀" in rows[1]
    assert any("38;2;200;10;10" in row for row in rows)
    widths = {len(bare(row)) for row in rows if "▀" in row}
    assert widths == {28}  # 12 rows are 24 pixels, and 12 x 10 becomes 28 x 24


@pytest.mark.parametrize("height", [12, 20, 50])
def test_it_fits_the_terminal(film, height):
    rows = bare(shown(film, 70, height)).splitlines()
    assert len(rows) <= height
    assert max(map(len, rows)) <= 70


def test_fewer_colours_where_there_are_fewer(film):
    assert "38;5;" in shown(film, color_system="256")
    assert "38;2;" not in shown(film, color_system="256")


def test_letters_where_there_is_no_colour(film):
    text = shown(film, no_color=True)
    assert "▀" not in text
    assert "@" in text
    assert text.isascii()
    ground = bare(text).splitlines()[1]
    assert ground.strip() == "", "the ground is blank"


def test_an_ascii_terminal_gets_coloured_blanks(film):
    text = shown(film, plain=True)
    assert text.isascii()
    assert "48;2;200;10;10m " in text


def test_who_did_what_is_told(film):
    text = bare(shown(film))
    assert "step 2   wolf 0.250  bird -1.500  sage 0" in text
    assert re.search(r"wolf 0 +0\.250 +0\.250 +bite", text)
    assert re.search(r"bird +-1\.500 +-1\.000 +0\.50 -0\.33", text)
    assert re.search(r"sage +0 +0 +1 2", text)
    assert re.search(r"wolf 1 .* gone", bare(shown(film, step=3)))


def test_many_agents_are_cut(film):
    role = Role("ant", 40, film.cast.agents[0].role.obs, Discrete(3))
    cast = film.cast._replace(agents=tuple(Agent(f"ant {i}", role, i, "x") for i in range(40)))
    held = {"ant": np.zeros(40, int)}
    frames = [frame._replace(rewards=held, actions=held, alive={"ant": np.ones(40, bool)}) for frame in film.reels[0].frames]
    text = bare(shown(film._replace(cast=cast, reels=[film.reels[0]._replace(frames=frames)]), 60, 20))
    assert "and 31 more" in text
    assert len(text.splitlines()) <= 20


def played(film, out, monkeypatch, **keys):
    slept = []
    monkeypatch.setattr(terminal.time, "sleep", slept.append)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: 0.0)
    console = Console(file=out, width=60, height=20, legacy_windows=False, **keys)
    terminal.play(console, film.cast, [("one", film.reels[0].frames), ("two", film.reels[1].frames)], 10.0, False)
    return slept


def test_a_terminals_own_screen_is_used_and_given_back(film, monkeypatch):
    out = io.StringIO()
    slept = played(film, out, monkeypatch, force_terminal=True, color_system="truecolor")
    text = out.getvalue()
    assert text.startswith("\x1b[?1049h")
    assert text.rstrip().endswith("\x1b[?25h") or text.rstrip().endswith("\x1b[?1049l")
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    assert "two" in bare(text)
    pauses = np.diff([0, *slept])  # the clock stands still, so each is due so much later than the one before
    assert pauses == pytest.approx([0.1] * 4 + [1.5] + [0.1] * 2 + [1.5])


def test_ctrl_c_leaves_the_terminal_as_it_was(film, monkeypatch):
    def stopped(seconds):
        raise KeyboardInterrupt

    out = io.StringIO()
    monkeypatch.setattr(terminal.time, "sleep", stopped)
    console = Console(file=out, width=60, height=20, force_terminal=True, legacy_windows=False)
    with pytest.raises(KeyboardInterrupt):
        terminal.play(console, film.cast, [("one", film.reels[0].frames)], 10.0, False)
    assert "\x1b[?1049l" in out.getvalue()
    assert out.getvalue().rfind("\x1b[?25h") > out.getvalue().rfind("\x1b[?25l")


def test_where_there_is_no_terminal_all_is_printed_at_once(film, monkeypatch):
    out = io.StringIO()
    assert played(film, out, monkeypatch, force_terminal=False) == []
    text = out.getvalue()
    assert "\x1b" not in text
    assert [row for row in text.splitlines() if row.startswith("step")][::4] == [
        "step 0   wolf 0  bird 0  sage 0",
        "step 4   wolf 0.250  bird -5.000  sage 0",
    ]

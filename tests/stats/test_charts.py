"""Pictures: that they are written, the same each time, with what they should show; how they look was looked at."""

import re
import sys

import numpy as np
import pytest

from agonist.stats.charts import COLOURS, MOST, Line, Panel, Row, check_path, draw_curves, draw_intervals, limits, short, spread
from agonist.stats.curves import curve

CURVE = curve({"": [([0, 1e5, 2e5], [0, 0.5, value]) for value in (0.9, 1.0, 0.8)]})
PANELS = [Panel("a task", [Line("lr=1e-3", CURVE), Line("lr=1e-4", CURVE)], "eval/return")]
ROWS = [Row("one", 0.5, 0.4, 0.6, [0.4, 0.6]), Row("other", 0.9, float("nan"), float("nan"), [0.9], "better")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_data_are_the_same_bytes(tmp_path, suffix, theme):
    for name, draw in (
        ("curves", lambda path: draw_curves(path, PANELS, theme)),
        ("intervals", lambda path: draw_intervals(path, ROWS, theme=theme)),
    ):
        one, other = tmp_path / f"{name}1.{suffix}", tmp_path / f"{name}2.{suffix}"
        draw(str(one))
        draw(str(other))
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


def test_each_line_has_its_colour_in_every_panel(tmp_path):
    path = tmp_path / "x.svg"
    draw_curves(str(path), [PANELS[0], Panel("another", PANELS[0].lines[1:])])
    strokes = re.findall(r"stroke: (#[0-9a-f]{6})", path.read_text())
    used = {colour for colour in strokes if colour.upper() in COLOURS}
    assert used == {colour.lower() for colour in COLOURS[:2]}
    assert path.read_text().count("<!-- lr=1e-4 -->") == 2  # its label, at both ends
    assert path.read_text().count("<!-- lr=1e-3 -->") == 1


def test_too_many_lines_and_none():
    with pytest.raises(ValueError, match=f"{MOST + 1} lines are more than"):
        draw_curves("x.png", [Panel("", [Line(str(i), CURVE) for i in range(MOST + 1)])])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_curves("x.png", [Panel("", [Line("", curve({}))])])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_intervals("x.png", [Row("a", float("nan"), 0, 0)])


@pytest.mark.parametrize(
    ("path", "sentence"), [("x.gif", ".png or a .svg"), ("x", ".png or a .svg"), ("nowhere/x.png", "no folder nowhere")]
)
def test_where_no_picture_can_be(path, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_path(path)


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"pip install 'agonist\[stats\]'"):
        check_path(str(tmp_path / "x.png"))


def test_labels_keep_their_order_and_their_distance():
    assert spread([0.5], 0.1) == [0.5]
    places = spread([0.9, 0.2, 0.91, 0.89], 0.1)
    assert sorted(range(4), key=places.__getitem__) == [1, 3, 0, 2]
    assert np.diff(sorted(places)).min() >= 0.1 - 1e-9
    crowded = spread([1.0] * 21, 0.1)
    assert min(crowded) >= -1e-9
    assert max(crowded) <= 1


def test_a_wild_interval_does_not_flatten_the_curves():
    bottom, top = limits([0.0, 1.0], [-50.0, np.nan], [1.1, 90.0])
    assert -0.6 < bottom < -0.5
    assert 1.5 < top < 1.6
    assert limits([2.0], [np.nan], [np.nan])[0] < 2 < limits([2.0], [np.nan], [np.nan])[1]


def test_short_numbers():
    assert [short(value) for value in (0, 50_000, 1.25e6, 2e9, -3000, 0.5)] == ["0", "50k", "1.25M", "2G", "-3k", "0.5"]

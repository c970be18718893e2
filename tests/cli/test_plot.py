"""Curves in a terminal, dot by dot."""

import math

import pytest

from agonist.cli.plot import BRAILLE, Line, Point, bounds, curve, curves, sparkline, thin


def test_sparkline_by_hand():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 20) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5, 5], 20) == "▄▄▄"
    assert sparkline([], 20) == ""
    assert sparkline([0, math.nan, 1], 20, plain=True) == "_#"


def test_thin_takes_means_and_loses_none():
    assert thin([1, 2, 3, 4, 5, 6], 3) == [1.5, 3.5, 5.5]
    assert thin([1, 2, 3], 10) == [1, 2, 3]
    values = [float(i) for i in range(101)]
    assert len(thin(values, 7)) == 7
    assert thin(values, 7) == sorted(thin(values, 7))


def dots(lines):
    """(row, column) of every dot, from the characters."""
    at = {0x01: (0, 0), 0x02: (1, 0), 0x04: (2, 0), 0x40: (3, 0), 0x08: (0, 1), 0x10: (1, 1), 0x20: (2, 1), 0x80: (3, 1)}
    out = set()
    for row, line in enumerate(lines):
        for column, char in enumerate(line):
            bits = ord(char) - BRAILLE
            if 0 < bits < 256:
                out |= {(row * 4 + dy, column * 2 + dx) for bit, (dy, dx) in at.items() if bits & bit}
    return out


def test_a_straight_line_goes_from_corner_to_corner():
    lines = [line.plain for line in curve([0, 100], [0.0, 1.0], width=30, height=5)]
    title, *grid = lines[:6]
    assert title.strip() == "eval/return"
    left = grid[0].index("┤") + 1
    found = dots([line[left:] for line in grid])
    columns = (len(lines[6]) - left) * 2
    assert (19, 0) in found
    assert (0, columns - 1) in found
    assert {column for _, column in found} == set(range(columns))
    for row, column in found:
        assert abs(row - (1 - column / (columns - 1)) * 19) <= 1
    assert lines[-1].split() == ["0", "100", "steps"]
    assert [grid[row].split()[0] for row in (0, 2, 4)] == ["1.000", "0.500", "0"]


def test_the_interval_is_a_shade_around_the_mean():
    lines = [line.plain for line in curve([0, 1], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0], width=30, height=5)]
    grid = [line[line.index("┤" if "┤" in line else "│") + 1 :] for line in lines[1:6]]
    assert set(grid[0]) == {"░"}
    assert set(grid[4]) == {"░"}
    assert "░" not in grid[2]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.nan], [math.nan, math.nan, 2.0]])
def test_one_point_is_no_curve(values):
    assert curve(list(range(len(values))), values) == []


@pytest.mark.parametrize("width", [20, 40, 80])
def test_it_fits(width):
    lines = curve([0, 5, 9], [3.0, 3.0, 3.0], width=width, height=4)
    assert max(len(line.plain) for line in lines) <= width


def test_plain_is_ascii():
    for line in curve([0, 1, 2], [0.0, 1.0, 0.5], [0.0, 0.5, 0.0], [0.5, 1.5, 1.0], plain=True):
        assert line.plain.isascii()
    assert any("*" in line.plain for line in curve([0, 1], [0.0, 1.0], plain=True))


def straight(mark, first, last, spread=0.0):
    return Line(mark, [Point(x, y, y - spread, y + spread) for x, y in ((0, first), (100, last))])


def test_several_lines_are_told_apart_by_their_letters():
    plain = [line.plain for line in curves([straight("A", 0, 1), straight("B", 1, 0)], width=60, height=9, plain=True)]
    first, last = plain[0], plain[8]
    assert first.rstrip().endswith("A")  # at the right, beside where it ends
    assert last.rstrip().endswith("B")
    assert first[first.index("|") + 1] == "B"
    assert last[last.index("|") + 1] == "A"
    assert all(line.isascii() for line in plain)


def test_lines_on_one_another_take_turns():
    plain = [line.plain for line in curves([straight("A", 1, 1), straight("B", 1, 1)], width=60, height=3, plain=True)]
    row = next(line for line in plain if "AB" in line)
    assert abs(row.count("A") - row.count("B")) <= 1
    braille = "".join(line.plain for line in curves([straight("A", 1, 1), straight("B", 1, 1)], width=60, height=3))
    assert braille.count("A") >= 2
    assert braille.count("B") >= 2


def test_where_intervals_overlap_the_shade_is_darker():
    lines = [line.plain for line in curves([straight("A", 0, 0, 0.6), straight("B", 1, 1, 0.6)], width=40, height=11)]
    column = [line[20] for line in lines[:11]]
    assert "▒" in column[4:7]
    assert column[0] == "░"
    assert column[-1] == "░"


@pytest.mark.parametrize("width", [30, 80])
def test_several_lines_fit(width):
    lines = curves([straight(mark, i, 9) for i, mark in enumerate("ABCDEFGH")], width=width, height=8)
    assert max(len(line.plain) for line in lines) <= width


def test_a_wild_interval_leaves_the_values_half_of_the_axis():
    assert bounds([0, 1], [-100, 0.5], [2, 80]) == (-0.5, 1.5)
    assert bounds([0, 1], [-0.1, 0.9], [0.1, 1.2]) == (-0.1, 1.2)
    assert bounds([2, 2], [2, 2], [2, 2]) == (1.5, 2.5)

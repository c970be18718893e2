"""How things are said: numbers by hand, and JSON that any reader takes."""

import io
import json
import math
import sys

import numpy as np
import pytest
from rich.text import Text

from agonist.cli import output


def test_json_has_no_number_that_is_none():
    value = {
        "a": math.nan,
        "b": [1.5, math.inf, (np.float64("nan"), np.int64(3))],
        "c": {"d": np.array([1.0, np.nan])},
        "e": None,
        "f": True,
    }
    assert output.plain(value) == {"a": None, "b": [1.5, None, [None, 3]], "c": {"d": [1.0, None]}, "e": None, "f": True}
    json.dumps(output.plain(value), allow_nan=False)


def test_a_programs_own_output_stays_off_stdout(capsys):
    with output.working(as_json=True):
        print("pygame says hello")
    output.show({"x": math.nan}, True, lambda out: None)
    said = capsys.readouterr()
    assert json.loads(said.out) == {"x": None}
    assert "pygame" in said.err


def test_without_json_it_goes_where_it_went(capsys):
    with output.working(as_json=False):
        print("hello")
    assert capsys.readouterr().out == "hello\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.500"),
        (-1.25, "-1.250"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (0.01234, "0.0123"),
        (2.5e-4, "2.5e-4"),
        (3e7, "3.0e7"),
        (None, "-"),
        (math.nan, "-"),
    ],
)
def test_number(value, text):
    assert output.number(value) == text


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ((0.974, 0.951, 0.996), "0.97 [0.95, 1.00]"),
        ((1.0, math.nan, math.nan), "1.00"),
        ((2.0, None, None), "2.00"),
        ((math.nan, 0.0, 1.0), "-"),
        ((475.2, 470.0, 480.4), "475.2 [470.0, 480.4]"),
        ((-78.8, -102.9, -54.72), "-78.8 [-102.9, -54.7]"),
        ((-0.0012, -0.0041, 0.0017), "-0.0012 [-0.0041, 0.0017]"),
        ((-0.001, -0.05, 0.03), "0.00 [-0.05, 0.03]"),
        ((1234.5678, 1234.56, 1234.57), "1,234.57 [1,234.56, 1,234.57]"),
        ((-1e-9, -0.3, 0.3), "0.00 [-0.30, 0.30]"),
        ((1.234e-9, 1.2e-9, 1.3e-9), "1.23e-09 [1.20e-09, 1.30e-09]"),
        ((0.0, 0.0, 0.0), "0.00 [0.00, 0.00]"),
        ((0.00123, None, None), "0.0012"),
        ((0.0, None, None), "0.00"),
    ],
)
def test_interval(row, text):
    assert output.interval(*row) == text


def test_times_counts_and_sizes():
    assert [output.duration(seconds) for seconds in (0, 9.6, 61, 3725)] == ["0:00", "0:10", "1:01", "1:02:05"]
    assert [output.age(seconds) for seconds in (-3, 5, 130, 7300, 200_000)] == ["0 s", "5 s", "2 min", "2 h", "2 d"]
    assert [output.count(value) for value in (0, 64, 4096, 400_000, 1.5e6, 2e9)] == ["0", "64", "4.1k", "400k", "1.5M", "2G"]
    assert [output.size(value) for value in (12, 2500, 2_900_000, 81.8e9)] == ["12 B", "2.5 kB", "2.9 MB", "81.8 GB"]


def test_a_character_that_a_terminal_lacks_is_replaced(monkeypatch):
    import io

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.prepare_streams()
    print("▁█ · x")
    stream.flush()
    assert stream.buffer.getvalue() == b"?? ? x\n"
    assert output.is_plain(stream)


def test_only_the_consoles_own_escapes_reach_a_terminal():
    stream = io.StringIO()
    screen = output.Screen(file=stream, force_terminal=True, color_system="standard", width=80)
    screen.print(Text.assemble(("a\x1b[31m\x9bb\u202e", "bold"), "é名\nc\td"))
    assert stream.getvalue() == "\x1b[1ma?[31m?b?\x1b[0mé名\nc       d\n"
    assert output.printable("a\u00a0b\tc\r\x07\ud800") == "a b c ??"


def test_json_says_what_a_terminal_would_obey_by_number(capsys):
    output.show({"a": "\x9bé\x1b\u202e"}, True, lambda out: None)
    assert capsys.readouterr().out == '{"a": "\\u009b\\u00e9\\u001b\\u202e"}\n'
    output.show({"a": "é"}, True, lambda out: None)
    assert capsys.readouterr().out == '{"a":"é"}\n'


def test_a_value_is_said_as_a_filter_takes_it():
    said = [output.said("lr", value) for value in (1e-3, 12345, True, [1024, 2 / 3, "x"], "a  b\nc", None)]
    assert said == ["0.001", "12,345", "true", "[1024,0.6667,x]", "a b c", "null"]
    assert output.said("seed", 12345) == "12345"

"""What is shown while training goes on."""

import io
import sys
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from agonist.cli import panel
from agonist.cli.panel import Drawing, Notes, line, progress


@dataclass(frozen=True)
class Told:
    """As `agonist.training.Progress`, which imports jax."""

    run: str = "20261119-214342-fast-hoopoe"
    phase: str = "training"
    step: int = 0
    total: int = 1000
    seconds: float = 1.0
    values: dict = field(default_factory=dict)
    evaluated: int | None = None


VALUES = {
    "eval/return": 0.5,
    "eval/return_low": 0.4,
    "eval/return_high": 0.6,
    "perf/env_steps_per_second": 88000.4,
    "loss/policy": -0.001,
    "loss/value": 0.02,
    "policy/entropy": 1.1,
    "value/explained": 0.25,
}


def notes(*told):
    out = Notes(["ppo", "lbf:2s-8x8-2p-2f-coop"], 1, None)
    for each in told:
        out.take(each)
    return out


def drawn(some, width, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=stream, width=width, force_terminal=False, legacy_windows=False)
    console.print(Drawing(some, plain=encoding == "ascii"))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def test_an_evaluation_is_noted_once():
    some = notes()
    assert some.take(Told(step=0, values=VALUES, evaluated=0))
    assert not some.take(Told(step=64, values=VALUES, evaluated=0))
    assert some.take(Told(step=128, values=VALUES, evaluated=128))
    assert [row[0] for row in some.evaluations] == [0, 128]
    assert some.evaluations[0][1:] == (0.5, 0.4, 0.6)


def test_another_run_begins_anew():
    some = notes(Told(step=0, values=VALUES, evaluated=0), Told(step=500, values=VALUES, evaluated=500))
    assert some.left() is not None
    some.take(Told(run="b", phase="compiling"))
    assert some.evaluations == []
    assert some.left() is None


def test_time_left_is_at_the_pace_since_compiling(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(panel.time, "monotonic", lambda: clock[0])
    some = notes(Told(phase="compiling", seconds=0.1), Told(step=0, seconds=10.0))
    assert some.left() is None
    some.take(Told(step=250, seconds=15.0))  # 50 steps a second, 750 to go
    assert some.left() == pytest.approx(15.0)
    clock[0] += 4
    assert some.left() == pytest.approx(11.0)
    clock[0] += 60
    assert some.left() == 0


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_panel_fits_and_tells(width):
    text = drawn(notes(Told(step=0), Told(step=250, seconds=2.0, values=VALUES, evaluated=250)), width)
    assert max(len(row) for row in text.splitlines()) <= width
    for part in ("fast-hoopoe", "training", "250 / 1,000 steps", "25%", "left", "0.50 [0.40, 0.60]", "88,000 env steps/s", "policy -0.001"):
        assert part in text, (part, text)
    if width >= 80:
        assert "entropy 1.100   explained variance 0.250" in text


def test_the_panel_says_what_it_waits_for():
    assert "starting" in drawn(notes(), 80)
    text = drawn(notes(Told(phase="compiling")), 80)
    assert "compiling (first time for these shapes; kept for the next run)" in text
    assert "final evaluation" in drawn(notes(Told(phase="final evaluation", step=1000)), 80)


def test_the_panel_in_ascii():
    text = drawn(notes(Told(step=0), Told(step=250, values=VALUES, evaluated=250)), 80, encoding="ascii")
    assert "?" not in text


def test_several_seeds_are_counted():
    some = Notes(["ppo", "x"], 0, 3)
    assert "run 1 of 3" in some.name(False)
    some.take(Told(run="a", phase="finished"))
    some.take(Told(run="b", phase="compiling"))
    assert "run 2 of 3" in some.name(False)


def test_plain_lines_are_few(monkeypatch):
    clock, stream = [0.0], io.StringIO()
    monkeypatch.setattr(panel.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(["ppo", "x"], 0, None) as told:
        told(Told(phase="compiling"))
        for step in range(1, 999):  # ten seconds of reports, an evaluation in each
            clock[0] += 0.01
            told(Told(step=step, values=VALUES, evaluated=step))
        told(Told(step=1000, values=VALUES, evaluated=1000))
        told(Told(phase="finished", step=1000, values=VALUES, evaluated=1000))
    lines = stream.getvalue().splitlines()
    assert "compiling" in lines[0]
    assert "finished" in lines[-1]
    assert 15 <= len(lines) <= 25
    assert any("eval/return 0.50 [0.40, 0.60]" in row for row in lines)


def test_lines_without_evaluations_are_fewer_still(monkeypatch):
    clock, stream = [0.0], io.StringIO()
    monkeypatch.setattr(panel.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(["ppo", "x"], 0, None) as told:
        for step in range(1, 999):
            clock[0] += 0.01
            told(Told(step=step))
    assert 4 <= len(stream.getvalue().splitlines()) <= 6


def test_a_closed_stderr_stops_no_training(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with progress(["ppo", "x"], 0, None) as told:
        told(Told(step=1, values=VALUES, evaluated=1))


def test_a_line_tells_what_a_log_needs():
    some = notes(Told(step=0), Told(step=250, seconds=2.0, values=VALUES, evaluated=250))
    text = line(some, some.newest)
    for part in ("[0:02]", "fast-hoopoe", "training", "250 / 1,000 steps", "88,000 env steps/s", "loss/policy -0.001", "loss/value 0.02"):
        assert part in text
    assert text.isascii()

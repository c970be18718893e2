"""What is shown of one run while it trains."""

import pytest

from agonist.cli.panel.one import Drawing, Notes, line


def noted(*told):
    out = Notes(["ppo", "lbf:2s-8x8-2p-2f-coop"], 1)
    for each in told:
        out.take(each)
    return out


def test_an_evaluation_is_noted_once(report, values):
    some = noted()
    assert some.take(report(step=0, values=values, evaluated=0))
    assert not some.take(report(step=64, values=values, evaluated=0))
    assert some.take(report(step=128, values=values, evaluated=128))
    assert [row[0] for row in some.evaluations] == [0, 128]
    assert some.evaluations[0][1:] == (0.5, 0.4, 0.6)


def test_time_left_is_at_the_pace_since_compiling(report, clock):
    some = noted(report(phase="compiling", seconds=0.1), report(step=0, seconds=10.0))
    assert some.left() is None
    some.take(report(step=250, seconds=15.0))  # 50 steps a second, 750 to go
    assert some.left() == pytest.approx(15.0)
    clock[0] += 4
    assert some.left() == pytest.approx(11.0)
    clock[0] += 60
    assert some.left() == 0


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_panel_fits_and_tells(report, values, drawn, width):
    text = drawn(Drawing(noted(report(step=0), report(step=250, seconds=2.0, values=values, evaluated=250)), False), width)
    rows = text.splitlines()
    assert {len(row) for row in rows} == {min(width, 110)}
    assert len(rows) == 8
    steps = "250 / 1,000 steps" if width >= 60 else "250 / 1k"
    for part in ("fast-hoopoe", "training", steps, "25%", "left", "0.50 [0.40, 0.60]", "88,000 env steps/s", "policy -0.001"):
        assert part in text, (part, text)
    assert ("best 0.500 at 250" in text) == (width >= 60)
    assert ("entropy 1.100   explained variance 0.250" in text) == (width >= 60)


def test_the_panel_says_what_it_waits_for(report, drawn):
    assert "starting" in drawn(Drawing(noted(), False), 80)
    assert "compiling (first time for these shapes; kept for the next run)" in drawn(Drawing(noted(report(phase="compiling")), False), 80)
    assert "final evaluation of the best" in drawn(Drawing(noted(report(phase="final evaluation", step=1000)), False), 80)


@pytest.mark.parametrize("phase", ["finished", "failed", "interrupted"])
def test_what_has_ended_stands_still(report, drawn, clock, phase):
    drawing = Drawing(noted(report(phase=phase, step=500)), False)
    before = drawn(drawing, 80)
    clock[0] += 100
    assert drawn(drawing, 80) == before
    assert phase in before
    assert "left" not in before


def test_the_panel_in_ascii(report, values, drawn):
    drawing = Drawing(noted(report(step=0), report(step=250, values=values, evaluated=250)), True)
    for width in (40, 80):
        assert "?" not in drawn(drawing, width, encoding="ascii")


def test_its_name():
    assert Notes(["ppo", "x"], 3).name(False) == "ppo · x · seed 3"
    assert Notes(["ppo", "x"], None).name(True) == "ppo - x"


def test_plain_lines_are_few(report, values, clock):
    some = Notes(["ppo", "x"], 0)
    lines = some.lines(report(phase="compiling"))
    for step in range(1, 999):  # ten seconds of reports, an evaluation in each
        clock[0] += 0.01
        lines += some.lines(report(step=step, values=values, evaluated=step))
    lines += some.lines(report(step=1000, values=values, evaluated=1000))
    lines += some.lines(report(phase="finished", step=1000, values=values, evaluated=1000))
    assert "compiling" in lines[0]
    assert "finished" in lines[-1]
    assert 15 <= len(lines) <= 25
    assert any("eval/return 0.50 [0.40, 0.60]" in row for row in lines)


def test_lines_without_evaluations_are_fewer_still(report, clock):
    some, lines = Notes(["ppo", "x"], 0), []
    for step in range(1, 999):
        clock[0] += 0.01
        lines += some.lines(report(step=step))
    assert 4 <= len(lines) <= 6


def test_a_line_tells_what_a_log_needs(report, values):
    some = noted(report(step=0), report(step=250, seconds=2.0, values=values, evaluated=250))
    text = line(some, some.newest)
    for part in ("[0:02]", "fast-hoopoe", "training", "250 / 1,000 steps", "88,000 env steps/s", "loss/policy -0.001", "loss/value 0.02"):
        assert part in text
    assert text.isascii()


def test_the_end_is_the_final_evaluation(report, values, drawn):
    some = noted(report(step=1000, values=values, evaluated=1000))
    some.take(report(step=1000, phase="finished", values={**values, "final/return": 0.25}, evaluated=1000))
    assert "eval/return 0.25  " in line(some, some.newest)
    assert "return   0.25   " in drawn(Drawing(some, False), 80)


def test_a_failure_says_why(report, drawn):
    some = noted(report(step=64, phase="failed", why="ValueError: no such harbour"))
    assert "failed  64 / 1,000 steps  ValueError: no such harbour" in line(some, some.newest)
    assert "ValueError: no such harbour" in drawn(Drawing(some, False), 80)

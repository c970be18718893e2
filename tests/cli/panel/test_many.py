"""What is shown of many runs that train at once."""

import itertools
import threading

import pytest

from agonist.cli.panel.many import Drawing, Notes

LABELS = [f"lr={rate} seed {seed}" for rate in ("1e-4", "3e-4", "1e-3") for seed in range(3)]


@pytest.fixture
def noted(stream, clock):
    """So many of the reports of nine runs, of which one fails; a second lies between two reports."""

    def make(count=None, labels=LABELS, runs=None, failing=("lr=1e-4 seed 1",)):
        out = Notes(["ppo", "lbf:x"], runs or len(labels))
        for told in itertools.islice(stream(labels, failing=failing), count):
            clock[0] += 1
            out.take(told)
        return out

    return make


def test_steps_are_those_of_all_runs_also_of_those_that_wait(noted):
    some = noted(4)
    assert some.counts() == "4 running, 5 waiting"
    assert some.steps() == (0, 9000)
    some = noted()
    assert some.counts() == "8 finished, 1 failed"
    assert some.steps() == (8 * 1000 + 300, 8 * 1000 + 300)
    assert some.over()


def test_steps_by_a_slow_loop(noted, stream):
    for count in (7, 20, 50):
        some, at, ended = noted(count), {}, {}
        for told in itertools.islice(stream(LABELS, failing=("lr=1e-4 seed 1",)), count):
            at[told.run], ended[told.run] = told.step, told.phase in ("finished", "failed")
        total = sum(at[run] if ended[run] else 1000 for run in at) + 1000 * (9 - len(at))
        assert some.steps() == (sum(at.values()), total)


def test_time_left_is_at_the_pace_of_all(report, clock):
    some = Notes(["ppo"], 3)
    some.take(report(run="a", phase="training", step=400))  # was there before: resumed
    assert some.left() is None
    clock[0] += 10
    some.take(report(run="b", phase="training", step=0))
    some.take(report(run="a", step=700))
    some.take(report(run="b", step=200))  # 500 steps in 10 s; 300 + 800 + 1000 to go
    assert some.left() == pytest.approx(42.0)
    clock[0] += 2
    assert some.left() == pytest.approx(40.0)


def test_what_was_done_before_counts_for_no_pace(report, clock):
    some = Notes(["ppo"], 2)
    some.take(report(run="a", phase="finished", step=1000))
    some.take(report(run="b", step=0))
    clock[0] += 10
    some.take(report(run="b", step=100))
    assert some.left() == pytest.approx(90.0)


def test_the_best_group_comes_first(noted):
    assert list(noted().groups()) == ["lr=1e-3", "lr=3e-4", "lr=1e-4"]
    assert [run.name for run in noted().groups()["lr=1e-3"]] == LABELS[6:]


def test_an_end_is_told_once(report):
    some = Notes(["ppo"], 2)
    assert not some.take(report(run="a", phase="training"))
    assert some.take(report(run="a", phase="finished"))
    assert not some.take(report(run="a", phase="finished"))
    assert some.take(report(run="b", phase="failed"))
    assert not some.take(report(run="b", phase="training"))  # a rung higher
    assert some.take(report(run="b", phase="finished"))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("height", [8, 24, 50])
def test_the_panel_fits(noted, drawn, width, height):
    for count in (0, 4, 30, None):
        rows = drawn(Drawing(noted(count), False), width, height).splitlines()
        assert {len(row) for row in rows} == {min(width, 110)}
        assert len(rows) < height


def test_a_row_a_run_where_there_is_room(noted, drawn):
    text = drawn(Drawing(noted(), False), 90, 24)
    rows = text.splitlines()
    assert "8 finished, 1 failed" in rows[1]
    assert "8,300 / 8,300 steps  100%" in rows[2]
    assert [label in row for label, row in zip(LABELS[6:] + LABELS[3:6] + LABELS[:3], rows[3:], strict=False)] == [True] * 9
    assert "done  0.80 [0.75, 0.85]  " in text
    assert "0.10 [0.05, 0.15]" not in text  # of what has failed no return is shown


def test_a_row_a_group_where_there_is_not(noted, drawn):
    text = drawn(Drawing(noted(), False), 80, 12)
    assert "seed" not in text
    assert "lr=1e-3  3/3 done  0.70" in text
    assert "lr=1e-4   2/3 77%  0.10" in text
    text = drawn(Drawing(noted(), False), 80, 8)
    assert "and 1 more group" in text
    assert "lr=1e-4" not in text


def test_runs_without_a_group_are_cut(noted, drawn):
    labels = [f"seed {seed}" for seed in range(9)]
    text = drawn(Drawing(noted(labels=labels, failing=()), False), 80, 12)
    assert "seed 5" in text
    assert "and 3 more runs" in text


def test_in_ascii(noted, drawn):
    for width in (40, 80):
        assert "?" not in drawn(Drawing(noted(40), True), width, encoding="ascii")


def test_before_anything_is_told(drawn):
    assert "starting" in drawn(Drawing(Notes(["ppo"], 3), False), 80)


def test_plain_lines_are_few_and_none_is_lost(stream, clock):
    some, lines, ended = Notes(["ppo"], 9), [], 0
    for told in stream(LABELS, chunks=100, failing=("lr=1e-4 seed 1",)):
        clock[0] += 0.05
        lines += some.lines(told)
        ended += told.phase in ("finished", "failed")
    told_ends = [row for row in lines if "9 runs:" not in row]
    assert len(told_ends) == ended == 9
    assert sum("failed at 30 steps" in row for row in told_ends) == 1
    seconds = clock[0] - 100
    assert len(lines) - ended <= seconds / 2 + 2
    assert "9 runs: 8 finished, 1 failed  8,030 / 8,030 steps  best lr=1e-3 0.700" in lines[-1]
    assert all(row.isascii() for row in lines)


def test_it_is_drawn_while_reports_come_in(stream, drawn):
    some, wrong = Notes(["ppo"], 200), []

    def draw():
        try:
            while not some.over():
                drawn(Drawing(some, False), 80, 30)
        except RuntimeError as error:
            wrong.append(error)

    drawer = threading.Thread(target=draw)
    drawer.start()
    for told in stream([f"k={i} seed 0" for i in range(200)], chunks=2):
        some.take(told)
    drawer.join()
    assert not wrong


@pytest.fixture
def ended(report, values):
    """Three runs: one finished below its last evaluation, one above it, one failed with the best of all evaluations."""
    out = Notes(["ppo"], 3)
    for run, mean, final, why in (("a", 0.5, 0.25, ""), ("b", 0.1, 0.75, ""), ("c", 9.0, None, "ValueError: no such harbour")):
        told = {"run": run, "label": f"lr={run}", "step": 1000, "evaluated": 1000, "why": why}
        shown = {**values, "eval/return": mean, "eval/return_low": mean, "eval/return_high": mean}
        phase = "failed" if why else "finished"
        yield_of = shown if final is None else {**shown, "final/return": final}
        out.take(report(**{**told, "why": ""}, values=shown))
        out.take(report(**told, phase=phase, values=yield_of))
    return out


def test_what_a_run_came_to_is_its_final_evaluation(ended):
    assert {name: runs[0].mean for name, runs in ended.groups().items()} == {"lr=b": 0.75, "lr=a": 0.25, "lr=c": None}
    assert "best lr=b 0.750" in ended.line()


def test_a_failure_is_ranked_last_and_says_why(ended, drawn, report):
    rows = drawn(Drawing(ended, False), 100, 24).splitlines()
    assert [name in row for name, row in zip(("lr=b    done  0.75", "lr=a    done  0.25", "lr=c  failed  -"), rows[3:6], strict=True)] == [
        True
    ] * 3
    assert "lr=c: ValueError: no such harbour" in rows[6]
    [line, *_] = Notes(["ppo"], 3).lines(report(run="c", phase="failed", step=64, why="ValueError: no such harbour"))
    assert line.endswith("c  failed at 64 steps  ValueError: no such harbour")

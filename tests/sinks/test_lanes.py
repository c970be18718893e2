"""Sinks that fail, hang, sleep and are flooded: training does not notice, and what happened is said."""

import threading
import time

import pytest

from agonist.sinks import Beginning, Card, LogConfig, Sink, check, lanes, open_sinks, settle
from agonist.sinks.lanes import ROOM, Sinks

LOCK = threading.Event()  # never set


def sinks_of(log=None, **openers):
    return Sinks(openers, log)


def keeping(calls):
    return Sink(
        lambda step, moment, values: calls.append((step, values)),
        lambda found: calls.append(found),
        lambda: None,
        lambda ending: calls.append(ending.status),
    )


def test_calls_come_in_order_from_one_thread():
    calls, threads = [], set()
    sink = Sink(
        lambda step, moment, values: (threads.add(threading.current_thread().name), calls.append(step)),
        close=lambda e: calls.append(e.status),
    )
    sinks = sinks_of(mine=lambda: sink)
    for step in range(500):
        sinks.metrics(step, {"a": 1})
    sinks.close("finished", {}, {})
    settle()
    assert calls == [*range(500), "finished"]
    assert threads == {"sink mine"}


def test_an_evaluation_is_plain_numbers():
    import numpy as np

    calls = []
    sinks = sinks_of(mine=lambda: keeping(calls))
    sinks.metrics(7, {"loss": np.float32(0.5)})
    sinks.evaluation(7, {"a": np.array([1, 2], np.float32)}, np.array([3, 4], np.int32), False)
    sinks.close("finished", {}, {})
    settle()
    (step, values), found, _ = calls
    assert (step, values, found.returns, found.length, found.absolute) == (7, {"loss": 0.5}, {"a": [1.0, 2.0]}, [3.0, 4.0], False)
    assert type(values["loss"]) is float
    assert found.means() == {}
    assert found._replace(absolute=True).means() == {"absolute/return": 1.5}


@pytest.mark.parametrize("where", ["open", "metrics", "evaluation", "flush", "close"])
def test_a_sink_that_raises_is_left_out_and_said_once(where, capsys, monkeypatch):
    monkeypatch.setattr(lanes, "FLUSH_EVERY", 0.0)
    said, calls = [], []

    def broken(*_):
        raise OSError("the disk is full\nand more")

    sink = Sink() if where == "open" else Sink()._replace(**{where: broken})
    sinks = sinks_of(said.append, mine=broken if where == "open" else lambda: sink, well=lambda: keeping(calls))
    for step in range(200):
        sinks.metrics(step, {"a": 1.0})
        sinks.evaluation(step, {"a": [1.0]}, [1], False)
        time.sleep(0.0005)
    sinks.close("finished", {}, {})
    settle()
    [sentence] = said
    assert sentence == "the sink mine failed and is left out from here on; training goes on (OSError: the disk is full and more)"
    assert capsys.readouterr().err == f"agonist: {sentence}\n"
    assert calls[-1] == "finished"
    assert len(calls) == 401


@pytest.mark.parametrize("where", ["open", "metrics", "close"])
def test_a_sink_that_hangs_is_left(where, capsys):
    abandoned, said, calls = [], [], []
    sink = Sink(abandon=lambda: abandoned.append(1))._replace(**({} if where == "open" else {where: lambda *_: LOCK.wait()}))
    sinks = sinks_of(said.append, mine=LOCK.wait if where == "open" else lambda: sink, well=lambda: keeping(calls))
    began = time.monotonic()
    for step in range(100):
        sinks.metrics(step, {"a": 1.0})
    assert time.monotonic() - began < 0.1
    sinks.close("finished", {}, {})
    sinks.close("finished", {}, {})
    assert time.monotonic() - began < 0.2
    settle(0.2)
    assert time.monotonic() - began < 2
    assert said[-1] == "the sink mine was not done within 0 s and is left; what it had not written is lost there"
    assert abandoned == ([] if where == "open" else [1])
    assert calls[-1] == "finished"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sink") and not thread.daemon]


def test_runs_that_train_together_wait_once_for_a_sink_that_hangs(capsys):
    said, calls = [], []
    began = time.monotonic()
    for _ in range(3):
        sinks = sinks_of(said.append, mine=lambda: Sink(close=lambda ending: LOCK.wait()), well=lambda: keeping(calls))
        sinks.close("finished", {}, {})
    assert time.monotonic() - began < 0.2
    settle(0.4)
    assert 0.4 <= time.monotonic() - began < 1
    assert calls == ["finished"] * 3
    assert said == ["the sink mine was not done within 0 s and is left; what it had not written is lost there"] * 3
    settle(60)  # nobody is left to wait for
    assert time.monotonic() - began < 1


def test_a_sink_that_fails_after_its_run_is_logged_when_the_next_one_ends(capsys):
    said, go = [], threading.Event()

    def late(ending):
        go.wait()
        raise OSError("the disk is full")

    first = sinks_of(said.append, mine=lambda: Sink(close=late))
    first.close("finished", {}, {})
    assert said == []
    go.set()
    first.lanes[0].done.wait(5)
    sinks_of(None, mine=Sink).close("finished", {}, {})
    assert [sentence.partition(" and")[0] for sentence in said] == ["the sink mine failed"]
    settle()
    assert len(said) == 1


def test_all_lanes_of_a_process_share_what_flushing_may_take(monkeypatch):
    """Eight runs at once: their flushes take a 50th of one processor, but for the first of each."""
    monkeypatch.setattr(lanes, "FLUSH_EVERY", 0.0)
    monkeypatch.setattr(lanes, "_share", lanes._Share())
    flushes = []

    def flush():
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass
        flushes.append(time.monotonic())

    together = [sinks_of(mine=lambda: Sink(flush=flush)) for _ in range(8)]
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        for sinks in together:
            sinks.metrics(1, {"a": 1.0})
        time.sleep(0.01)
    for sinks in together:
        sinks.close("finished", {}, {})
    settle()
    assert 8 <= len(flushes) <= 8 + 8 + 1.5 / 0.1  # alone each would have flushed 15 times, 120 in all


def test_which_sinks_write_where(tmp_path):
    assert lanes.places(LogConfig()) == lanes.places(LogConfig(use_console=True)) == ""
    assert lanes.places(LogConfig(str(tmp_path), use_csv=True, use_wandb=True, project="p")) == (
        f"csv, wandb under {tmp_path}; wandb also where its package's own settings and login lead (project p)"
    )


def test_a_flood_is_bounded_dropped_and_counted(capsys):
    calls, go, said = [], threading.Event(), []
    well = keeping(calls)
    slow = well._replace(metrics=lambda *what: (go.wait(), well.metrics(*what)))
    sinks = sinks_of(said.append, mine=lambda: slow)
    began = time.monotonic()
    for step in range(5 * ROOM):
        sinks.metrics(step, {"a": 1.0})
    sinks.evaluation(1, {"a": [1.0]}, [1], False)  # for what is rare there is room
    assert time.monotonic() - began < 2
    go.set()
    sinks.close("finished", {}, {})
    settle()
    kept = [call for call in calls if isinstance(call, tuple) and len(call) == 2]
    assert ROOM <= len(kept) <= ROOM + 1
    assert len([call for call in calls if hasattr(call, "returns")]) == 1
    assert said == [
        "the sink mine is too slow: points are dropped (the run's own folder has them all)",
        f"the sink mine dropped {5 * ROOM - len(kept):,} points that it was too slow for",
    ]


def test_flushing_takes_a_small_share_of_the_time():
    flushes = []

    def flush():
        flushes.append(time.monotonic())
        time.sleep(0.01)

    lanes_before, lanes.FLUSH_EVERY = lanes.FLUSH_EVERY, 0.0
    try:
        sinks = sinks_of(mine=lambda: Sink(flush=flush))
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            sinks.metrics(1, {"a": 1.0})
            time.sleep(0.002)
        sinks.close("finished", {}, {})
        settle()
    finally:
        lanes.FLUSH_EVERY = lanes_before
    assert 2 <= len(flushes) <= 4  # one in 0.5 s: a 50th


def test_without_sinks_there_are_no_threads(tmp_path):
    before = threading.active_count()
    sinks = open_sinks(LogConfig(), Beginning("run", {}))
    sinks.metrics(1, {"a": 1.0})
    sinks.evaluation(1, {"a": [1.0]}, [1], True)
    sinks.close("finished", {}, {})
    settle()
    assert threading.active_count() == before


def test_what_cannot_be_is_refused_before_it_begins(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"sinks=\[jsn\]: nothing called 'jsn' .*did you mean json"):
        check(LogConfig(sinks=("jsn",)))
    monkeypatch.setattr(lanes, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^use_wandb=true needs the package wandb: pip install 'agonist\[wandb\]'$"):
        check(LogConfig(use_wandb=True))
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "deep" / "down"):
        with pytest.raises(ValueError, match=r"is no folder: .*file is a file"):
            check(LogConfig(base_exp_path=str(path), use_json=True))
    check(LogConfig(base_exp_path=str(file)))  # nothing is written there


def test_a_plugins_sink_is_opened_with_run_and_keys(tmp_path, monkeypatch, foreign):
    from foreign_sinks import SEEN

    monkeypatch.setattr(lanes, "card", lambda name: Card("foreign_sinks:open_it", "a test"))
    sinks = open_sinks(LogConfig(base_exp_path=str(tmp_path), sinks=("mine",)), Beginning("run", {"algo": "ppo"}, log=print))
    sinks.close("finished", {"a": 1}, {})
    settle()
    (beginning, config), ending = SEEN
    assert (beginning.run, beginning.spec, config.sinks, ending.final) == ("run", {"algo": "ppo"}, ("mine",), {"a": 1})
    assert beginning.log is None  # the run's log belongs to the training thread
    assert beginning.time == pytest.approx(time.time(), abs=5)

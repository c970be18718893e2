"""Sinks that fail, hang, sleep and are flooded: training does not notice, and what happened is said."""

import threading
import time

import pytest

from agonist.sinks import Beginning, Card, LogConfig, Sink, check, lanes, open_sinks
from agonist.sinks.lanes import ROOM, Sinks

LOCK = threading.Event()  # never set


def sinks_of(log=None, patience=15.0, **openers):
    return Sinks(openers, log, patience)


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
    assert calls == [*range(500), "finished"]
    assert threads == {"sink mine"}


def test_an_evaluation_is_plain_numbers():
    import numpy as np

    calls = []
    sinks = sinks_of(mine=lambda: keeping(calls))
    sinks.metrics(7, {"loss": np.float32(0.5)})
    sinks.evaluation(7, {"a": np.array([1, 2], np.float32)}, np.array([3, 4], np.int32), False)
    sinks.close("finished", {}, {})
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
    [sentence] = said
    assert sentence == "the sink mine failed and is left out from here on; training goes on (OSError: the disk is full and more)"
    assert capsys.readouterr().err == f"agonist: {sentence}\n"
    assert calls[-1] == "finished"
    assert len(calls) == 401


@pytest.mark.parametrize("where", ["open", "metrics", "close"])
def test_a_sink_that_hangs_is_left(where, capsys):
    abandoned, said, calls = [], [], []
    sink = Sink(abandon=lambda: abandoned.append(1))._replace(**({} if where == "open" else {where: lambda *_: LOCK.wait()}))
    sinks = sinks_of(said.append, 0.2, mine=LOCK.wait if where == "open" else lambda: sink, well=lambda: keeping(calls))
    began = time.monotonic()
    for step in range(100):
        sinks.metrics(step, {"a": 1.0})
    assert time.monotonic() - began < 0.1
    sinks.close("finished", {}, {})
    sinks.close("finished", {}, {})
    assert time.monotonic() - began < 2
    assert said[-1] == "the sink mine was not done within 0 s and is left; what it had not written is lost there"
    assert abandoned == ([] if where == "open" else [1])
    assert calls[-1] == "finished"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sink") and not thread.daemon]


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
    finally:
        lanes.FLUSH_EVERY = lanes_before
    assert 2 <= len(flushes) <= 4  # one in 0.5 s: a 50th


def test_without_sinks_there_are_no_threads(tmp_path):
    before = threading.active_count()
    sinks = open_sinks(LogConfig(), Beginning("run", {}))
    sinks.metrics(1, {"a": 1.0})
    sinks.evaluation(1, {"a": [1.0]}, [1], True)
    sinks.close("finished", {}, {})
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
    (beginning, config), ending = SEEN
    assert (beginning.run, beginning.spec, config.sinks, ending.final) == ("run", {"algo": "ppo"}, ("mine",), {"a": 1})
    assert beginning.log is None  # the run's log belongs to the training thread
    assert beginning.time == pytest.approx(time.time(), abs=5)

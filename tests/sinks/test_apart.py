"""A sink in a process of its own: it is told everything, may fail, hang and die, and never outlives its time."""

import os
import subprocess
import sys
import time

import pytest

from agonist.sinks import Beginning, LogConfig, settle
from agonist.sinks.apart import open_apart
from agonist.sinks.lanes import Sinks

pytestmark = pytest.mark.usefixtures("foreign")


def start(function, base, log=None):
    config = LogConfig(base_exp_path=str(base), sinks=("mine",))
    beginning = Beginning("run", {"algo": "ppo", "hidden": [8]}, step=5)
    return Sinks({"mine": lambda: open_apart(f"foreign_sinks:{function}", beginning, config)}, log)


def calls(base):
    return (base / "calls").read_text().splitlines()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.replace(
        "Z", "zombie"
    )


def test_it_is_told_everything(tmp_path, capfd):
    sinks = start("open_writer", tmp_path)
    sinks.metrics(7, {"loss": 0.5, "inf": float("inf")})
    sinks.evaluation(7, {"a": [1.0, 2.0]}, [3.0, 4.0], True)
    sinks.close("finished", {"eval/return": 1.5, "none": float("nan")}, {})
    settle()
    pid, *rest = calls(tmp_path)
    assert rest == [
        "metrics 7 {'loss': 0.5, 'inf': inf}",
        "evaluation 7 {'a': [1.0, 2.0]} True",
        "close finished {'eval/return': 1.5, 'none': None}",
    ]
    assert int(pid.split()[1]) != os.getpid()
    assert capfd.readouterr() == ("", "")  # what a package prints is its own business


@pytest.mark.parametrize(
    ("function", "sentence"),
    [("open_raising", "RuntimeError: no such project and more)"), ("open_dying", "the last words"), ("missing", "AttributeError")],
)
def test_a_failure_is_one_sentence(function, sentence, tmp_path):
    said = []
    sinks = start(function, tmp_path, said.append)
    sinks.metrics(1, {"a": 1.0})
    sinks.close("finished", {}, {})
    settle()
    assert len(said) == 1
    assert said[0].startswith(f"the sink mine failed and is left out from here on; training goes on ({sentence}")


def test_one_that_hangs_is_killed(tmp_path):
    said = []
    sinks = start("open_hanging", tmp_path, said.append)
    began = time.monotonic()
    sinks.close("finished", {}, {})
    settle(1.5)
    assert time.monotonic() - began < 4
    assert len(said) == 1
    assert "not done within" in said[0]
    pid = int(calls(tmp_path)[0].split()[1])
    until = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_alive(pid)


def test_one_whose_training_is_killed_ends_too(tmp_path):
    program = f"""
import os, time
from pathlib import Path
from agonist.sinks import *
from agonist.sinks.apart import open_apart
base = Path({str(tmp_path)!r})
sink = open_apart("foreign_sinks:open_writer", Beginning("run", {{}}), LogConfig(base_exp_path=str(base)))
sink.metrics(3, 0.0, {{"a": 1.0}})
while not (base / "calls").exists() or "metrics" not in (base / "calls").read_text():
    time.sleep(0.02)
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=20).returncode == 9
    until = time.monotonic() + 5
    while "close killed" not in "".join(calls(tmp_path)) and time.monotonic() < until:
        time.sleep(0.02)
    assert calls(tmp_path)[-1] == "close killed {}"

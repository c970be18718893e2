import os
import subprocess
import sys
import time

import pytest

from agonist.runs import process


def test_this_process_lives():
    assert process.is_alive(process.this_process(), heard=0.0)


def test_a_number_that_was_used_again_is_another_process():
    assert not process.is_alive({**process.this_process(), "started": "before"}, heard=time.time())


def test_a_killed_process_is_dead_even_before_its_parent_looks():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    seen = {**process.this_process(), "pid": child.pid, "started": process.started(child.pid)}
    assert process.is_alive(seen, heard=0.0)
    child.kill()
    until = time.time() + 5
    while process.is_alive(seen, heard=time.time()) and time.time() < until:
        time.sleep(0.01)
    assert not process.is_alive(seen, heard=time.time())
    child.wait()
    assert process.started(child.pid) != seen["started"]
    assert process.started(0) is process.started(-1) is None


def test_on_another_host_the_heartbeat_tells():
    other = {"host": "elsewhere", "pid": 1, "started": "x"}
    assert process.is_alive(other, heard=time.time() - 30)
    assert not process.is_alive(other, heard=time.time() - 61)


def test_a_record_without_a_process_is_dead():
    assert not process.is_alive({}, heard=0.0)
    assert not process.is_alive({"host": process.this_process()["host"], "pid": None}, heard=time.time())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no ps")
def test_the_way_of_macos_agrees():
    mine = process._started_ps(os.getpid())
    assert mine
    assert mine == process._started_ps(os.getpid())
    assert process._started_ps(2**22 + 12345) is None

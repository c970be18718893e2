"""The process that trains: what it is told, what it keeps off the output, and how it ends. Each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from agonist.hosts import member

TOLD = member.Member(1, 2, "127.0.0.1:1", 4, 60.0, "")
BEGIN = "import os, sys, time; from agonist import hosts; me = hosts.begin(); "


def began(code, note="", **environ):
    told = {member.VARIABLE: json.dumps(TOLD._replace(note=str(note))._asdict())}
    environ = {**{key: value for key, value in os.environ.items() if key != "AGONIST_TRACE"}, **told, **environ}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", BEGIN + code], env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def said(process):
    """All of it, its standard input open to the end."""
    with process:
        return process.stdout.read(), process.stderr.read(), process.wait(20)


def test_nobody_is_a_member_by_itself(monkeypatch):
    monkeypatch.delenv(member.VARIABLE, raising=False)
    assert member.begin() is None
    assert member.me() is None
    member.note("a run")  # for nobody
    with pytest.raises(SystemExit) as end:
        member.leave(3)
    assert end.value.code == 3


def test_it_knows_what_it_is_and_what_it_begins_is_none(tmp_path):
    code = "hosts.note('a-run'); name = 'AGONIST_HOSTS_MEMBER'; "
    code += "print(tuple(hosts.me())[:5], hosts.begin() is me, name in os.environ); hosts.leave(5)"
    out, _, code = said(began(code, note=tmp_path / "note"))
    assert code == 5
    assert out == "(1, 2, '127.0.0.1:1', 4, 60.0) True False\n"
    assert (tmp_path / "note").read_text() == "a-run"


NOISE = "os.write(1, b'[Gloo] Rank 0'); os.write(2, b'F1120 a page of it'); print('ours'); print('said', file=sys.stderr); hosts.leave(0)"


def test_what_is_below_python_says_nothing():
    assert said(began(NOISE)) == ("ours\n", "said\n", 0)


def test_but_with_a_trace_on_stderr():
    out, err, _ = said(began(NOISE, AGONIST_TRACE="1"))
    assert out == "ours\n"
    assert all(text in err for text in ("[Gloo] Rank 0", "F1120 a page of it", "said"))


def test_it_stops_when_it_is_told_and_not_by_a_signal():
    code = "print(hosts.stopping(), flush=True)\nwhile not hosts.stopping(): time.sleep(0.01)\nprint('stops'); hosts.leave(7)"
    process = began(code)
    assert process.stdout.readline() == "False\n"
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
    time.sleep(0.2)
    assert process.poll() is None
    process.stdin.write("stop\n")
    process.stdin.flush()
    assert said(process) == ("stops\n", "", 7)


def test_it_does_not_outlive_who_watches_over_it():
    process = began("print('here', flush=True); time.sleep(60)")
    assert process.stdout.readline() == "here\n"
    process.stdin.close()
    assert said(process)[2] == member.LOST

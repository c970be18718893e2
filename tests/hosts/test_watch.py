"""Who watches over the hosts, with processes that train nothing: what happens anywhere ends everywhere, with one code and one sentence."""

import json
import signal
import socket
import sys
import threading
import time
from importlib.metadata import version
from queue import SimpleQueue

import pytest

from agonist.hosts import detect, link, roll, watch
from agonist.hosts.detect import Company
from agonist.hosts.member import LOST
from agonist.hosts.roll import Job, Signalled

RUN = "20260101-000000-calm-otter"
BEGIN = "import json, os, pathlib, sys, time; me = json.loads(os.environ['AGONIST_HOSTS_MEMBER']);"
BEGIN += f"pathlib.Path(me['note']).write_text('{RUN}') if me['host'] == 0 else None;"
WAITS = BEGIN + "sys.exit(130 if sys.stdin.readline() == 'stop\\n' else 9)"


def ends(code, after=0.0):
    return BEGIN + f"time.sleep({after}); os._exit({code})"


def killed(number, after=0.2):
    return BEGIN + f"time.sleep({after}); os.kill(os.getpid(), {number})"


@pytest.fixture
def where():
    return f"127.0.0.1:{link.free_port('127.0.0.1')}"


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(watch, "WRITING", 0.3)
    monkeypatch.setattr(watch, "GRACE", 0.5)


class Host:
    """One host's watcher, in a thread."""

    def __init__(self, where, host, hosts=2, program=WAITS, keys=None, wait=10.0):
        command = [sys.executable, "-S", "-c", program]
        options = f"--coordinator {where} --hosts {hosts} --host K"
        self.job = Job(Company(where, hosts, host), command, keys or {"lr": "0.1"}, 2, wait, options)
        self.said, self.code, self.events = [], None, SimpleQueue()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        self.code = watch.supervise(self.job, self.said.append, self.events)

    def ended(self, within=15.0):
        self.thread.join(within)
        assert not self.thread.is_alive(), f"host {self.job.company.host} has not ended within {within} s"
        return self.code, self.said[-1] if self.said else ""


def both(*hosts):
    return [host.ended() for host in hosts]


def until(true, within=10.0):
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


HELPS = "host 1 of 2 helps host 0 at {}, which writes the run"
GO_ON = "All hosts have stopped; on each, this goes on from the last checkpoint: "
GO_ON += f"agonist train --resume {RUN} --coordinator {{}} --hosts 2 --host K"


def test_host_0s_end_is_everybodys(where):
    for code, others in ((0, ""), (1, "host 0 ended with exit code 1; its own words say why"), (130, "stopped; host 0 has saved the run")):
        zero, one = both(Host(where, 0, program=ends(code)), Host(where, 1))
        assert zero == (code, "")
        assert one == (code, others or HELPS.format(where))


def test_a_killed_process_ends_all_within_seconds(where):
    begun = time.monotonic()
    zero, one = both(Host(where, 0), Host(where, 1, program=killed(9)))
    assert time.monotonic() - begun < 5
    assert zero[0] == one[0] == 1
    assert "host 1 (" in zero[1]
    assert ") is gone: its training process was ended by SIGKILL, as when memory runs out. " + GO_ON.format(where) in zero[1]
    assert one[1] == zero[1]


def test_a_process_that_failed_is_told_from_those_that_lost_it(where):
    """Host 1's process only says that it lost somebody, first; the one that was killed is host 0's."""
    zero, one = both(Host(where, 0, program=killed(9, after=0.4)), Host(where, 1, program=ends(LOST, after=0.2)))
    assert zero[1].startswith("host 0 is gone: its training process was ended by SIGKILL")
    assert one == zero
    alone = both(Host(where, 0), Host(where, 1, program=ends(LOST)))
    assert "it could reach another host no more" in alone[0][1]


def test_a_process_with_words_of_its_own_is_pointed_to(where):
    zero, one = both(Host(where, 0), Host(where, 1, program=ends(2)))
    assert zero[0] == one[0] == 1
    assert "its training process ended with exit code 2; its own words say why" in zero[1]


def test_asked_on_any_host_all_stop(where):
    for k in (0, 1):
        hosts = Host(where, 0), Host(where, 1)
        until(lambda hosts=hosts: hosts[1].said)
        hosts[k].events.put(Signalled(signal.SIGINT))
        assert [host.ended()[0] for host in hosts] == [130, 130]
        assert watch.STOPPING in hosts[k].said
        assert hosts[1].said[-1] == "stopped; host 0 has saved the run"


def test_asked_twice_all_stop_at_once(where):
    deaf = BEGIN + "time.sleep(60)"
    for k in (0, 1):
        hosts = Host(where, 0, program=deaf), Host(where, 1, program=deaf)
        until(lambda hosts=hosts: hosts[1].said)
        for _ in range(2):
            hosts[k].events.put(Signalled(signal.SIGTERM))
        assert both(*hosts) == [(130, watch.AT_ONCE)] * 2


def test_asked_before_all_have_come(where):
    first = Host(where, 0, hosts=3), Host(where, 1, hosts=3)
    time.sleep(0.3)
    first[0].events.put(Signalled(signal.SIGINT))
    assert both(*first) == [(130, "stopped before training began")] * 2
    second = Host(where, 0, hosts=3), Host(where, 1, hosts=3)
    time.sleep(0.3)
    second[1].events.put(Signalled(signal.SIGINT))
    assert [code for code, _ in both(*second)] == [130, 130]


# who is not there, or not the right one


def test_a_coordinator_that_is_not_there(where):
    begun = time.monotonic()
    assert Host(where, 1, wait=1.0).ended() == (
        1,
        f"nobody answers at {where} after 1 s: start host 0 there, or allow more time with --wait",
    )
    assert 1 <= time.monotonic() - begun < 4


def test_hosts_that_do_not_come(where):
    zero, one = both(Host(where, 0, hosts=4, wait=1.5), Host(where, 1, hosts=4))
    assert zero == (1, f"hosts 2, 3 did not come to {where} within 1.5 s: start them, or allow more time with --wait")
    assert one == zero


def test_an_address_that_is_not_ours():
    assert Host("192.0.2.1:4567", 0).ended()[1].startswith("cannot listen at 192.0.2.1:4567: ")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "host 0's own address and a free port" in Host(f"127.0.0.1:{port}", 0).ended()[1]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"hosts": 3}, "was told of 3 hosts and host 0 of 2: say the same --hosts on all"),
        ({"host": 0}, "two say that they are host 0, on "),
        ({"keys": {"lr": "0.2"}}, "was told lr=0.2, host 0 lr=0.1: give all hosts the same words"),
        ({"keys": {"lr": "0.1", "gamma": "1"}}, "was told gamma=1, host 0 no gamma: give all hosts the same words"),
        ({"keys": {"lr": "x" * 5000}}, "was told lr=xxxx"),
    ],
)
def test_hosts_that_were_told_otherwise(where, other, sentence, monkeypatch):
    real = roll.hello
    if "host" in other:  # an option that would not come so far
        monkeypatch.setattr(roll, "hello", lambda job: real(job) | ({"host": 0} if job.company.host else {}))
    zero, one = both(Host(where, 0), Host(where, 1, **({} if "host" in other else other)))
    assert zero[0] == 2
    assert sentence in zero[1]
    assert len(zero[1]) < 400
    assert one == zero


def test_two_with_one_number(where):
    hosts = Host(where, 0, hosts=3), Host(where, 1, hosts=3), Host(where, 1, hosts=3)
    ends = both(*hosts)
    assert {code for code, _ in ends} == {2}
    assert all(said.startswith("two say that they are host 1, on ") and "from 0 to 2" in said for _, said in ends)


def test_another_version(where, monkeypatch):
    real = roll.hello
    older = {"agonist": version("agonist"), "jax": "0.4.1", "jaxlib": version("jaxlib")}
    monkeypatch.setattr(roll, "hello", lambda job: real(job) | ({"versions": older} if job.company.host else {}))
    zero, one = both(Host(where, 0), Host(where, 1))
    assert f"has jax 0.4.1, host 0 jax {version('jax')}: install the same on all" in zero[1]
    assert one == zero == (2, zero[1])


# what goes wrong on the way


def raw(where, *lines):
    """Somebody who speaks to host 0 by hand."""
    host, port = detect.address(where)
    other = link.connect(host, port, 5.0, lambda: False)
    for line in lines:
        other.sendall(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    return other


def hello_of(where, host=1, hosts=2):
    return roll.hello(Job(Company(where, hosts, host), [], {"lr": "0.1"}, 2, 1.0, ""))


def test_strangers_are_hung_up_on(where):
    """A browser, numbers, lists, a line without an end, a host that says no number: none of them is a host."""
    zero = Host(where, 0)
    endless = b"{" + b"x" * (link.LIMIT + 1)
    for strange in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"7\n",
        b"[[[]]]\n",
        b"[" * 60_000 + b"\n",
        endless,
        {"format": 1, "host": True, "hosts": 2},
        {},
    ):
        other = raw(where, strange)
        other.settimeout(5)
        assert other.recv(100) in (b"",)
        other.close()
    zero.events.put(Signalled(signal.SIGINT))
    assert zero.ended() == (130, "stopped before training began")


def test_no_crowd_of_silent_links_keeps_a_host_out(where, monkeypatch):
    monkeypatch.setattr(roll, "STRANGERS", 3)
    monkeypatch.setattr(roll, "HELLO", 0.5)
    zero = Host(where, 0)
    silent = [raw(where) for _ in range(8)]
    with raw(where, hello_of(where)) as other:
        assert b'"start"' in other.recv(4096)
    assert zero.ended(5)[0] == 1
    for link_of_a_stranger in silent:
        link_of_a_stranger.close()


def test_silent_links_are_hung_up_on_after_a_while(where, monkeypatch):
    monkeypatch.setattr(roll, "HELLO", 0.3)
    zero = Host(where, 0)
    with raw(where) as other:
        other.settimeout(5)
        assert other.recv(100) == b""
    zero.events.put(Signalled(signal.SIGINT))
    assert zero.ended() == (130, "stopped before training began")


def test_a_broken_link_is_a_host_that_is_gone(where):
    zero = Host(where, 0)
    other = raw(where, hello_of(where))
    assert b'"start"' in other.recv(4096)
    other.close()
    code, said = zero.ended(5)
    assert code == 1
    assert "is gone: its link broke; it was killed, or its network cut. All hosts have stopped" in said


def test_silence_is_a_host_that_is_gone(where, monkeypatch):
    monkeypatch.setattr(watch, "SILENT", 1.2)
    zero = Host(where, 0)
    with raw(where, hello_of(where)):
        assert "it has said nothing for 1.2 s" in zero.ended(8)[1]


def test_host_0_that_is_gone_is_missed_with_the_run_that_it_told(where, monkeypatch):
    """Its link breaks, or it is silent: each of the others says by itself how to go on."""
    monkeypatch.setattr(watch, "SILENT", 1.5)
    host, port = detect.address(where)
    for silent in (False, True):
        with link.listen(host, port) as server:
            one = Host(where, 1)
            zero, _ = server.accept()
        zero.sendall(json.dumps({"start": "127.0.0.1:1", "shards": 2}).encode() + b"\n" + json.dumps({"beat": RUN}).encode() + b"\n")
        until(lambda one=one: one.said)
        time.sleep(0.2)
        if not silent:
            zero.close()
        code, said = one.ended(8)
        assert code == 1
        assert said.startswith("host 0 is gone: it has said nothing" if silent else "host 0 is gone: its link broke")
        assert said.endswith(GO_ON.format(where))
        zero.close()


def test_what_answers_may_be_no_host(where, monkeypatch):
    monkeypatch.setattr(watch, "SILENT", 1.0)
    host, port = detect.address(where)
    for hangs_up in (True, False):
        with link.listen(host, port) as server:
            one = Host(where, 1)
            other, _ = server.accept()
            if hangs_up:
                other.close()
            code, said = one.ended(8)
            assert code == 1
            assert "is it another program?" in said
            other.close()


def test_an_end_that_is_no_number_is_taken_as_a_failure():
    assert watch._told({"end": "0", "why": "x\x1b[2J" + "y" * 5000}) == (1, "x[2J" + "y" * 1995)

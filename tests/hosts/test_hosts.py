"""Two hosts, that is two commands on this machine that meet on loopback: they train what two devices train, and end together."""

import json
import os
import signal
import subprocess
import sys
import time

import jax
import pytest

import agonist
from agonist import algos, envs, policies
from agonist.checkpoints import write_policy
from agonist.hosts import link
from agonist.runs import folder, process
from agonist.runs.store import open_store

KEYS = {"rollout": 16, "envs": 4, "hidden": [8], "eval_every": 1, "eval_episodes": 4, "epochs": 1, "seed": 3}
ENV = "matrix:climbing"
UPDATE = 64  # environment steps
FOR_EVER = "1e9"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("hosts")


@pytest.fixture(scope="module")
def partner(home):
    """The folder of a policy to play with."""
    config = algos.configure("ppo", {"hidden": [8]})
    algorithm = algos.make("ppo", config, envs.make(ENV).spec.roles[0])
    params = algorithm.policy(algorithm.init(jax.random.key(1)))
    return str(write_policy(home, policies.content(algorithm, config, params, {})))


class Pair:
    """`agonist train` on both hosts; host 1 has no store."""

    def __init__(self, home, *words):
        where = f"127.0.0.1:{link.free_port('127.0.0.1')}"
        self.home = home
        self.hosts = [self.begin(k, [*words, "--coordinator", where, "--hosts", "2", "--host", str(k), "--json"]) for k in (0, 1)]

    def begin(self, k, words):
        environ = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        environ |= {"AGONIST_STORE": str(self.home / ("store" if k == 0 else "none"))}
        command = [sys.executable, "-m", "agonist", "train", *words]
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def until_step(self, step):
        """Until the only run has come so far."""
        store, end = open_store(str(self.home / "store")), time.monotonic() + 120
        while True:
            rows = folder.list_runs(store)
            if rows and rows[0].get("steps", 0) >= step:
                return rows[0]["id"]
            assert [host.poll() for host in self.hosts] == [None, None], [host.communicate() for host in self.hosts]
            assert time.monotonic() < end
            time.sleep(0.1)

    def ended(self, within):
        """(code, what it printed, what it said) of both."""
        began = time.monotonic()
        try:
            return [(host.wait(max(0.1, within - (time.monotonic() - began))), *host.communicate()) for host in self.hosts]
        finally:
            for host in self.hosts:
                host.kill()


def checkpoints(store, run):
    """What a run's ledger says of its checkpoints: a hash of the whole state, each."""
    lines = (store / "runs" / run / "ledger.jsonl").read_text().splitlines()
    return [(line["step"], line["sha256"]) for line in map(json.loads, lines) if line["kind"] == "checkpoint"]


@pytest.fixture(scope="module")
def cut(home, partner):
    """A run on two hosts of which host 1's watcher is killed, which nobody can forbid it."""
    words = [f"{key}={str(value).replace(' ', '')}" for key, value in KEYS.items() if key != "seed"]
    pair = Pair(home, "ppo", ENV, *words, "--seed", "3", f"players.agents.1={partner}", "--steps", FOR_EVER)
    run = pair.until_step(2 * UPDATE)
    [trainer] = subprocess.check_output(["pgrep", "-P", str(pair.hosts[1].pid)], text=True).split()
    assert process.started(int(trainer))
    pair.hosts[1].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    ends = pair.ended(15)
    return run, ends, time.monotonic() - killed, int(trainer)


def test_a_host_that_is_killed_ends_all_with_a_sentence(home, cut):
    run, ends, seconds, trainer = cut
    assert seconds < 15
    assert [code for code, _, _ in ends] == [1, -signal.SIGKILL]
    assert [out for _, out, _ in ends] == ["", ""]
    last = ends[0][2].strip().splitlines()[-1]
    assert last.startswith("agonist: host 1 (")
    assert "is gone: its link broke; it was killed, or its network cut. All hosts have stopped; on each, this goes on" in last
    assert f"agonist train --resume {run} --coordinator 127.0.0.1:" in last
    assert "Traceback" not in ends[0][2] + ends[1][2]
    end = time.monotonic() + 10
    while process.started(trainer):
        assert time.monotonic() < end, "the process that trained has outlived the one that watched over it"
        time.sleep(0.1)
    assert "host 1 of 2 helps host 0 at 127.0.0.1:" in ends[1][2]


def test_two_hosts_are_two_devices_to_the_bit(home, partner, cut):
    """The run goes on on two hosts, is stopped on host 1, goes on in one process with two devices: its checkpoints are those of a run
    that never left one process."""
    run = cut[0]
    before = checkpoints(home / "store", run)[-1][0]
    pair = Pair(home, "--resume", run)
    pair.until_step(before + 3 * UPDATE)
    pair.hosts[1].send_signal(signal.SIGTERM)
    zero, one = pair.ended(30)
    assert (zero[0], one[0]) == (130, 130)
    assert zero[1] == one[1] == ""
    assert f"go on with: agonist train --resume {run}" in zero[2]
    assert one[2].strip().endswith("agonist: stopped; host 0 has saved the run")
    assert not (home / "none").exists()
    store = open_store(str(home / "store"))
    summary = folder.read_run(store, run)["summary"]
    assert summary["status"] == "interrupted"
    total = summary["steps"] + 2 * UPDATE
    agonist.train(resume=run, steps=total, store=store)
    straight = agonist.train("ppo", ENV, steps=total, store=str(home / "straight"), **KEYS, **{"players.agents.1": partner})
    told = checkpoints(home / "store", run)
    assert [step for step, _ in told] == list(range(0, total + 1, UPDATE))
    assert told == checkpoints(home / "straight", straight.id)

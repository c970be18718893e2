"""`agonist train` on several devices and hosts: its options, and what is refused before anything begins."""

import pytest

from agonist import assembly, devices, hosts
from agonist.cli import machines
from agonist.hosts import link, watch


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    monkeypatch.setattr(devices, "_wanted", None)
    for name in ("AGONIST_HOSTS", "AGONIST_HOST", "AGONIST_COORDINATOR", "JOB_COMPLETION_INDEX", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


def test_devices_are_as_many_as_are_asked_for(agonist, tiny, monkeypatch):
    """These tests have two. What they compute is the same (tests/test_loop.py)."""
    used = []
    real = assembly.layout
    monkeypatch.setattr(assembly, "layout", lambda shards: used.append(real(shards)) or used[-1])
    words = ["train", "ppo", "matrix:rps", *tiny[:-1], "--steps", "192", "--dry-run"]
    for options in (["--devices", 1], ["--devices", 2], []):
        assert agonist(*words, "shards=2", *options).code == 0
    assert [len(lay.devices) for lay in used] == [1, 2, 2]
    for n, shards, sentence in (
        (3, 2, "--devices 3 asks for more than there are, which is 2: ask for 1 or 2"),
        (2, 1, "--devices 2 does not divide shards=1: ask for 1, or set shards to a multiple of 2"),
        (0, 1, "--devices"),
    ):
        said = agonist(*words, f"shards={shards}", "--devices", n)
        assert said.code == 2
        assert sentence in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--coordinator a:1", "say how many with --hosts"),
        ("--hosts 2", "several hosts need --coordinator HOST:PORT"),
        ("--hosts 2 --coordinator a --host 0", "--coordinator is HOST:PORT, as in node1:4567, got 'a'"),
        ("--hosts auto", "--hosts auto finds no step of Slurm's here"),
        ("--hosts 2 --coordinator a:1 --host 0 --jobs 2", "--jobs 2 is for runs side by side, and --hosts for one run on all: give one"),
        ("--devices 2 --jobs 2", "--jobs 2 is for runs side by side, and --devices for one run on all: give one"),
        ("hosts=2", "hosts is an option and no key: write --hosts"),
    ],
)
def test_words_that_make_no_sense(agonist, words, sentence):
    said = agonist("train", "ppo", "matrix:rps", *words.split())
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_a_coordinator_that_is_not_there(agonist):
    where = f"127.0.0.1:{link.free_port('127.0.0.1')}"
    said = agonist("train", "ppo", "matrix:rps", "--coordinator", where, "--hosts", 2, "--host", 1, "--wait", 1)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"agonist: nobody answers at {where} after 1 s: start host 0 there, or allow more time with --wait\n"


def test_what_all_hosts_have_to_be_told_alike(agonist, monkeypatch):
    """The keys, wherever they were written, and how much of each host is used; not where its store is."""
    jobs = []
    monkeypatch.setattr(watch, "supervise", lambda job, say: jobs.append(job) or 7)
    where = ["--hosts", 2, "--host", 0, "--coordinator", "a:1", "--store", "/here", "--devices", 3]
    assert agonist("train", "ppo", "matrix:rps", "lr=1e-3", "shards=6", "--seeds", 2, *where).code == 7
    [job] = jobs
    assert job.keys == {"algo": "ppo", "env": "matrix:rps", "lr": "1e-3", "shards": "6", "--seeds": 2, "--devices": 3}
    assert (job.shards, job.wait, job.go_on) == (6, 60.0, "--store /here --coordinator a:1 --hosts 2 --host K")
    assert agonist("train", "--resume", "latest", "--steps", "1e6", *where[:3], 1, *where[4:6]).code == 7  # which needs no store
    assert jobs[1].keys == {"--resume": "latest", "steps": "1e6", "--devices": "all"}


def test_slurms_tasks_are_not_taken_for_hosts_unasked(agonist, tiny, monkeypatch):
    step = {"NTASKS": "", "STEP_NUM_TASKS": "2", "STEP_NODELIST": "n[1-2]", "PROCID": "1", "JOB_ID": "7", "STEP_ID": "0"}
    for name, value in step.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    said = agonist("train", "ppo", "matrix:rps", *tiny, "--dry-run")
    assert said.code == 0
    assert "Slurm began 2 tasks, and each trains a run of its own; --hosts auto trains one run on all of them" in said.err
    monkeypatch.setattr(watch, "supervise", lambda job, say: 7 if job.company == hosts.Company("n1:20217", 2, 1, "Slurm") else 8)
    assert agonist("train", "ppo", "matrix:rps", "--hosts", "auto").code == 7


def test_a_dry_run_asks_nobody(agonist, tiny):
    said = agonist("train", "ppo", "matrix:rps", *tiny, "--hosts", 2, "--host", 1, "--coordinator", "a:1", "--dry-run", "--json")
    assert said.code == 0
    assert said.json["updates"]


def test_on_a_single_host_nothing_is_watched(monkeypatch):
    alone = machines.read(None, None, "1", None, 60.0, None, 4)
    assert alone.alone
    told = []
    monkeypatch.setattr(devices, "prepare", told.append)
    machines.ready(alone, {}, lambda: 6)
    assert told == [6]

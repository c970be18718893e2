"""Sweeps at work: one program for all, every run as it would be alone, and nothing lost or doubled whatever stops it."""

import json
import logging
import os
import signal
import subprocess
import sys
import time

import jax
import pytest

import agonist
from agonist import api, hosts, specs, sweeps, training
from agonist.runs import folder, open_store, removal
from agonist.runs.folder import at
from agonist.sweeps import side_by_side, work
from agonist.sweeps.report import result_of

TINY = {"rollout": 8, "envs": 4, "hidden": [8], "eval_every": 2, "eval_episodes": 4, "epochs": 1, "minibatches": 1}
UPDATE = 32  # environment steps
RATES = [1e-3, 3e-3]


def swept(place, over=None, seeds=2, steps=8 * UPDATE, **more):
    over = {"lr": RATES} if over is None else over
    keys = {key: value for key, value in TINY.items() if key not in over}
    return api.sweep("ppo", "matrix:climbing", over=over, seeds=seeds, **{**keys, "steps": steps, "store": str(place), "jobs": 1, **more})


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("sweep"))


def files(run):
    """All that must not depend on who trained the run."""
    return run.store.get(at(run.id, "ledger.jsonl")), run.result["policy"], run.result["eval/return"]


def test_every_run_is_what_it_would_be_alone(sweep, tmp_path):
    for run in sweep.runs:
        alone = api.train(**{**run.spec, "store": str(tmp_path)})
        assert files(alone) == files(run)


def test_a_run_tells_its_sweep_and_the_sweep_its_runs(sweep):
    told = sweep.report
    assert [row["keys"]["lr"] for row in told["summary"]] == RATES
    assert [row["n"] for row in told["summary"]] == [2, 2]
    assert told["status"] == "finished"
    assert [each["seed"] for each in told["runs"]] == [0, 1, 0, 1]
    for run in sweep.runs:
        assert folder.read_head(run.store, run.id)["parents"] == [sweep.id]
    means = [sum(run.result["eval/return"] for run in sweep.runs[i : i + 2]) / 2 for i in (0, 2)]
    assert [row["mean"] for row in told["summary"]] == pytest.approx(means)
    final = folder.read_run(sweep.store, sweep.id)["summary"]["final"]
    assert final["eval/return"] == pytest.approx(max(means))
    assert final["runs"] == 4


def test_four_rates_compile_once(tmp_path, caplog):
    """The training program, whose function is called `chunk`: whatever else is small and compiles beside it."""
    jax.config.update("jax_log_compiles", True)
    try:
        with caplog.at_level(logging.WARNING, logger="jax"):
            swept(tmp_path, over={"lr": [1e-4, 3e-4, 1e-3, 3e-3]}, seeds=1, steps=2 * UPDATE, rollout=16)
    finally:
        jax.config.update("jax_log_compiles", False)
    compiled = [record.message for record in caplog.records if record.message.startswith("Finished XLA compilation of jit(chunk)")]
    assert len(compiled) == 1, compiled


def test_what_changes_the_program_is_told_from_what_does_not():
    def shape(**keys):
        return training.shape(specs.resolve({"algo": "ppo", "env": "lighthouse:2x2", **keys}))

    plain = shape()
    for keys in ({"lr": 0.1}, {"seed": 3}, {"steps": 1e5}, {"gamma": 0.5}, {"use_json": True}, {"roles.ship.lr": 0.1}):
        assert shape(**keys).keys() - {"roles.ship.lr"} == plain.keys(), keys
        assert {key: value for key, value in shape(**keys).items() if key in plain} == plain, keys
    for keys in ({"hidden": [8]}, {"envs": 8}, {"env.settings": 1}, {"players.ship": "random"}, {"roles.ship.hidden": [8]}, {"epochs": 2}):
        assert shape(**keys) != plain, keys


def test_values_that_change_the_program_are_refused_in_one_program(tmp_path):
    given = {"algo": "ppo", "env": "matrix:climbing", **TINY}
    jobs = [training.Job(specs.resolve({**given, "hidden": hidden})) for hidden in ([8], [16])]
    with pytest.raises(ValueError, match=r"differ in numbers that are data, and not in hidden: these change the program"):
        training.train(open_store(str(tmp_path)), jobs, training.Watch())
    assert not list(open_store(str(tmp_path)).folders("runs/"))


def test_programs_that_differ_train_side_by_side_and_to_the_bit(tmp_path):
    said = []
    both = swept(tmp_path / "both", {"hidden": [[8], [16]], "lr": RATES}, jobs=2, seeds=1, on_progress=said.append)
    alone = swept(tmp_path / "alone", {"hidden": [[8], [16]], "lr": RATES}, seeds=1)
    assert [files(run) for run in both.runs] == [files(run) for run in alone.runs]
    assert {one.run for one in said} == {run.id for run in both.runs}
    assert {one.label for one in said} == {f"hidden=[{width}] lr={lr:g} seed 0" for width in (8, 16) for lr in RATES}


def test_a_run_that_fails_stops_no_other(tmp_path):
    found = swept(tmp_path, over={"lr": [1e30, 1e-3]}, seeds=1, max_grad_norm=1e30)
    bad, good = found.report["summary"]
    assert (bad["failed"], bad["n"], good["failed"], good["n"]) == (1, 0, 0, 1)
    assert [run.result["status"] for run in found.runs] == ["failed", "finished"]


def test_halving_goes_on_with_the_best(tmp_path):
    rates = [1e-5, 1e-4, 3e-3, 1e-2]
    found = swept(tmp_path, {"lr": rates}, seeds=1, steps=16 * UPDATE, method="halving", trials=4, eta=2)
    plan = sweeps.plan_in(found.store, found.id)
    assert plan.rungs == (128, 256, 512)
    reached = sorted(run.result["steps"] for run in found.runs)
    assert reached == [128, 128, 256, 512]
    rungs = [event for event in folder.read_events(found.store, found.id) if event["kind"] == "rung"]
    assert [len(event["goes_on"]) for event in rungs] == [2, 1]
    for event in rungs:
        best = sorted(event["scores"].values(), reverse=True)[: len(event["goes_on"])]
        assert sorted((event["scores"][label] for label in event["goes_on"]), reverse=True) == best
    assert json.dumps(api.sweep(resume=found, store=str(tmp_path)).report) == json.dumps(found.report)


def test_halving_that_is_stopped_keeps_its_choice(tmp_path):
    rates = [1e-5, 1e-4, 3e-3, 1e-2]
    how = {"over": {"lr": rates}, "seeds": 1, "steps": 16 * UPDATE, "method": "halving", "trials": 4, "eta": 2}

    def stop(progress):
        if progress.step == 384 and progress.phase == "training":  # on the last rung
            raise KeyboardInterrupt

    with pytest.raises(training.Interrupted) as stopped:
        swept(tmp_path / "stopped", **how, on_progress=stop)
    again = api.sweep(resume=stopped.value.run, store=str(tmp_path / "stopped"))
    straight = swept(tmp_path / "straight", **how)
    assert [files(run) for run in again.runs] == [files(run) for run in straight.runs]


# stopped


def words_of(place, values):
    keys = [f"{key}={value}".replace(" ", "") for key, value in TINY.items() if key not in values]
    words = ["train", "ppo", "matrix:climbing", values, *keys, "--seeds", "2", "--steps", str(80 * UPDATE)]
    return [sys.executable, "-m", "agonist", *words, "--store", str(place), "--json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("number", "values"), [(signal.SIGKILL, "lr=1e-3,3e-3"), (signal.SIGINT, "hidden=[8],[16]")])
def test_a_sweep_that_is_stopped_goes_on_where_it_was(tmp_path, number, values):
    """Here by one process, and by two side by side."""
    words = words_of(tmp_path, values)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    store = open_store(str(tmp_path))
    while process.poll() is None and len(list(store.list("runs/"))) < 60:
        time.sleep(0.005)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    [row] = [row for row in folder.list_runs(store) if row["kind"] == "sweep"]
    assert row["status"] == "interrupted", said
    assert number == signal.SIGKILL or f"agonist train --resume {row['id']}" in said
    done = subprocess.run(
        [sys.executable, "-m", "agonist", "train", "--resume", row["id"], "--store", str(tmp_path), "--json"],
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert [each["status"] for each in told["runs"]] == ["finished"] * 4
    assert len(list(store.folders("runs/"))) == 5
    over = {"lr": RATES} if "lr" in values else {"hidden": [[8], [16]]}
    straight = swept(tmp_path / "straight", over, steps=80 * UPDATE)
    again = [api.Run(each["run"], store) for each in told["runs"]]
    assert [files(run) for run in again] == [files(run) for run in straight.runs]


def test_a_worker_whose_sweep_is_gone_ends_at_once(sweep):
    order = {"store": sweep.store.url, "sweep": sweep.id, "trials": [0], "steps": 10**6, "shards": 2, "group": "g"}
    worker = subprocess.Popen([sys.executable, "-m", "agonist.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker.stdin.write(json.dumps(order) + "\n")
    worker.stdin.close()
    assert worker.wait(20) == 1


def test_a_promised_run_is_waiting_until_it_begins(tmp_path):
    assert result_of(open_store(str(tmp_path)), "s-1") == {"run": "s-1", "status": "waiting", "steps": 0}


@pytest.mark.parametrize(
    ("groups", "trials", "shards", "jobs", "cores", "expected"),
    [
        (1, 10, 2, None, 2, 1),  # one program fills the machine
        (1, 10, 2, None, 16, 8),
        (3, 6, 2, None, 2, 2),  # programs that differ: a core each
        (1, 3, 2, None, 16, 3),  # no more than there is work
        (1, 10, 2, 4, 2, 4),  # as asked
    ],
)
def test_processes_as_the_cores_allow(monkeypatch, groups, trials, shards, jobs, cores, expected):
    monkeypatch.setattr(work.devices, "cores", lambda: cores)
    monkeypatch.setattr(work.devices, "accelerated", lambda: False)
    assert work.shared_out(groups, trials, shards, jobs) == expected


def test_an_accelerator_has_one_process(monkeypatch):
    monkeypatch.setattr(work.devices, "accelerated", lambda: True)
    assert work.shared_out(3, 30, 2, None) == 1


# what goes wrong


def test_what_cannot_be_is_found_before_anything_is_written(tmp_path):
    for over, sentence in (
        ({"env": ["matrix:climbing", "matrix:nope"]}, r"matrix:nope seed 0: "),
        ({"minibatches": [1, 3]}, r"minibatches=3 seed 0: need minibatches to divide"),
        ({"players.agents.1": ["random", "learner"]}, r"players\.agents\.1=learner seed 0: "),
    ):
        keys = {"algo": "ppo", "env": "matrix:climbing", **TINY, "steps": 64}
        plan = sweeps.make_plan({key: value for key, value in keys.items() if key not in over}, over)
        with pytest.raises(ValueError, match=sentence):
            sweeps.begin(open_store(str(tmp_path)), plan)
    with pytest.raises(ValueError, match=r"the first rung of this halving is 16 steps, less than one update, which is 32"):
        swept(tmp_path, {"lr": [1e-3, 2e-3, 3e-3, 4e-3]}, method="halving", trials=4, eta=2, steps=64)
    assert not list(open_store(str(tmp_path)).folders("runs/"))


def test_a_program_that_cannot_begin_stops_no_other(tmp_path, monkeypatch):
    real = training.jobs.begin

    def begin(store, job, made, watch):
        if job.spec.config.hidden == (16,):
            raise RuntimeError("boom\nsecond line")
        return real(store, job, made, watch)

    monkeypatch.setattr(training.jobs, "begin", begin)
    told = swept(tmp_path, {"hidden": [[16], [8]]}, seeds=1).report
    assert (told["status"], told["problems"]) == ("failed", ["hidden=[16] seed 0: RuntimeError: boom second line"])
    assert [each["status"] for each in told["runs"]] == ["waiting", "finished"]
    monkeypatch.undo()
    again = api.sweep(resume=told["sweep"], store=str(tmp_path)).report
    assert (again["status"], again["problems"]) == ("finished", [])
    assert [each["status"] for each in again["runs"]] == ["finished", "finished"]


def test_what_failed_is_tried_again(tmp_path, monkeypatch):
    found = swept(tmp_path, over={"lr": [1e30, 1e-3]}, seeds=1, max_grad_norm=1e30)
    bad = found.runs[0].id
    assert "no number" in found.report["runs"][0]["why"] or "nan" in found.report["runs"][0]["why"]
    events = len(folder.read_events(found.store, bad))
    again = api.sweep(resume=found, store=str(tmp_path)).report
    assert len(folder.read_events(found.store, bad)) > events
    assert again["summary"][0]["failed"] == 1


def test_a_run_of_that_id_that_is_somebody_elses_is_not_taken(tmp_path):
    other = api.train("ppo", "matrix:climbing", **TINY, steps=64, store=str(tmp_path))
    job = training.Job(specs.resolve({"algo": "ppo", "env": "matrix:climbing", **TINY, "steps": 640}), other.id, ("some-sweep",))
    with pytest.raises(ValueError, match=rf"run {other.id} is there already and is none of some-sweep"):
        training.train(other.store, [job], training.Watch())
    assert other.result["steps"] == 64


def test_a_deleted_run_is_left_alone_and_counted_as_such(tmp_path):
    found = swept(tmp_path, seeds=1)
    removal.delete(found.store, removal.plan(found.store, [found.runs[0].id]), 1e6)
    told = api.sweep(resume=found, store=str(tmp_path)).report
    assert [(row["n"], row["deleted"], row["waiting"]) for row in told["summary"]] == [(0, 1, 0), (1, 0, 0)]


def test_objects_train_in_this_process(tmp_path):
    env = agonist.make("matrix:climbing")
    keys = {**TINY, "hidden": [8], "store": str(tmp_path), "steps": 64, "shards": 1, "jobs": 2}
    assert [run.result["status"] for run in api.sweep("ppo", env, over={"lr": RATES}, **keys).runs] == ["finished"] * 2


def test_a_worker_that_is_killed_or_prints_is_told_of_in_a_sentence(tmp_path, monkeypatch):
    """By a worker that is another program: it prints what is no JSON below Python, and then is killed."""
    script = "import os, sys, signal; sys.stdin.readline(); os.write(1, b'hello'); os.kill(os.getpid(), signal.SIGKILL)"
    real = subprocess.Popen
    monkeypatch.setattr(side_by_side.subprocess, "Popen", lambda words, **keys: real([sys.executable, "-c", script], **keys))
    told = swept(tmp_path, {"hidden": [[8], [16]]}, seeds=1, jobs=2).report
    assert told["status"] == "failed"
    sentence = f"a process of the sweep was killed by signal 9; its runs go on with: agonist train --resume {told['sweep']}"
    assert told["problems"] == [sentence] * 2


def test_a_host_that_is_lost_ends_the_sweep(tmp_path, monkeypatch):
    """It is no fault of one program, after which the others could train."""

    def lost(*args):
        raise hosts.Lost("host 1 is gone")

    monkeypatch.setattr(training, "train", lost)
    with pytest.raises(hosts.Lost):
        swept(tmp_path, {"hidden": [[8], [16]]}, seeds=1)
    [row] = folder.list_runs(open_store(str(tmp_path)))
    assert row["status"] == "interrupted"


def test_halving_gives_up_nobody_for_want_of_a_result(tmp_path, monkeypatch):
    """A program that could not be trained on the first rung: nothing is chosen before it was."""
    real = training.jobs.begin

    def begin(store, job, made, watch):
        if job.spec.config.hidden == (16,):
            raise RuntimeError("boom")
        return real(store, job, made, watch)

    monkeypatch.setattr(training.jobs, "begin", begin)
    found = swept(tmp_path, {"hidden": [[16], [8]]}, seeds=1, method="halving", trials=2, eta=2)
    assert not [event for event in folder.read_events(found.store, found.id) if event["kind"] == "rung"]
    monkeypatch.undo()
    again = api.sweep(resume=found, store=str(tmp_path))
    [rung] = [event for event in folder.read_events(again.store, again.id) if event["kind"] == "rung"]
    assert len(rung["scores"]) == 2
    assert again.report["status"] == "finished"

"""Training as a run: what was cut short goes on to the bit, what fails says why, and every result is of what it names."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import algos, api, assembly, envs, training
from agonist.runs import folder, open_store, segments
from agonist.runs.folder import at
from agonist.testing import stairs
from agonist.training import Interrupted, TrainingFailed
from agonist.trees import flatten

TINY = {"rollout": 8, "envs": 4, "hidden": [8], "eval_every": 2, "eval_episodes": 4, "epochs": 1, "minibatches": 1}
UPDATE = 32  # environment steps
WHAT = {"algo": "ppo", "env": "lighthouse:3x2", "players.keeper": "random", **TINY}
LONG = 120  # updates


def trained(place, updates, seed=4, **more):
    return api.train(**{**WHAT, "steps": updates * UPDATE, "seed": seed, "store": str(place), **more})


def outcome(run):
    """All that must not depend on how often a run was cut short."""
    points = segments.read(run.store, at(run.id, "metrics/"))
    infos = [info for info in folder.checkpoints(run.store, run.id) if not info.interim]
    kept = ("status", "steps", "policy", "policy_last", "best_step", "eval/return", "eval/interval", "eval/episodes", "eval/play")
    return {
        "ledger": run.store.get(at(run.id, "ledger.jsonl")),
        "metrics": segments.canonical_bytes(points),
        "checkpoints": [(info.name, info.policy_names, info.facts) for info in infos],
        "result": {key: run.result[key] for key in kept},
    }


def check_same(run, other):
    """Part by part, so that what differs is seen."""
    ours, theirs = outcome(run), outcome(other)
    assert ours["result"] == theirs["result"]
    assert ours["checkpoints"] == theirs["checkpoints"]
    assert ours["ledger"].splitlines() == theirs["ledger"].splitlines()
    assert ours == theirs


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run of 120 updates that nothing happened to."""
    return trained(tmp_path_factory.mktemp("straight"), LONG)


def refused(call, *args, kind=ValueError, **keys):
    with pytest.raises(kind, match=r".") as error:
        call(*args, **keys)
    assert "\n" not in str(error.value)
    return str(error.value)


# cut short


def test_a_finished_run_that_is_extended_is_a_straight_one(straight, tmp_path):
    """Between two evaluation points, at one, and to the end; asked again it does nothing."""
    run = trained(tmp_path, 7)
    short = run.result
    for updates in (7, 20, LONG):
        run = api.train(resume=run, steps=updates * UPDATE, store=str(tmp_path))
        assert run.result["steps"] == updates * UPDATE
        assert updates != 7 or run.result == short
    check_same(run, straight)


class Child:
    """The command line at work on a run, in a process of its own."""

    def __init__(self, place, run_id=None):
        keys = [f"{key}={value}".replace(" ", "") for key, value in WHAT.items() if key not in ("algo", "env")]
        words = ["--resume", run_id] if run_id else [WHAT["algo"], WHAT["env"], *keys, "--seed", "4"]
        words = [sys.executable, "-m", "agonist", "train", *words, "--steps", str(LONG * UPDATE), "--store", str(place), "--json"]
        self.store, self.run_id = open_store(str(place)), run_id
        self.before = self.checkpoints()
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def checkpoints(self):
        return len(list(self.store.folders(at(self.run_id, "checkpoints/")))) if self.run_id else 0

    def begin(self):
        """Wait until it trains."""
        while self.process.poll() is None and self.checkpoints() <= self.before:
            time.sleep(0.005)
            self.run_id = self.run_id or next(self.store.folders("runs/"), None)

    def stop(self, number):
        self.process.send_signal(number)
        said = self.process.communicate(timeout=120)[1]
        return self.process.returncode, said


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_killed_and_interrupted_at_any_instant_it_goes_on_to_the_bit(straight, tmp_path):
    """Two kills -9 and a Ctrl-C of real processes at moments that nobody chose, each resumed."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    chance, run_id, ends = random.Random(seed), None, []
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        child = Child(tmp_path, run_id)
        child.begin()
        time.sleep(chance.uniform(0, 0.5))
        code, said = child.stop(number)
        ends.append(code)
        run_id = child.run_id
        assert code in (-signal.SIGKILL, 130, 0), said
        if code == 130:
            assert f"go on with: agonist train --resume {run_id}" in said
            assert api.show_run(run_id, str(tmp_path))["summary"]["status"] == "interrupted"
    print(f"ends {ends}")
    assert -signal.SIGKILL in ends
    run = api.train(resume=run_id, steps=LONG * UPDATE, store=str(tmp_path))
    check_same(run, straight)


def stop_at(step):
    """A watcher who presses Ctrl-C once the run has come to a step."""
    pressed = []

    def watch(progress):
        if progress.step >= step and progress.phase == "training" and not pressed:
            pressed.append(progress.step)
            signal.raise_signal(signal.SIGINT)

    return watch


def test_ctrl_c_keeps_the_chunk_that_is_under_way(straight, tmp_path):
    with pytest.raises(Interrupted, match=r"stopped at step 320; go on with: agonist train --resume ") as stopped:
        trained(tmp_path, LONG, on_progress=stop_at(320))
    run_id, store = stopped.value.run, str(tmp_path)
    assert stopped.value.step == 320
    before = api.show_run(run_id, store)
    assert before["summary"]["status"] == "interrupted"
    sentence = refused(api.train, resume=run_id, steps=2 * UPDATE, store=store)
    assert sentence == f"run {run_id} has come to step 320; --steps is the total, and 64 is less"
    assert api.show_run(run_id, store) == before  # nothing was touched
    run = api.train(resume=run_id, store=store)  # to what it was told at first
    check_same(run, straight)
    assert refused(api.train, resume=run, steps=64, store=store).endswith("has come to step 3,840; --steps is the total, and 64 is less")
    assert run.result["status"] == "finished"


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    def watch(progress):
        if progress.step == 64:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted):
        trained(tmp_path, LONG, on_progress=watch)
    assert signal.getsignal(signal.SIGINT) is before
    [row] = api.list_runs(str(tmp_path))
    assert row["status"] == "interrupted"
    assert [event["kind"] for event in folder.read_events(open_store(str(tmp_path)), row["id"])][-1] == "interrupted"


# failing


@pytest.fixture
def spoiled(monkeypatch):
    """From its fourth update on the learner is at fault: with gamma=0.5 its loss is nan, with another its parameters are infinite
    although the losses, which are of before the step, are still numbers."""
    make = algos.make

    def made(*args):
        algorithm = make(*args)

        def update(state, batch, key):
            after, told, priorities = algorithm.update(state, batch, key)
            late, loss = state.updates >= 3, state.rates["gamma"] == 0.5
            params = jax.tree.map(lambda leaf: jnp.where(late & ~loss, jnp.inf, leaf), after.params)
            told = {**told, "loss/value": jnp.where(late & loss, jnp.nan, told["loss/value"])}
            return after._replace(params=params), told, priorities

        return replace(algorithm, update=update)

    monkeypatch.setattr(algos, "make", made)


@pytest.mark.parametrize(("gamma", "why"), [(0.5, "loss/value is nan at update 4 (step 128)"), (0.9, "actor/")])
def test_what_is_no_number_fails_the_run_and_leaves_the_last_good_checkpoint(spoiled, tmp_path, gamma, why):
    sentence = refused(trained, tmp_path, 12, kind=TrainingFailed, gamma=gamma)
    assert sentence.startswith(why)
    assert "step 128" in sentence
    assert "is marked as failed and keeps its checkpoint of step 64. A smaller lr or max_grad_norm often helps" in sentence
    [row] = api.list_runs(str(tmp_path))
    assert (row["status"], row["checkpoint"]["step"]) == ("failed", 64)
    store = open_store(str(tmp_path))
    assert folder.read_events(store, row["id"])[-1]["why"].startswith(why)
    content = folder.load_checkpoint(store, row["id"])
    assert content.info.step == 64
    assert all(np.isfinite(array).all() for array in content.state.values() if array.dtype.kind == "f")
    policy = api.load_policy(f"{row['id']}@last", str(tmp_path))
    assert policy.player().act(np.zeros((1, 10))).shape == (1,)


def test_a_failed_run_goes_on_when_the_fault_is_gone(spoiled, straight, tmp_path, monkeypatch):
    refused(trained, tmp_path, LONG, kind=TrainingFailed)
    monkeypatch.undo()
    [row] = api.list_runs(str(tmp_path))
    check_same(api.train(resume=row["id"], store=str(tmp_path)), straight)


def test_a_fault_on_the_way_is_told_by_the_run(tmp_path):
    """A watcher that fails is no reason to leave the run as if it went on."""

    def watch(step, values):
        if step >= 64:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trained(tmp_path, 12, on_metrics=watch)
    [row] = api.list_runs(str(tmp_path))
    assert row["status"] == "failed"
    assert "KeyError: 'mine'" in folder.read_events(open_store(str(tmp_path)), row["id"])[-1]["why"]


# counting


def test_steps_are_rounded_down_to_whole_updates():
    assert [training.whole_updates(steps, 32) for steps in (32, 33, 63, 64, 10**12 + 31)] == [32, 32, 32, 64, 10**12]
    sentence = refused(training.whole_updates, 31, 32)
    assert sentence == "steps=31 is less than one update, which is 32 environment steps here (envs x rollout)"


def test_too_few_steps_are_refused_before_a_run_is_made(tmp_path):
    assert refused(trained, tmp_path, 0).startswith("steps=0 is less than one update, which is 32 environment steps here")
    assert api.list_runs(str(tmp_path)) == []


def test_only_training_goes_on(tmp_path):
    from agonist.runs import create

    other = create(open_store(str(tmp_path)), "evaluate", {}, argv=[])
    assert refused(api.train, resume=other.id, store=str(tmp_path)) == f"run {other.id} is of kind 'evaluate': only training goes on"


# results


def test_the_best_policy_is_that_of_the_best_evaluations(straight):
    """The mean of three of them, and of equals the later."""
    steps, _, values = straight.metrics("eval/return")["eval/return"]
    assert list(steps) == [2 * UPDATE * i for i in range(LONG // 2 + 1)]
    judged = [float(np.mean(values[max(0, i - training.WINDOW + 1) : i + 1])) for i in range(len(values))]
    result, best = straight.result, int(steps[max(range(len(values)), key=lambda i: (judged[i], i))])
    assert result["best_step"] == best
    at_best = next(info for info in folder.checkpoints(straight.store, straight.id) if info.step == best)
    assert result["policy"] == at_best.policy_names["ship"] == straight.policy().name
    assert result["policy_last"] == straight.policy("last").name
    assert straight.policy(str(best)).name == result["policy"]
    assert straight.policy().provenance["step"] == best


def test_the_result_names_what_was_played(straight):
    result = straight.result
    assert (result["eval/episodes"], result["eval/play"]) == (40, "sampled")
    low, high = result["eval/interval"]
    assert low < result["eval/return"] < high
    assert result["eval/return/ship"] == result["eval/return"]
    assert set(straight.metrics()) >= {
        "loss/policy",
        "train/return",
        "train/return/keeper",
        "eval/return_low",
        "perf/env_steps_per_second",
    }


def test_watchers_are_told_what_the_store_is_told(tmp_path):
    said, seen = [], {}

    def measured(step, values):
        for name, value in values.items():
            seen.setdefault(name, []).append((step, value))

    run = trained(tmp_path, 5, on_metrics=measured, on_progress=said.append)
    for name, (steps, _, values) in run.metrics().items():
        assert seen.pop(name) == list(zip(steps.tolist(), values.tolist(), strict=True)), name
    assert seen == {}
    phases = ["compiling", "training", "training", "training", "training", "final evaluation", "finished"]
    assert [(one.phase, one.step) for one in said] == list(zip(phases, (0, 0, 64, 128, 160, 160, 160), strict=True))
    assert {one.total for one in said} == {160}
    assert {one.run for one in said} == {run.id}
    assert [one.evaluated for one in said] == [None, 0, 64, 128, 128, 128, 128]


# from the host


def test_a_host_run_restores_its_learner_and_says_that_its_episodes_began_anew(monkeypatch, tmp_path):
    monkeypatch.setattr(envs, "named", lambda name: name)
    monkeypatch.setattr(envs, "built", lambda name, options: stairs.Hosted())
    keys = {**TINY, "algo": "ppo", "env": "stairs", "players.guide": "random", "store": str(tmp_path)}
    run = api.train(**keys, steps=4 * UPDATE)
    kept, begun, real = folder.load_checkpoint(run.store, run.id), [], assembly.assemble

    def watched(*args):
        made = real(*args)

        def learn(state, *rest):
            begun.append(state)
            return made.program.learn(state, *rest)

        return made._replace(program=made.program._replace(learn=learn))

    monkeypatch.setattr(assembly, "assemble", watched)
    again = api.train(resume=run, steps=8 * UPDATE, store=str(tmp_path))
    assert again.result["steps"] == 8 * UPDATE
    assert [event["kind"] for event in folder.read_events(run.store, run.id)].count("episodes_restarted") == 1
    [state] = begun
    restored = flatten(state)
    assert set(restored) == set(kept.state)
    assert not [name for name in restored if name.startswith("workers")]
    for name, array in kept.state.items():
        np.testing.assert_array_equal(restored[name], array)
    assert [info.step for info in folder.checkpoints(run.store, run.id)] == [0, 64, 128, 192, 256]

"""marl-eval's experiment file: its schema to the letter, many writers at once, killed writers, runs taken up again, files of others."""

import json
import subprocess
import sys
import time

import pytest

from agonist.sinks import Beginning, LogConfig
from agonist.sinks.marl_eval import address, elapsed_in, merged, open_json, part_of
from agonist.sinks.paths import locked
from agonist.sinks.records import Evaluation


def load(told):
    return json.loads((told.base / "metrics.json").read_text())


def check_schema(tree, seeds=None):
    """environment > task > algorithm > run > step_<k> | absolute_metrics, as marl-eval's README and its DiagnoseData ask."""
    for tasks in tree.values():
        for algorithms in tasks.values():
            for name, runs in algorithms.items():
                assert "," not in name
                for run, steps in runs.items():
                    assert run.startswith("seed_")
                    counts = [values["step_count"] for key, values in steps.items() if key != "absolute_metrics"]
                    assert [key for key in steps if key != "absolute_metrics"] == [f"step_{k}" for k in range(len(counts))]
                    assert counts == sorted(set(counts))
                    keys = {frozenset(values) - {"step_count"} for values in steps.values()}
                    assert len(keys) == 1, "every step has the same metrics"
                    for key, values in steps.items():
                        assert ("step_count" in values) == (key != "absolute_metrics")
                        lists = {len(value) for metric, value in values.items() if metric not in ("step_count", "elapsed_time")}
                        assert lists <= {1, 20 if key == "absolute_metrics" else 2}
                if seeds:
                    assert sorted(runs) == sorted(f"seed_{seed}" for seed in seeds)


def test_the_schema(told):
    told("json")
    tree = load(told)
    check_schema(tree, [3])
    run = tree["lbf"]["2s-8x8"]["ppo"]["seed_3"]
    assert list(run) == ["step_0", "step_1", "step_2", "step_3", "absolute_metrics"]
    elapsed = run["step_1"].pop("elapsed_time")
    assert 0 <= elapsed < 5
    assert run["step_1"] == {"step_count": 128, "steps_per_second": [1000.0], "mean_episode_return": [1, 3]}
    assert run["step_0"]["steps_per_second"] == [0.0]
    assert run["absolute_metrics"]["mean_episode_return"] == [4, 8] * 10


def test_a_win_rate_where_there_is_one_and_whose_return(tmp_path):
    sink = open_json(
        Beginning("run", {"algo": "a", "env": "e:t", "seed": 1}, role="prey", time=100.0, seconds=20.0), LogConfig(str(tmp_path))
    )
    sink.metrics(64, 1.0, {"eval/win_rate": 0.75, "eval/return": 9.0, "loss/policy": 1.0})
    sink.evaluation(Evaluation(64, 130.0, {"predator": [1.0], "prey": [2.0, 3.0]}, [5, 5], False))
    sink.flush()
    step = json.loads((tmp_path / "metrics.json").read_text())["e"]["t"]["a"]["seed_1"]["step_0"]
    wanted = {"step_count": 64, "elapsed_time": 50.0, "steps_per_second": [0.0], "win_rate": [0.75], "mean_episode_return": [2.0, 3.0]}
    assert step == wanted


@pytest.mark.parametrize(
    ("spec", "label", "place"),
    [
        ({"algo": "ppo", "env": "lbf:2s-8x8", "seed": 3}, "", ("lbf", "2s-8x8", "ppo", "seed_3")),
        ({"algo": "ppo", "env": "predator-prey", "seed": 0}, "", ("predator-prey", "predator-prey", "ppo", "seed_0")),
        ({"algo": "ppo", "env": "a:b:c", "seed": 0}, "lr=0.1", ("a", "b:c", "ppo lr=0.1", "seed_0")),
        ({"algo": "ppo", "env": "a:b"}, "hidden=[8,8]", ("a", "b", "ppo hidden=[8;8]", "seed_0")),
    ],
)
def test_where_a_run_stands(spec, label, place):
    assert address(Beginning("run", spec, label=label)) == place


def test_a_run_taken_up_again_has_all_steps_once(told):
    told("json", last=1, absolute=False)  # killed before it wrote step 256
    told("json", behind=2, last=4, seconds=50.0)
    tree = load(told)
    check_schema(tree)
    run = tree["lbf"]["2s-8x8"]["ppo"]["seed_3"]
    assert [run[f"step_{k}"]["step_count"] for k in range(5)] == [0, 128, 256, 384, 512]
    assert [run[f"step_{k}"]["steps_per_second"] for k in range(5)] == [[1000.0 * k] for k in range(5)]
    assert [run[f"step_{k}"]["mean_episode_return"] for k in range(5)] == [[k, k + 2] for k in range(5)]
    elapsed = [run[f"step_{k}"]["elapsed_time"] for k in range(5)]
    assert elapsed[0] <= elapsed[1] < 5  # as the file had them
    assert elapsed[2] == 50  # reckoned back from the time that the run had taken
    assert 50 <= elapsed[3] <= elapsed[4] < 60


def test_a_fresh_run_takes_the_place_of_an_earlier_one_and_no_others(told):
    told("json", last=5)
    told("json", spec={"algo": "ppo", "env": "lbf:2s-8x8", "seed": 4})
    told("json", spec={"algo": "ppo", "env": "lbf:other", "seed": 3})
    told("json", last=1)
    tree = load(told)
    check_schema(tree)
    assert [len(run) for run in tree["lbf"]["2s-8x8"]["ppo"].values()] == [3, 5]
    assert list(tree["lbf"]) == ["2s-8x8", "other"]


def test_parts():
    run = {
        "step_0": {"step_count": 0, "elapsed_time": 1},
        "step_1": {"step_count": 64, "elapsed_time": "x"},
        "odd": 3,
        "absolute_metrics": {},
    }
    assert elapsed_in(run) == {0: 1.0}
    assert elapsed_in(None) == elapsed_in([1]) == {}
    tree = json.loads(merged({"e": {"t": {}}}, ("e", "t", "a", "s"), run))
    assert part_of(tree, ("e", "t", "a", "s")) == run
    assert part_of(tree, ("e", "x", "a", "s")) is None


@pytest.mark.parametrize("content", ["{", "[1]", '{"lbf": 3}', "", "[" * 100_000])
def test_a_file_that_is_none_of_ours_stays_as_it_is(told, content, capsys):
    told.base.mkdir()
    (told.base / "metrics.json").write_text(content)
    said = []
    told("json", log=said.append)
    assert len(said) == 1
    assert "metrics.json" in said[0]
    assert (told.base / "metrics.json").read_text() == content


WRITER = """
import sys, time
from agonist.sinks import *
from agonist.sinks import lanes
lanes.FLUSH_EVERY, lanes.FLUSH_SHARE = 0.0, 0.0
base, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sinks = open_sinks(LogConfig(base, use_json=True), Beginning("run", {"algo": "ppo", "env": "lbf:x", "seed": seed}))
print("open", flush=True)
for k in range(count):
    sinks.evaluation(k, {"a": [k, seed]}, [1, 1], False)
    time.sleep(0.004)
sinks.evaluation(k, {"a": [k, seed] * 10}, [1, 1] * 10, True)
sinks.close("finished", {}, {})
settle()
"""


def test_many_writers_lose_nothing_and_killed_ones_harm_nobody(tmp_path):
    def start(seed, count):
        return subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(seed), str(count)], stdout=subprocess.PIPE)

    writers, killed = [start(seed, 40) for seed in range(3)], [start(seed, 100_000) for seed in (8, 9)]
    for process in (*writers, *killed):
        assert process.stdout.readline() == b"open\n"
    for process in killed:
        time.sleep(0.1)
        process.kill()
    assert [process.wait(30) for process in writers] == [0] * 3
    for process in (*writers, *killed):
        process.wait()
        process.stdout.close()
    tree = json.loads((tmp_path / "metrics.json").read_text())
    check_schema(
        {"lbf": {"x": {"ppo": {run: steps for run, steps in tree["lbf"]["x"]["ppo"].items() if run in ("seed_0", "seed_1", "seed_2")}}}},
        range(3),
    )
    for seed in range(3):
        run = tree["lbf"]["x"]["ppo"][f"seed_{seed}"]
        assert [run[f"step_{k}"]["mean_episode_return"] for k in range(40)] == [[k, seed] for k in range(40)]
    with locked(tmp_path / "metrics.json", 0.1) as got:
        assert got


def test_a_writer_waits_for_others_and_says_so_where_it_is_in_vain(told, monkeypatch):
    monkeypatch.setattr("agonist.sinks.marl_eval.PATIENCE", 0.1)
    monkeypatch.setattr("agonist.sinks.marl_eval.LAST_PATIENCE", 0.2)
    said = []
    told.base.mkdir()
    with locked(told.base / "metrics.json", 1) as got:
        assert got
        told("json", log=said.append)
    assert len(said) == 1
    assert "was locked by others for" in said[0]

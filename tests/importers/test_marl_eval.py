"""marl-eval's file -> runs: units, intervals, finals; what is none is refused with its place."""

import json

import pytest

from agonist.importers import read
from agonist.stats.intervals import mean_interval

STEP = {"step_count": 64, "elapsed_time": 2.5, "steps_per_second": [100.0], "Win_Rate": [0.5], "mean_episode_return": [1.0, 3.0], "odd": 7}
RUN = {
    "step_1": STEP,
    "step_0": {"step_count": 0, "elapsed_time": 0.0, "mean_episode_return": [0.0]},
    "absolute_metrics": {"mean_episode_return": [2.0, 4.0, 6.0], "win_rate": [0.75]},
}


def write(tmp_path, tree):
    path = tmp_path / "metrics.json"
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
    return path


def test_a_run_a_seed_with_units_of_ours(tmp_path):
    tree = {
        "Lbf": {"2s-8x8": {"ff_ippo": {"seed_3": RUN, "seed_11": RUN}, "mappo": {"run_0": RUN}}},
        "solo": {"solo": {"a": {"main": RUN}}},
    }
    found = read(write(tmp_path, tree), {})
    assert [dict(one.spec) for one in found] == [
        {"algo": "ff_ippo", "env": "Lbf:2s-8x8", "seed": 3},
        {"algo": "ff_ippo", "env": "Lbf:2s-8x8", "seed": 11},
        {"algo": "mappo", "env": "Lbf:2s-8x8", "seed": 0},
        {"algo": "a", "env": "solo", "seed": "main"},
    ]
    one = found[0]
    mean, low, high = mean_interval([1.0, 3.0])
    assert [(row.step, dict(row.values)) for row in one.rows] == [
        (0, {"eval/return": 0.0}),
        (
            64,
            {
                "perf/env_steps_per_second": 100.0,
                "eval/win_rate": 0.5,
                "eval/return": mean,
                "eval/return_low": low,
                "eval/return_high": high,
                "odd": 7.0,
            },
        ),
    ]
    assert one.rows[1].time - one.rows[0].time == 2.5
    assert one.seconds == 2.5
    _, low, high = mean_interval([2.0, 4.0, 6.0])
    assert one.final == {"eval/return": 4.0, "eval/interval": [low, high], "eval/episodes": 3, "eval/win_rate": 0.75}
    assert len({one.sha256 for one in found}) == 4


def test_what_our_own_sink_writes(tmp_path):
    from agonist.sinks import Beginning, Ending, LogConfig
    from agonist.sinks.marl_eval import open_json
    from agonist.sinks.records import Evaluation

    sink = open_json(Beginning("run", {"algo": "ppo", "env": "e:t", "seed": 2}, time=100.0), LogConfig(str(tmp_path)))
    for step in (0, 64):
        sink.evaluation(Evaluation(step, 100.0 + step, {"a": [step, step + 1.0]}, [1, 1], False))
    sink.evaluation(Evaluation(64, 170.0, {"a": [9.0] * 20}, [1] * 20, True))
    sink.close(Ending("finished", {}, {}))
    [one] = read(tmp_path / "metrics.json", {})
    assert one.spec == {"algo": "ppo", "env": "e:t", "seed": 2}
    assert [(row.step, row.values["eval/return"]) for row in one.rows] == [(0, 0.5), (64, 64.5)]
    assert (one.final["eval/return"], one.final["eval/episodes"]) == (9.0, 20)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ("{", "is no JSON"),
        ("{" * 200_000, "is no JSON|recursion"),
        ({"e": 3}, "at e a mapping of task belongs, not a int"),
        ({"e": {"t": {"a": {"s": [1]}}}}, "at e > t > a > s a mapping of step_<k> belongs, not a list"),
        ({"e": {"t": {"a": {"s": {"step_0": 3}}}}}, "s > step_0 is a int"),
        ({"e": {"t": {"a": {"s": {"step_0": {"r": [1]}}}}}}, "step_0 > step_count needs a whole number"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": -1, "r": [1]}}}}}}, "needs a whole number"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": 1e300, "r": [1]}}}}}}, "needs a whole number"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": 1, "r": ["x"]}}}}}}, "a number or a list of numbers"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": 1, "r": {"x": 1}}}}}}}, "a number or a list of numbers"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": 1}}}}}}, "holds no figures"),
        ({}, "holds no run"),
        ({"e": {}}, "holds no run"),
        ({"e": {"t": {"a": {"s": {"step_0": {"step_count": 1, **{f"m{i}": 1 for i in range(10_001)}}}}}}}, "more than 10,000 metrics"),
    ],
)
def test_what_is_none_is_refused(tree, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        read(write(tmp_path, tree), {})


def test_numbers_that_are_none_are_left_out(tmp_path):
    tree = '{"e": {"t": {"a": {"s": {"step_0": {"step_count": 1, "r": [NaN], "s": [null, 1], "inf": [Infinity]}}}}}}'
    [one] = read(write(tmp_path, tree), {})
    assert dict(one.rows[0].values) == {"s": 1.0, "inf": float("inf")}


@pytest.mark.filterwarnings("error")
def test_what_is_infinite_spoils_nothing_else(tmp_path):
    steps = {
        "step_0": {"step_count": 0, "elapsed_time": 1.0, "mean_episode_return": [1.0, float("inf")], "both": [float("inf"), float("-inf")]},
        "step_1": {"step_count": 1, "elapsed_time": float("inf"), "mean_episode_return": [1e308, 1e308]},
        "step_2": {"step_count": 2, "elapsed_time": 3.0, "mean_episode_return": [1.0, 1.0]},
    }
    path = write(tmp_path, {"e": {"t": {"a": {"seed_0": steps}}}})
    [one] = read(path, {})
    moment = path.stat().st_mtime
    assert [row.time for row in one.rows] == [moment - 2, moment - 3, moment]
    assert dict(one.rows[0].values) == {"eval/return": float("inf")}
    assert dict(one.rows[2].values) == {"eval/return": 1.0, "eval/return_low": 1.0, "eval/return_high": 1.0}
    assert one.seconds == 3.0

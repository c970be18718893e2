"""Which runs a sweep has: combinations, draws, rungs; and what is refused before anything begins."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agonist.options import read_range, split_values, swept
from agonist.sweeps.plan import label_of, make_plan, plan_of, survivors

BASE = {"algo": "ppo", "env": "matrix:climbing", "steps": 1e5}


def test_a_grid_is_every_combination_with_every_seed():
    plan = make_plan({**BASE, "seed": 3}, {"lr": ["1e-3", "3e-3"], "hidden": ["[8]", "[16,16]"]}, seeds=2)
    told = [(dict(trial.point), trial.seed) for trial in plan.trials]
    points = [{"lr": lr, "hidden": hidden} for lr in (0.001, 0.003) for hidden in ([8], [16, 16])]
    assert told == [(point, seed) for point in points for seed in (3, 4)]
    assert [trial.label for trial in plan.trials[:2]] == ["lr=0.001 hidden=[8] seed 3", "lr=0.001 hidden=[8] seed 4"]
    assert plan.keys(plan.trials[2]) == {**BASE, "lr": 0.001, "hidden": [16, 16], "seed": 3}
    ids = [plan.run("20261119-211433-calm-heron", trial) for trial in plan.trials]
    assert ids[0] == "20261119-211433-calm-heron-1"
    assert ids == sorted(set(ids))


def test_ids_sort_also_where_there_are_many():
    plan = make_plan(BASE, {"lr": [str(0.001 * (i + 1)) for i in range(12)]})
    ids = [plan.run("s", trial) for trial in plan.trials]
    assert ids[:2] == ["s-01", "s-02"]
    assert ids == sorted(set(ids))


def test_seeds_are_counted_or_named():
    assert [trial.seed for trial in make_plan(BASE, {"seed": ["4", "9"], "lr": ["1e-3"]}).trials] == [4, 9]
    assert [trial.seed for trial in make_plan({**BASE, "seed": 7}, {}, seeds=2).trials] == [7, 8]
    assert list(make_plan(BASE, {"seed": [1, 2]}).points()) == [""]


def test_keys_of_a_role_are_values_too():
    given = {"algo": "ppo", "env": "lighthouse:2x2"}
    with pytest.raises(ValueError, match=r"the sweep has roles\.ship\.lr=0\.001 twice"):
        make_plan(given, {"roles.ship.lr": ["1e-3", "0.001"]})


def test_a_plan_is_json_there_and_back():
    plan = make_plan(BASE, {"lr": "1e-4..1e-2"}, seeds=3, method="halving", trials=8, eta=2)
    assert plan_of(plan.document()) == plan


def test_draws_are_the_seeds_and_by_the_logarithm_where_rates_are():
    over = {"lr": "1e-4..1e-2", "gamma": "0.9..0.99", "envs": "8..64"}
    draws = make_plan(BASE, over, method="random", trials=200)
    again = make_plan(BASE, over, method="random", trials=200)
    other = make_plan({**BASE, "seed": 1}, over, method="random", trials=200)
    points = [trial.point for trial in draws.trials]
    assert points == [trial.point for trial in again.trials]
    assert points != [trial.point for trial in other.trials]
    assert all(1e-4 <= point["lr"] <= 1e-2 and 0.9 <= point["gamma"] <= 0.99 and point["envs"] in range(8, 65) for point in points)
    assert 70 < sum(point["lr"] < 1e-3 for point in points) < 130  # half of a logarithm lies below its middle
    assert 70 < sum(point["gamma"] < 0.945 for point in points) < 130
    assert all(point["lr"] == float(f"{point['lr']:.3g}") for point in points)


def test_a_draw_has_no_point_twice_and_ends_where_there_are_no_more():
    plan = make_plan(BASE, {"lr": ["1e-3", "1e-2"], "envs": ["8", "16"]}, method="random", trials=50)
    assert len(plan.trials) == 4
    assert len({label_of(trial.point) for trial in plan.trials}) == 4


@pytest.mark.parametrize(
    ("points", "eta", "rungs"),
    [(16, 4, (6250, 25000, 100000)), (4, 4, (25000, 100000)), (8, 2, (12500, 25000, 50000, 100000)), (1, 4, (25000, 100000))],
)
def test_rungs_grow_by_eta_and_end_with_all_steps(points, eta, rungs):
    plan = make_plan(BASE, {"lr": [str(0.001 * (i + 1)) for i in range(points)]}, method="halving", trials=points, eta=eta)
    assert len(plan.points()) == points
    assert plan.rungs == rungs


def test_the_best_survive_and_what_failed_does_not():
    plan = make_plan(BASE, {"lr": [str(0.001 * (i + 1)) for i in range(16)]}, method="halving", trials=16, eta=4)
    labels = list(plan.points())
    scores = {label: float(i) for i, label in enumerate(labels)}
    assert survivors(plan, 0, scores) == labels[:-5:-1]
    assert survivors(plan, 1, scores) == labels[-1:]
    scores[labels[-1]] = math.nan
    assert labels[-1] not in survivors(plan, 0, scores)
    assert survivors(plan, 0, dict.fromkeys(labels, math.nan)) == []


@pytest.mark.parametrize(
    ("over", "how", "sentence"),
    [
        ({"lrr": ["1", "2"]}, {}, "ppo has no key 'lrr'; did you mean lr"),
        ({"lr": ["1e-3", "x"]}, {}, "lr needs a number such as 0.99 or 3e-4, got 'x'"),
        ({"lr": ["1e-3", "0.001"]}, {}, "the sweep has lr=0.001 twice: values of a key need to be different"),
        ({"lr": "1e-4..1e-2"}, {"method": "grid"}, "lr=1e-4..1e-2 is a range, of which a grid has no end"),
        ({"lr": "1e-2..1e-4"}, {"method": "random"}, "lr=1e-2..1e-4 is no range LOW..HIGH"),
        ({"lr": "log:0..1"}, {"method": "random"}, "is no range LOW..HIGH, log:LOW..HIGH (of positive numbers)"),
        ({"lr": ["1", "2"]}, {"method": "bayes"}, "a sweep is one of grid, random, halving, got 'bayes'"),
        ({}, {"method": "random"}, "nothing to draw from: give a key several values or a range"),
        ({"lr": ["1", "2"]}, {"seeds": 6000}, "that makes 12,000 runs; a sweep has at most 10,000"),
        ({"lr": []}, {}, "lr needs a list of values, such as [1e-3, 3e-3]"),
        ({"lr": 1e-3}, {}, "lr needs a list of values, such as [1e-3, 3e-3]"),
        ({"steps": ["1", "2"]}, {}, "steps is given as 100000.0 and swept over: which one holds?"),
        ({"seed": ["1", "2"]}, {"seeds": 2}, "name the seeds, as in seed=1,2,5, or say how many, as in --seeds 3"),
        ({"seed": ["1", "1"]}, {}, "the sweep has seed 1 twice"),
        ({"lr": ["1", "2"]}, {"seeds": 0}, "need seeds >= 1 and trials >= 1, got 0, 16"),
        ({"lr": ["1", "2"]}, {"method": "halving", "eta": 1}, "needs eta >= 2, got 1"),
    ],
)
def test_what_is_wrong_is_said(over, how, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        make_plan(BASE, over, **how)
    assert sentence in str(error.value)


def test_words_with_several_values_are_told_from_others():
    given = {"algo": "ippo,mappo", "env": "lbf:2s-8x8-2p-2f-coop", "lr": "1e-4..1e-2", "hidden": "[64,64],[8]", "gamma": "0.9", "envs": 8}
    alone, over = swept(given)
    assert alone == {"env": "lbf:2s-8x8-2p-2f-coop", "gamma": "0.9", "envs": 8}
    assert over == {"algo": ["ippo", "mappo"], "lr": "1e-4..1e-2", "hidden": ["[64,64]", "[8]"]}
    assert swept({"players.keeper": "[a,b]", "env": "matrix:../payoff.json", "players.ship": "../p"})[1] == {}
    with pytest.raises(ValueError, match="lr=1, has an empty value between its commas"):
        swept({"lr": "1,"})


@given(
    st.lists(
        st.lists(st.integers(0, 9), max_size=3).map(lambda parts: f"[{','.join(map(str, parts))}]") | st.text("abc.", min_size=1),
        min_size=1,
    )
)
def test_commas_within_brackets_part_nothing(values):
    assert split_values(",".join(values)) == values


@settings(max_examples=30)
@given(st.floats(1e-6, 1e3), st.floats(1.001, 1e4))
def test_a_range_is_read_as_it_is_written(low, factor):
    scale, left, right = read_range("lr", f"{low!r}..{low * factor!r}")
    assert (left, right) == (low, low * factor)
    assert scale == ("log" if right >= 10 * left else "lin")
    assert Counter(read_range("lr", f"lin:{low!r}..{low * factor!r}"))["lin"] == 1

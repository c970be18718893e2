"""A study's file: algorithms, environments and keys of their own; what is told twice is refused."""

import pytest

from agonist import specs
from agonist.sweeps import study
from agonist.sweeps.plan import label_of

STUDY = {
    "title": "wide or not",
    "seeds": 2,
    "steps": 2e5,
    "algos": {"ippo": {}, "wide": {"algo": "mappo", "hidden": [256, 256]}},
    "envs": {"lbf:2s-8x8-2p-2f-coop": {"env": {"sight": 2}}, "matrix:climbing": {"steps": 1e5}},
    "sweep": {"lr": [1e-3, 3e-3]},
}


def test_every_algorithm_on_every_environment_with_its_own_keys():
    plan = study.plan_of_study(STUDY)
    labels = list(plan.points())
    assert len(plan.trials) == 2 * 2 * 2 * 2
    assert labels[0] == "ippo lbf:2s-8x8-2p-2f-coop lr=0.001"
    told = {label_of(trial.point): specs.resolve(plan.keys(trial)) for trial in plan.trials}
    wide = told["wide matrix:climbing lr=0.003"]
    assert (wide.algo, wide.config.hidden, wide.steps, wide.config.lr) == ("mappo", (256, 256), 100_000, 0.003)
    plain = told["ippo lbf:2s-8x8-2p-2f-coop lr=0.001"]
    assert (plain.algo, plain.steps, plain.options) == ("ippo", 200_000, {"sight": 2})


def test_the_same_file_is_the_same_study():
    plan, again = study.plan_of_study(STUDY), study.plan_of_study(STUDY)
    assert plan.source == again.source
    assert study.plan_of_study({**STUDY, "seeds": 3}).source != plan.source


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algos": None}, "need a table for each of algos, such as [algos.ppo]"),
        ({"envs": ["matrix:climbing"]}, 'need a table for each of envs, such as [envs."lbf:2s-8x8-2p-2f-coop"]'),
        ({"sweep": {"lr": 1e-3}}, "[sweep] lr needs a list of values, such as [1e-3, 3e-3], got 0.001"),
        ({"algos": {"ippo": {"steps": 5}}}, "steps is told twice, for ippo and for matrix:climbing or in [sweep]: which one holds?"),
        ({"algos": {"ippo": {"lr": 0.1}}}, "lr is told twice"),
        ({"algos": {"nothing": {}}}, "nothing called 'nothing' among agonist.algos"),
        ({"gama": 0.9}, "ippo has no key 'gama'; did you mean gamma"),
        ({"seeds": "many"}, "seeds needs a whole number"),
        ({"seeds": 0}, "seeds needs a whole number of 1 or more, got 0"),
        ({"sweep": 3}, "sweep is a table, such as [sweep] with lr = [1e-3, 3e-3], got 3"),
        ({"sweep": {"seed": [1, 2]}}, "seed has no place in [sweep]: seeds = N"),
        ({"algos": {"ippo": {"env": "x"}}}, "env has no place in [algos.ippo]"),
    ],
)
def test_what_is_wrong_is_said(change, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        study.plan_of_study({key: value for key, value in {**STUDY, **change}.items() if value is not None})
    assert sentence in str(error.value)


def test_the_file_is_named_in_what_is_wrong(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("algos = 3")
    with pytest.raises(ValueError, match=r"study\.toml: need a table for each of algos"):
        study.read(str(path))
    path.write_text("algos = [")
    with pytest.raises(ValueError, match=r"study\.toml is no TOML"):
        study.read(str(path))
    with pytest.raises(ValueError, match=r"cannot read .*: No such file"):
        study.read(str(tmp_path / "other.toml"))

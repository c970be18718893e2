"""What a run is told: flat keys, there and back."""

import string
from dataclasses import MISSING, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agonist import algos, plugins
from agonist.algos.ppo import PPOConfig
from agonist.loop import TrainConfig
from agonist.options import read_file
from agonist.specs import MOST, for_role, resolve, to_toml, who

SMALL = {"algo": "ppo", "env": "lighthouse:3x2"}


def refused(**given):
    with pytest.raises(ValueError, match=r".") as error:
        resolve({**SMALL, **given})
    return str(error.value)


def values(field):
    """What a field of a configuration may hold."""
    low, high = field.metadata["span"] or (None, None)
    if field.metadata["choices"]:
        return st.sampled_from(field.metadata["choices"])
    if field.type in ("bool", "bool | None"):
        return st.booleans()
    whole = st.integers(low or 0, high if high is not None else 10**12)
    number = st.floats(low if low is not None else -1e12, high if high is not None else 1e12)
    kinds = {"int": whole, "int | None": whole, "float": number, "float | None": number, "tuple[int, ...]": st.lists(whole, max_size=4)}
    return kinds[field.type]


CONFIG = {field.name: values(field) for part in (PPOConfig, TrainConfig) for field in fields(part)}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORD = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
OTHER = st.fixed_dictionaries(
    {"steps": st.integers(0, 10**15), "seed": st.integers(0, MOST)},
    optional={
        "env.rivals": st.booleans(),
        "env.text": TEXT,
        "env.sight": st.integers(-(10**9), 10**9),
        "roles.ship.lr": st.floats(0, 1),
        "roles.keeper.hidden": st.lists(st.integers(1, 512), max_size=3),
        "players.keeper": st.one_of(st.sampled_from(["random", "action:2", "trainee"]), TEXT, st.lists(WORD, min_size=1, max_size=3)),
        "players.ship.0": WORD,
    },
)
GIVEN = st.tuples(st.fixed_dictionaries({}, optional=CONFIG), OTHER).map(lambda parts: {**SMALL, **parts[0], **parts[1]})


@settings(deadline=None, max_examples=150)
@given(GIVEN)
def test_flat_there_and_back(given):
    spec = resolve(given)
    assert resolve(spec.flat()) == spec
    assert resolve(spec.flat()).flat() == spec.flat()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("specs")


@settings(deadline=None, max_examples=150)
@given(GIVEN)
def test_a_file_there_and_back(folder, given):
    spec = resolve(given)
    (folder / "run.toml").write_text(to_toml(spec), encoding="utf8")
    assert resolve(read_file(str(folder / "run.toml"))) == spec


@settings(deadline=None, max_examples=100)
@given(GIVEN)
def test_words_mean_what_values_mean(given):
    """What Python passes as values the command line passes as text."""

    def word(value):
        if isinstance(value, list):
            return f"[{','.join(map(str, value))}]"
        return str(value).lower() if isinstance(value, bool) else str(value)

    plain = {key: value for key, value in given.items() if not key.startswith(("env.", "roles.", "players."))}
    assert resolve({key: word(value) for key, value in plain.items()}) == resolve(plain)


def test_defaults_fill_what_is_not_given():
    spec = resolve(SMALL)
    assert (spec.algo, spec.env, spec.steps, spec.seed) == ("ppo", "lighthouse:3x2", 1_000_000, 0)
    assert (spec.config, spec.train) == (PPOConfig(), TrainConfig())
    flat = spec.flat()
    assert flat["hidden"] == [128, 128]
    assert {"actor_lr", "sampled"}.isdisjoint(flat)  # what is not set is not said


@pytest.mark.parametrize("algo", sorted(plugins.offers(algos.GROUP)))
def test_no_key_has_two_meanings(algo):
    """An algorithm's keys, those of training and the names above them are apart, and every key has help and a default."""
    ours, training = ({field.name: field for field in fields(part)} for part in (algos.config_type(algo), TrainConfig))
    assert not ours.keys() & training.keys()
    assert not {"algo", "env", "steps", "seed", "store", "resume", "seeds", "config", "json", "players", "roles"} & (
        ours.keys() | training.keys()
    )
    for field in (*ours.values(), *training.values()):
        assert field.metadata["help"]
        assert field.default is not MISSING
    assert "lr" in ours


@pytest.mark.parametrize(
    ("text", "value"), [("4e5", 400_000), (4e5, 400_000), ("400000", 400_000), (0, 0), ("9007199254740993", 9007199254740993)]
)
def test_steps_are_whole_numbers_in_any_spelling(text, value):
    assert resolve({**SMALL, "steps": text}).steps == value


@pytest.mark.parametrize("value", ["many", "1.5", -1, "-5", True, None, "inf", "nan", [1], "1e400"])
def test_steps_that_are_none_are_refused(value):
    assert refused(steps=value) == f"steps needs a whole number of 0 or more such as 400000 or 4e5, got {value!r}"


def test_a_seed_is_used_whole():
    assert resolve({**SMALL, "seed": str(MOST)}).seed == 2**32 - 1
    assert refused(seed=2**32) == "seed needs a number up to 4,294,967,295, got 4294967296: no more of it would be used"
    assert refused(seed="-1").startswith("seed needs a whole number")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"algo": ""}, "need algo, such as ppo"),
        ({"env": None}, "need env, such as lbf:2s-8x8-2p-2f-coop"),
        ({"algo": "pppo"}, "nothing called 'pppo' among agonist.algos; did you mean ppo"),
        ({"gama": 0.9}, "ppo has no key 'gama'; did you mean gamma?"),
        ({"shard": 2}, "ppo has no key 'shard'; did you mean shards"),
        ({"step": 2}, "ppo has no key 'step'; did you mean steps"),
        ({"lr": "fast"}, "lr needs a number such as 0.99 or 3e-4, got 'fast'"),
        ({"envs": 0}, "envs needs a value of 1 or more, got 0"),
        ({"roles.ship": 1}, "roles.ship names no key: write roles.ROLE.KEY=VALUE, as in roles.prey.lr=1e-3"),
    ],
)
def test_what_is_wrong_is_said(given, sentence):
    assert refused(**given).startswith(sentence)


def test_a_name_may_settle_a_key():
    assert resolve({**SMALL, "algo": "mappo"}).config.critic == "state"
    assert resolve({**SMALL, "algo": "mappo", "critic": "state"}).config.critic == "state"
    assert refused(algo="mappo", critic="observation").startswith("mappo means critic=state")


def test_a_role_has_keys_of_its_own_above_the_common_ones():
    spec = resolve({**SMALL, "lr": 0.1, "hidden": "[8]", "actor_lr": 0.2, "roles.ship.lr": "0.5", "roles.ship.actor_lr": "none"})
    assert for_role(spec, "keeper") == ("ppo", spec.config)
    assert for_role(spec, "ship") == ("ppo", replace(spec.config, lr=0.5, actor_lr=None))
    other = resolve({**SMALL, "hidden": "[8]", "roles.ship.algo": "mappo"})
    assert for_role(other, "ship") == ("mappo", replace(other.config, critic="state"))
    with pytest.raises(ValueError, match="ppo has no key 'lrr'; did you mean lr"):
        for_role(resolve({**SMALL, "roles.ship.lrr": 1}), "ship")


def test_players_are_words_or_lists():
    assert who("random") == "random"
    assert who("[a, b@last:x ,c]") == ["a", "b@last:x", "c"]
    assert who(("a", "b")) == ["a", "b"]
    assert who("[]") == []

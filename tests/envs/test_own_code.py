"""Environments of one's own code: options out of a signature, shapes checked against the spec."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import pytest

from agonist import envs, own
from agonist.testing.stairs import Hosted, compiled
from agonist.types import option


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(own, "_known", {})


def test_keywords_are_options():
    seen = {}

    def make(size: int = 3, wind=0.5, name: str | None = None, sides=(1, 2), calm=True):
        seen.update(size=size, wind=wind, name=name, sides=sides, calm=calm)
        return compiled()

    assert envs.make(make, size="4", wind="1e-1", sides="[3]", calm="no").spec.name == "stairs"
    assert seen == {"size": 4, "wind": 0.1, "name": None, "sides": (3,), "calm": False}
    told = envs.describe(make)
    assert [(row["key"], row["default"]) for row in told["options"]][:2] == [("size", 3), ("wind", 0.5)]
    with pytest.raises(ValueError, match=r"make has no key 'siz'; did you mean size or sides\?"):
        envs.make(make, siz=3)


@dataclass(frozen=True)
class Options:
    height: int = option(4, "how high", span=(1, 9))


def test_a_dataclass_is_options():
    def make(options: Options):
        return replace(compiled(), spec=replace(compiled().spec, name=f"stairs:{options.height}"))

    assert envs.make(make, height=7).spec.name == "stairs:7"
    with pytest.raises(ValueError, match="height needs a value from 1 to 9, got 10"):
        envs.make(make, height=10)


def test_one_that_is_made_already_is_taken_as_it_is():
    env = compiled()
    assert envs.make(env) is env
    assert envs.describe(env)["options"] == []
    assert isinstance(envs.make(Hosted), Hosted)  # a class is a function that makes one
    with pytest.raises(ValueError, match="is made already and takes no options; got height"):
        envs.make(env, height=3)


def one_stream():
    env = compiled()

    def reset(key):
        state, timestep = env.reset(key[None])
        return jax.tree.map(lambda leaf: leaf[0], (state, timestep))

    return replace(env, reset=reset)


def short_sighted():
    env = compiled()
    role = replace(env.spec.roles[0], obs=replace(env.spec.roles[0].obs, shape=(9,)))
    return replace(env, spec=replace(env.spec, roles=(role, env.spec.roles[1])))


def nameless():
    env = compiled()
    return replace(env, spec=replace(env.spec, roles=(replace(env.spec.roles[0], name="nobody"), env.spec.roles[1])))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (one_stream, r"gives `last` of shape .* for a batch of 2: written for one stream, it becomes a batch by agonist.envs.lift"),
        (short_sighted, r"gives observations \(2, 3, 2\) of role 'climbers'; by its spec they are \(2, 3, 9\)"),
        (nameless, "gives no obs of the role 'nobody', which its spec names"),
        (lambda: 3, "gave a int; an environment is an agonist.types.Env"),
        (lambda size: None, "needs a default for size: env.size may be left out"),
    ],
)
def test_what_is_no_environment_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        envs.make(make)


def test_lifting_makes_it_one():
    env = compiled()

    def make():
        return envs.lift(replace(one_stream(), step=lambda state, actions: None))

    state, timestep = jax.jit(envs.make(make).reset)(jax.random.split(jax.random.key(0), 3))
    assert timestep.last.shape == (3,)
    assert env.spec == envs.make(make).spec
    assert jnp.all(state.time == 0)

"""What every environment keeps, as tests: subclass a suite in your own tests and say how yours is made.

    class TestMine(EnvSuite):
        def make(self):
            return agonist.make("mine:small")

`EnvSuite` is for compiled environments, `HostEnvSuite` for all others. pytest collects the subclass and runs each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from agonist.types import Box, Discrete, Env, EnvSpec, HostArray, HostEnv, MultiDiscrete, Role, Space, TimeStep

STEPS = 40  # of the walks that the rules are checked on, unless the time limit says more
BATCH = 3


def choices(action: Any) -> int | None:
    """The length of `legal`; None where actions are continuous."""
    if isinstance(action, Discrete):
        return action.n
    return sum(action.ns) if isinstance(action, MultiDiscrete) else None


def random_actions(spec: EnvSpec, timestep: TimeStep, rng: np.random.Generator) -> dict[str, Any]:
    """A legal action for everybody."""
    out = {}
    for role in spec.roles:
        out[role.name] = random_action(role.action, timestep.legal[role.name], np.shape(timestep.alive[role.name]), rng)
    return out


def random_action(space: Space, legal: HostArray | None, seats: tuple[int, ...], rng: np.random.Generator) -> HostArray:
    """A legal action for each seat."""
    if isinstance(space, Box):
        return rng.uniform(max(space.low, -1e3), min(space.high, 1e3), (*seats, *space.shape)).astype(np.float32)
    mask = np.asarray(legal)
    luck = rng.random(mask.shape) * mask
    if isinstance(space, Discrete):
        return luck.argmax(-1).astype(np.int32)
    parts = np.split(luck, np.cumsum(space.ns)[:-1], axis=-1)
    return np.stack([part.argmax(-1) for part in parts], axis=-1).astype(np.int32)


def check_timestep(spec: EnvSpec, timestep: TimeStep, batch: int) -> None:
    """Shapes, types and ranges of one moment are those of the spec."""
    assert np.shape(timestep.last) == (batch,)
    assert np.asarray(timestep.last).dtype == bool
    assert np.shape(timestep.state) == (batch, *spec.state_shape)
    assert np.all(np.isfinite(timestep.state))
    for part in (timestep.obs, timestep.reward, timestep.discount, timestep.legal, timestep.alive):
        assert set(part) == {role.name for role in spec.roles}
    for role in spec.roles:
        _check_role(role, timestep, (batch, role.agents))


def _check_role(role: Role, timestep: TimeStep, seats: tuple[int, int]) -> None:
    obs, legal = np.asarray(timestep.obs[role.name]), timestep.legal[role.name]
    assert obs.shape == (*seats, *role.obs.shape)
    assert obs.dtype == role.obs.dtype
    assert np.all(np.isfinite(obs))
    assert np.all((obs >= role.obs.low) & (obs <= role.obs.high)), f"{role.name} observes {obs.min()} to {obs.max()}, beyond {role.obs}"
    for name, value, dtype in (
        ("reward", timestep.reward, "float32"),
        ("discount", timestep.discount, "float32"),
        ("alive", timestep.alive, "bool"),
    ):
        one = np.asarray(value[role.name])
        assert (one.shape, str(one.dtype)) == (seats, dtype), f"{name} of {role.name} is {one.dtype}{one.shape}"
    reward, discount = np.asarray(timestep.reward[role.name]), np.asarray(timestep.discount[role.name])
    low, high = role.reward_range
    assert np.all((reward >= low - 1e-5) & (reward <= high + 1e-5)), f"{role.name} gets {reward}, beyond {role.reward_range}"
    assert np.all((discount >= 0) & (discount <= 1))
    if role.rewards == "shared":
        assert np.all(reward == reward[:, :1])
    if legal is None:
        assert choices(role.action) is None, f"{role.name} chooses, so it has a mask of what is legal"
    else:
        _check_legal(role, np.asarray(legal), seats)


def _check_legal(role: Role, legal: Any, seats: tuple[int, int]) -> None:
    assert (legal.shape, legal.dtype) == ((*seats, choices(role.action)), bool)
    parts = np.split(legal, np.cumsum(role.action.ns)[:-1], axis=-1) if isinstance(role.action, MultiDiscrete) else [legal]
    for part in parts:
        assert np.all(part.any(-1)), f"{role.name} is left without a legal action"


def check_first(spec: EnvSpec, timestep: TimeStep) -> None:
    """An episode's beginning: not the last step, nothing gained, everything ahead."""
    assert not np.any(timestep.last)
    for role in spec.roles:
        assert np.all(np.asarray(timestep.reward[role.name]) == 0)
        assert np.all(np.asarray(timestep.discount[role.name]) == 1)


def check_end(spec: EnvSpec, timestep: TimeStep, step: int) -> None:
    """Value ends only where the sequence does, and a sequence that ends before the time limit ends value for somebody."""
    last = np.asarray(timestep.last)
    over = np.zeros(last.shape, bool)
    for role in spec.roles:
        dead = np.asarray(timestep.discount[role.name]) == 0
        gone = ~np.asarray(timestep.alive[role.name])
        assert np.all(last[:, None] | ~dead | gone), f"{role.name} has discount 0 at step {step}, which is not the last"
        over |= dead.any(-1)
    if spec.time_limit is not None and step < spec.time_limit:
        assert np.all(over | ~last), f"cut at step {step}, before the time limit {spec.time_limit}"
    if spec.time_limit is not None and step >= spec.time_limit:
        assert np.all(last), f"still going at step {step}, the time limit is {spec.time_limit}"


def check_picture(picture: Any) -> None:
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert np.ptp(picture) > 0, "the picture is blank"


def same(ours: Any, theirs: Any) -> None:
    """Two moments are equal, array by array."""
    for name, a, b in zip(TimeStep._fields, ours, theirs, strict=True):
        for key in a if isinstance(a, Mapping) else [None]:
            x, y = (a[key], b[key]) if key is not None else (a, b)
            if x is None or y is None:
                assert x is y
            else:
                np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-6, err_msg=f"{name} {key or ''}")


class EnvSuite:
    """The rules of a compiled environment."""

    def make(self) -> Env:
        raise NotImplementedError("say in `make` which environment this is")

    @pytest.fixture(scope="class")
    @classmethod
    def env(cls) -> Env:
        return cls().make()

    @pytest.fixture(scope="class")
    @classmethod
    def reset(cls, env: Env) -> Any:
        import jax

        return jax.jit(env.reset)

    @pytest.fixture(scope="class")
    @classmethod
    def step(cls, env: Env) -> Any:
        import jax

        return jax.jit(env.step)

    def walk(self, env: Env, reset: Any, step: Any, keys: Any, seed: int = 0) -> Iterator[tuple[Any, TimeStep]]:
        """States and moments under random legal actions, up to the time limit; steps after the last one count no more."""
        rng = np.random.default_rng(seed)
        state, timestep = reset(keys)
        yield state, timestep
        for _ in range(max(STEPS, env.spec.time_limit or 0)):
            state, timestep = step(state, random_actions(env.spec, timestep, rng))
            yield state, timestep

    def keys(self, batch: int = BATCH, seed: int = 7) -> Any:
        import jax

        return jax.random.split(jax.random.key(seed), batch)

    def test_first_moment(self, env: Env, reset: Any) -> None:
        _, timestep = reset(self.keys())
        check_timestep(env.spec, timestep, BATCH)
        check_first(env.spec, timestep)

    def test_every_moment_is_as_the_spec_says(self, env: Env, reset: Any, step: Any) -> None:
        running = np.ones(BATCH, bool)
        for t, (_, timestep) in enumerate(self.walk(env, reset, step, self.keys())):
            check_timestep(env.spec, timestep, BATCH)
            if t and running.all():
                check_end(env.spec, timestep, t)
            running &= ~np.asarray(timestep.last)

    def test_ends_at_the_time_limit_without_ending_value(self, env: Env, reset: Any, step: Any) -> None:
        limit = env.spec.time_limit
        if limit is None:
            return
        lasting = np.ones(BATCH, bool)
        for t, (_, timestep) in enumerate(self.walk(env, reset, step, self.keys())):
            ended = np.asarray(timestep.last) & lasting
            value_ends = np.zeros(BATCH, bool)
            for role in env.spec.roles:
                value_ends |= (np.asarray(timestep.discount[role.name]) == 0).any(-1)
            if t < limit:
                assert np.all(value_ends[ended]), f"cut at {t}, before the limit {limit}"
            lasting &= ~ended
        assert not lasting.any(), f"an episode outlived its limit {limit}"

    def test_same_key_same_trajectory(self, env: Env, reset: Any, step: Any) -> None:
        first = [timestep for _, timestep in self.walk(env, reset, step, self.keys())]
        again = [timestep for _, timestep in self.walk(env, reset, step, self.keys())]
        for a, b in zip(first, again, strict=True):
            same(a, b)

    def test_batch_is_a_loop_over_single_environments(self, env: Env, reset: Any, step: Any) -> None:
        """However a batch is split over devices, each environment's play is the same."""
        import jax

        keys, rng = self.keys(), np.random.default_rng(1)
        state, timestep = reset(keys)
        alone = [reset(keys[b : b + 1]) for b in range(BATCH)]
        for _ in range(10):
            for b, (_, one) in enumerate(alone):
                same(jax.tree.map(lambda leaf, b=b: leaf[b : b + 1], timestep), one)
            actions = random_actions(env.spec, timestep, rng)
            state, timestep = step(state, actions)
            alone = [step(one, {name: value[b : b + 1] for name, value in actions.items()}) for b, (one, _) in enumerate(alone)]

    def test_compiled_is_not_compiled(self, env: Env, reset: Any, step: Any) -> None:
        plain = self.walk(env, env.reset, env.step, self.keys())
        for (_, a), (_, b), _ in zip(self.walk(env, reset, step, self.keys()), plain, range(3), strict=False):
            same(a, b)

    def test_loops_in_a_scan(self, env: Env, reset: Any) -> None:
        """A state and a moment keep their shapes and types from step to step."""
        import jax

        rng = np.random.default_rng(2)
        state, timestep = reset(self.keys())
        actions = random_actions(env.spec, timestep, rng)
        before: Any
        after: Any
        before, after = jax.eval_shape(lambda: (state, timestep)), jax.eval_shape(lambda: env.step(state, actions))
        assert str(jax.tree.structure(before)) == str(jax.tree.structure(after))
        for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)

    def test_state_holds_the_batch_where_it_says(self, env: Env, reset: Any) -> None:
        import jax

        state, _ = reset(self.keys())
        for leaf in jax.tree.leaves(state):
            assert leaf.shape[env.batch_axis] == BATCH, f"an array {leaf.shape} of the state has no batch at axis {env.batch_axis}"

    def test_draws_itself(self, env: Env, reset: Any, step: Any) -> None:
        for t, (state, _) in zip(range(3), self.walk(env, reset, step, self.keys()), strict=False):
            check_picture(env.render(state, t % BATCH))


class HostEnvSuite:
    """The rules of an environment that is stepped from the host and resets by itself."""

    draws = True  # False where what draws it is not installed

    def make(self) -> HostEnv:
        raise NotImplementedError("say in `make` which environment this is")

    @pytest.fixture
    def env(self) -> Iterator[HostEnv]:
        env = self.make()
        yield env
        env.close()

    def seeds(self) -> Any:
        return np.arange(11, 11 + BATCH)

    def walk(self, env: HostEnv, seed: int = 0) -> Iterator[tuple[TimeStep, TimeStep, Any]]:
        """(what comes next, what acting led to, where an episode ended) under random legal actions."""
        rng = np.random.default_rng(seed)
        ahead = env.reset(self.seeds())
        for _ in range(max(STEPS, 1 + (env.spec.time_limit or 0))):
            ahead, final = env.step(random_actions(env.spec, ahead, rng))
            yield ahead, final, np.asarray(final.last)

    def test_first_moment(self, env: HostEnv) -> None:
        timestep = env.reset(self.seeds())
        check_timestep(env.spec, timestep, BATCH)
        check_first(env.spec, timestep)

    def test_every_moment_is_as_the_spec_says(self, env: HostEnv) -> None:
        for ahead, final, _ in self.walk(env):
            check_timestep(env.spec, ahead, BATCH)
            check_timestep(env.spec, final, BATCH)

    def test_resets_by_itself_where_an_episode_ended(self, env: HostEnv) -> None:
        length, ends = np.zeros(BATCH, int), 0
        for ahead, final, last in self.walk(env):
            length += 1
            dead, here = np.zeros(BATCH, bool), np.zeros(BATCH, bool)
            for role in env.spec.roles:
                after, before = np.asarray(ahead.obs[role.name]), np.asarray(final.obs[role.name])
                np.testing.assert_array_equal(after[~last], before[~last])
                ends_value = np.asarray(final.discount[role.name]) == 0
                dead |= ends_value.any(-1)
                here |= (ends_value & np.asarray(final.alive[role.name])).any(-1)  # an agent that has left ends only its own
            assert not np.any(ahead.last)
            assert not np.any(here & ~last), "value ended where the sequence did not"
            if env.spec.time_limit is not None:
                assert np.all((length == env.spec.time_limit)[last & ~dead]), f"cut after {length}, not at {env.spec.time_limit}"
                assert np.all(length <= env.spec.time_limit)
            length[last] = 0
            ends += int(last.sum())
        if env.spec.time_limit is not None:
            assert ends, "no episode ended within the time limit"

    def test_what_was_returned_does_not_change_later(self, env: HostEnv) -> None:
        kept = [(final, {name: np.array(value) for name, value in final.obs.items()}) for _, final, _ in self.walk(env)]
        for final, obs in kept:
            for name, value in obs.items():
                np.testing.assert_array_equal(final.obs[name], value)

    def test_same_seeds_same_trajectory(self, env: HostEnv) -> None:
        first = [final for _, final, _ in self.walk(env)]
        for a, (_, b, _) in zip(first, self.walk(env), strict=True):
            same(a, b)

    def test_each_environment_has_its_own_seed(self, env: HostEnv) -> None:
        rng, both = np.random.default_rng(3), self.seeds()
        together = env.reset(both)
        actions = random_actions(env.spec, together, rng)
        _, together = env.step(actions)
        for b in range(BATCH):
            env.reset(both[b : b + 1])
            _, alone = env.step({name: value[b : b + 1] for name, value in actions.items()})
            for name, obs in alone.obs.items():
                np.testing.assert_allclose(np.asarray(obs)[0], np.asarray(together.obs[name])[b], rtol=1e-5, atol=1e-6)

    def test_draws_itself(self, env: HostEnv) -> None:
        env.reset(self.seeds())
        if self.draws:
            check_picture(env.render(0))
        else:
            with pytest.raises(ValueError, match="draw"):
                env.render(0)

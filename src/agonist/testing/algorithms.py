"""What every algorithm keeps, as tests: subclass a suite in your own tests and say how yours is made.

    class TestMine(AlgorithmSuite):
        role = team(Discrete(4))
        config = MyConfig(rollout=8)

        def make(self, config, axes=()):
            return make_mine(config, self.role, axes)

`PlayerSuite` is for whoever only acts, `AlgorithmSuite` for those who learn, too. Both play with random moments of the role, in which
masks change, episodes end by death or by a time limit and agents leave before the others; no environment is needed. pytest collects
the subclass and runs each rule.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from agonist.testing.envs import random_action
from agonist.types import Algorithm, Array, Batch, Box, Discrete, HostArray, MultiDiscrete, Role, Space, TimeStep, Transition, Tree

BATCH = 4  # environments
FOUR = Discrete(4)
DRAWS = 25  # times that the rules of acting are tried


def team(
    action: Space = FOUR, obs: tuple[int, ...] = (3,), agents: int = 2, state: tuple[int, ...] = (5,), seats: tuple[int, ...] = ()
) -> Role:
    """A role to try an algorithm with."""
    return Role("player", agents, Box(float("-inf"), float("inf"), obs), action, seats=seats, state_shape=state)


def random_moments(role: Role, rng: np.random.Generator, *lead: int) -> TimeStep:
    """Moments [*lead, N, ...] that have nothing to do with each other: nobody has left, nothing ends."""
    seats = (*lead, len(role.seats))
    return TimeStep(
        obs=rng.normal(size=(*seats, *role.obs.shape)).clip(role.obs.low, role.obs.high).astype(role.obs.dtype),
        reward=rng.normal(size=seats).astype(np.float32),
        discount=np.ones(seats, np.float32),
        last=np.zeros(lead, bool),
        legal=_random_legal(role, rng, seats),
        alive=np.ones(seats, bool),
        state=rng.normal(size=(*lead, *role.state_shape)).astype(np.float32),
    )


def _random_legal(role: Role, rng: np.random.Generator, seats: tuple[int, ...]) -> HostArray | None:
    if isinstance(role.action, Box):
        return None
    masks = []
    for n in role.action.ns if isinstance(role.action, MultiDiscrete) else (role.action.n,):
        mask = rng.random((*seats, n)) < 0.5
        mask[(*np.indices(seats), rng.integers(0, n, seats))] = True
        masks.append(mask)
    return np.concatenate(masks, axis=-1)


def random_play(role: Role, rng: np.random.Generator, steps: int, batch: int = BATCH) -> tuple[TimeStep, TimeStep]:
    """What was seen before and after each of so many steps [T, B, ...]. After an end, `before` goes on with another episode."""
    before, after = random_moments(role, rng, steps, batch), random_moments(role, rng, steps, batch)
    last = rng.random((steps, batch)) < 0.25
    died = rng.random(before.reward.shape) < 0.15
    alive = before.alive.copy()
    for t in range(1, steps):
        alive[t] = last[t - 1][:, None] | (alive[t - 1] & ~died[t - 1])
    over = died | ~alive | (last & (rng.random(last.shape) < 0.5))[..., None]

    def followed(ahead: HostArray, ends: HostArray) -> HostArray:
        following = np.concatenate([ahead[1:], ends[-1:]])
        return np.where(last.reshape(*last.shape, *[1] * (ends.ndim - 2)), ends, following)

    after = after._replace(
        obs=followed(before.obs, after.obs),
        legal=None if before.legal is None else followed(before.legal, after.legal),
        state=followed(before.state, after.state),
        discount=np.where(over, 0.0, 1.0).astype(np.float32),
        alive=followed(alive, alive & ~died),
        last=last,
    )
    return before._replace(alive=alive), after


def gather(algorithm: Algorithm, state: Tree, play: tuple[TimeStep, TimeStep], key: Array) -> Batch:
    """The experience of an actor that sees such play, as a learner is given it."""
    import jax
    import jax.numpy as jnp

    before, after = play
    params, fresh = algorithm.actor(state), algorithm.carry(before.last.shape[1])

    def step(carry: Tree, at: tuple[TimeStep, TimeStep, Array]) -> tuple[Tree, Transition]:
        seen, led, key = at
        actions, extras, carry = algorithm.act(params, seen, carry, key)
        if algorithm.value is not None:
            extras = {**extras, "next_value": algorithm.value(params, led, carry)}
        begins = jax.tree.map(lambda new, old: jnp.where(led.last.reshape(-1, *[1] * (old.ndim - 1)), new, old), fresh, carry)
        return begins, Transition(
            obs=seen.obs, legal=seen.legal, state=seen.state, actions=actions, extras=extras, reward=led.reward, discount=led.discount,
            last=led.last, alive=seen.alive, next_obs=led.obs, next_legal=led.legal, next_state=led.state,
        )  # fmt: skip

    _, transition = jax.lax.scan(step, fresh, (before, after, jax.random.split(key, before.last.shape[0])))
    return Batch(transition, fresh)


def close(ours: Tree, theirs: Tree, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Two trees are equal but for rounding."""
    import jax

    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol), ours, theirs)


def differ(ours: Tree, theirs: Tree) -> bool:
    """Whether any number of two trees of one structure does."""
    import jax

    return any(jax.tree.leaves(jax.tree.map(lambda a, b: not np.array_equal(np.asarray(a), np.asarray(b)), ours, theirs)))


def like(tree: Tree) -> Any:
    """What a loop must keep: structure, shapes and types."""
    import jax

    leaves = [(leaf.shape, str(leaf.dtype), leaf.weak_type) for leaf in jax.tree.leaves(jax.eval_shape(lambda: tree))]
    return str(jax.tree.structure(tree)), leaves


def key_of(seed: int) -> Array:
    import jax

    return jax.random.key(seed)


class Made(NamedTuple):
    algorithm: Algorithm
    state: Tree
    act: Any  # compiled
    greedy: Any


class PlayerSuite:
    """The rules of whoever acts."""

    role: Role
    config: Any = None
    heeds_legal = True  # False for a script that does not look at the mask
    plays_greedily = True  # False where that means nothing

    def make(self, config: Any, axes: tuple[str, ...] = ()) -> Algorithm:
        raise NotImplementedError("say in `make` which algorithm this is")

    @pytest.fixture(scope="class")
    @classmethod
    def made(cls) -> Made:
        import jax

        algorithm = cls().make(cls.config)
        return Made(algorithm, algorithm.init(key_of(0)), jax.jit(algorithm.act), jax.jit(algorithm.greedy))

    def moment(self, seed: int) -> TimeStep:
        return random_moments(self.role, np.random.default_rng(seed), BATCH)

    def walk(self, made: Made, params: Tree, seed: int = 0) -> Iterator[tuple[TimeStep, Any, Any, Any]]:
        """Moments, actions, extras and the memory after them, of one long episode."""
        carry = made.algorithm.carry(BATCH)
        for t in range(DRAWS):
            timestep = self.moment(100 * seed + t)
            actions, extras, carry = made.act(params, timestep, carry, key_of(t))
            yield timestep, actions, extras, carry

    def check_actions(self, timestep: TimeStep, actions: Any) -> None:
        space, actions = self.role.action, np.asarray(actions)
        assert actions.shape == (BATCH, len(self.role.seats), *space.shape)
        if isinstance(space, Box):
            assert actions.dtype == space.dtype
            assert np.all((actions >= space.low) & (actions <= space.high)), f"{actions.min()} to {actions.max()} is beyond {space}"
            return
        assert actions.dtype == np.int32
        parts = actions[..., None] if isinstance(space, Discrete) else actions
        ns = (space.n,) if isinstance(space, Discrete) else space.ns
        assert np.all((parts >= 0) & (parts < np.array(ns)))
        if self.heeds_legal:
            places = parts + np.cumsum((0, *ns[:-1]))
            assert np.take_along_axis(np.asarray(timestep.legal), places, -1).all(), "an action that is not legal was taken"

    def test_actions_are_legal_and_of_the_space(self, made: Made) -> None:
        params = made.algorithm.actor(made.state)
        for timestep, actions, _, _ in self.walk(made, params):
            self.check_actions(timestep, actions)

    def test_greedy_actions_are_legal_and_of_the_space(self, made: Made) -> None:
        params, carry = made.algorithm.policy(made.state), made.algorithm.carry(BATCH)
        if not self.plays_greedily:
            with pytest.raises(ValueError, match="greedy"):
                made.algorithm.greedy(params, self.moment(0), carry)
            return
        for t in range(DRAWS):
            timestep, before = self.moment(t), carry
            actions, carry = made.greedy(params, timestep, before)
            self.check_actions(timestep, actions)
            assert like(carry) == like(before)
            again, _ = made.greedy(params, timestep, before)
            np.testing.assert_array_equal(actions, again)

    def test_memory_and_extras_keep_their_form(self, made: Made) -> None:
        """They go through a loop and into a buffer: the same tree at every step, the batch ahead."""
        import jax

        carry, forms = made.algorithm.carry(BATCH), []
        for _, _, extras, after in self.walk(made, made.algorithm.actor(made.state)):
            assert like(after) == like(carry)
            forms.append(like(extras))
            assert all(leaf.shape[0] == BATCH for leaf in jax.tree.leaves((extras, after)))
        assert all(form == forms[0] for form in forms)

    def test_same_key_same_actions(self, made: Made) -> None:
        params, carry, timestep = made.algorithm.actor(made.state), made.algorithm.carry(BATCH), self.moment(0)
        close(made.act(params, timestep, carry, key_of(1)), made.act(params, timestep, carry, key_of(1)), rtol=0, atol=0)
        drawn = [np.asarray(made.act(params, timestep, carry, key_of(seed))[0]) for seed in range(DRAWS)]
        assert any(differ(drawn[0], one) for one in drawn) == made.algorithm.stochastic

    def test_compiled_is_not_compiled(self, made: Made) -> None:
        import jax
        import jax.numpy as jnp

        params, timestep = made.algorithm.actor(made.state), jax.tree.map(jnp.asarray, self.moment(3))
        *_, (_, _, _, carry) = self.walk(made, params)
        close(made.algorithm.act(params, timestep, carry, key_of(0)), made.act(params, timestep, carry, key_of(0)))

    def test_a_fresh_memory_forgets_and_rows_keep_to_themselves(self, made: Made) -> None:
        """Where an episode begins, play is as if nothing had been; elsewhere it goes on undisturbed."""
        import jax

        params, fresh, begins = made.algorithm.actor(made.state), made.algorithm.carry(BATCH), np.arange(BATCH) % 2 == 0
        *_, (_, _, _, old) = self.walk(made, params)
        mixed = jax.tree.map(lambda a, b: np.where(begins.reshape(-1, *[1] * (a.ndim - 1)), a, b), fresh, old)
        timestep = self.moment(5)
        anew, on, both = (made.act(params, timestep, carry, key_of(2)) for carry in (fresh, old, mixed))
        close(jax.tree.map(lambda leaf: leaf[begins], both), jax.tree.map(lambda leaf: leaf[begins], anew))
        close(jax.tree.map(lambda leaf: leaf[~begins], both), jax.tree.map(lambda leaf: leaf[~begins], on))

    def test_a_policy_is_all_that_playing_needs(self, made: Made) -> None:
        import jax

        actor, policy = made.algorithm.actor(made.state), made.algorithm.policy(made.state)
        for (_, theirs, *_), (_, ours, *_) in zip(self.walk(made, actor), self.walk(made, policy), strict=True):
            np.testing.assert_allclose(np.asarray(theirs, np.float32), np.asarray(ours, np.float32), rtol=1e-4, atol=1e-5)
        assert len(jax.tree.leaves(policy)) <= len(jax.tree.leaves(actor))


class AlgorithmSuite(PlayerSuite):
    """The rules of whoever learns from what it played."""

    @pytest.fixture(scope="class")
    @classmethod
    def update(cls, made: Made) -> Any:
        import jax

        assert made.algorithm.update is not None
        return jax.jit(made.algorithm.update)

    @pytest.fixture(scope="class")
    @classmethod
    def batch(cls, made: Made) -> Batch:
        """Experience of the first parameters, as numpy arrays."""
        import jax

        play = random_play(cls.role, np.random.default_rng(1), made.algorithm.plan.rollout)
        gathered = jax.jit(lambda state, play, key: gather(made.algorithm, state, play, key))(made.state, play, key_of(1))
        return jax.tree.map(np.asarray, gathered)

    def test_init_is_a_function_of_its_key(self, made: Made) -> None:
        import jax

        init = made.algorithm.init
        close(init(key_of(0)), made.state, rtol=0, atol=0)
        assert differ(made.algorithm.policy(init(key_of(1))), made.algorithm.policy(made.state))
        asked = jax.eval_shape(init, key_of(0))
        assert [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(asked)] == [
            (leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(made.state)
        ]

    def test_an_update_learns_and_tells(self, made: Made, update: Any, batch: Batch) -> None:
        state, metrics, priorities = update(made.state, batch, key_of(0))
        assert differ(made.algorithm.policy(state), made.algorithm.policy(made.state)), "nothing was learned"
        explained = _words(inspect.getmodule(made.algorithm.update))
        for name, value in metrics.items():
            assert np.shape(value) == ()
            assert np.isfinite(value), f"{name} is {value}"
            assert name in explained, f"the docstring of {made.algorithm.name} does not explain {name}"
        assert all(np.isfinite(leaf).all() for leaf in _numbers(state)), "a number of the state is not finite"
        assert (priorities == ()) == (made.algorithm.plan.buffer != "prioritised")

    def test_a_state_goes_through_a_loop(self, made: Made, update: Any, batch: Batch) -> None:
        state, _, _ = update(made.state, batch, key_of(0))
        assert like(state) == like(made.state)

    def test_same_inputs_same_outputs(self, made: Made, update: Any, batch: Batch) -> None:
        first, again = update(made.state, batch, key_of(3)), update(made.state, batch, key_of(3))
        close(first, again, rtol=0, atol=0)

    def test_who_has_left_weighs_nothing(self, made: Made, update: Any, batch: Batch) -> None:
        """What an agent saw, did and got after it left changes no number."""
        t, rng = batch.transition, np.random.default_rng(4)
        gone = ~t.alive
        assert gone.any()

        def elsewhere(old: HostArray, new: HostArray) -> HostArray:
            return np.where(gone.reshape(*gone.shape, *[1] * (old.ndim - 3)), new, old)

        other = random_moments(self.role, rng, *t.last.shape)
        actions = random_action(self.role.action, t.legal, gone.shape, rng)
        changed = t._replace(
            obs=elsewhere(t.obs, other.obs), reward=elsewhere(t.reward, other.reward), actions=elsewhere(t.actions, actions)
        )
        assert differ(t.actions, changed.actions)
        close(update(made.state, batch._replace(transition=changed), key_of(0)), update(made.state, batch, key_of(0)), rtol=0, atol=0)

    def test_numbers_are_data(self, made: Made, update: Any, batch: Batch) -> None:
        """A traced number of the config lies in the state: another one compiles nothing, and is obeyed."""

        def twice(state: Tree) -> Tree:
            for seed in range(2):  # a schedule shows in the second
                state, _, _ = update(state, batch, key_of(seed))
            return made.algorithm.actor(state)

        before = twice(made.state)
        compiled = update._cache_size()
        for field in fields(self.config):
            if not field.metadata.get("traced"):
                continue
            number = getattr(self.config, field.name)
            other = 1e-3 if number is None else 0.01 * number if number else 1.0
            state = self.make(replace(self.config, **{field.name: other})).init(key_of(0))
            assert like(state) == like(made.state), f"another {field.name} is another program"
            assert differ(twice(state), before), f"{field.name}={other} changes nothing"
        assert update._cache_size() == compiled

    def test_equal_shards_are_one_of_them(self, made: Made, update: Any, batch: Batch) -> None:
        """Two shards that saw the same learn what one does, and end with one state."""
        import jax

        sharded = self.make(self.config, ("shards",))
        assert sharded.update is not None
        mapped = jax.jit(jax.vmap(sharded.update, in_axes=(None, 0, None), out_axes=(None, 0, 0), axis_name="shards"))
        both = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), batch)
        alone = together = made.state
        for seed in range(2):
            alone, told, _ = update(alone, batch, key_of(seed))
            together, told_both, _ = mapped(together, both, key_of(seed))
            close({name: value[1] for name, value in told_both.items()}, told, rtol=1e-3)
        timestep, carry = self.moment(0), made.algorithm.carry(BATCH)
        one, two = (made.act(made.algorithm.actor(state), timestep, carry, key_of(0)) for state in (alone, together))
        close(one, two, rtol=1e-3, atol=1e-4)


def _words(module: Any) -> set[str]:
    return set(re.findall(r"[\w/]+", module.__doc__ or ""))


def _numbers(tree: Tree) -> list[HostArray]:
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if np.issubdtype(leaf.dtype, np.number)]

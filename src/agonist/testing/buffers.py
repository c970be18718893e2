"""What every buffer keeps, as tests: subclass `BufferSuite` in your own tests and say how yours is made.

    class TestMine(BufferSuite):
        def make(self):
            return my_buffer(capacity=100)

Batches are numbered, so that what is sampled can be found among what was added. pytest collects the subclass and runs each rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agonist.testing.algorithms import close, differ, key_of, like
from agonist.types import Batch, Buffer, Transition, Tree

T, B, N = 6, 4, 2


def numbered(i: int) -> Batch:
    """A rollout [T, B, N, ...] all of whose observations are numbers of its own: those of environment b at t are 1000 i + 10 t + b."""
    place = (1000 * i + 10 * np.arange(T)[:, None] + np.arange(B)).astype(np.float32)
    seats = np.repeat(place[..., None], N, axis=-1)
    transition = Transition(
        obs=np.stack([seats] * 3, axis=-1), legal=np.ones((T, B, N, 5), bool), state=place[..., None],
        actions=np.zeros((T, B, N), np.int32), extras={"log_prob": -seats, "value": seats}, reward=seats,
        discount=np.ones((T, B, N), np.float32), last=place % 3 == 0, alive=np.ones((T, B, N), bool),
        next_obs=np.stack([seats + 10] * 3, axis=-1), next_legal=np.ones((T, B, N, 5), bool), next_state=place[..., None] + 10,
    )  # fmt: skip
    return Batch(transition, {"memory": np.zeros((B, N, 3), np.float32)})


class BufferSuite:
    """The rules of a buffer."""

    adds = 1  # after so many there must be enough to sample

    def make(self) -> Buffer:
        raise NotImplementedError("say in `make` which buffer this is")

    @pytest.fixture(scope="class")
    @classmethod
    def buffer(cls) -> Buffer:
        """Compiled, as in training."""
        import jax

        plain = cls().make()
        return Buffer(plain.init, *(jax.jit(f) for f in (plain.add, plain.can_sample, plain.sample, plain.reprioritise, plain.retain)))

    def filled(self, buffer: Buffer, adds: int | None = None) -> Tree:
        state = buffer.init(numbered(0))
        for i in range(self.adds if adds is None else adds):
            state = buffer.add(state, numbered(i))
        return state

    def test_there_is_something_to_sample_once_enough_was_added(self, buffer: Buffer) -> None:
        assert not self.make().can_sample(buffer.init(numbered(0)))
        assert buffer.can_sample(self.filled(buffer))

    def test_what_is_sampled_was_added(self, buffer: Buffer) -> None:
        import jax

        batch, indices, weights = buffer.sample(self.filled(buffer), key_of(0))
        t = jax.tree.map(np.asarray, batch.transition)
        assert str(jax.tree.structure(batch)) == str(jax.tree.structure(numbered(0)))
        places = np.unique(np.concatenate([numbered(i).transition.obs.ravel() for i in range(self.adds)]))
        assert np.isin(t.obs, places).all()
        for a, b in ((t.reward, t.obs[..., 0]), (t.extras["value"], t.obs[..., 0]), (t.state[..., 0], t.obs[..., 0, 0])):
            np.testing.assert_array_equal(a, b, err_msg="parts of different moments were put together")
        np.testing.assert_array_equal(t.next_obs, t.obs + 10)
        np.testing.assert_array_equal(t.last, t.state[..., 0] % 3 == 0)
        assert [leaf.dtype for leaf in jax.tree.leaves(batch)] == [leaf.dtype for leaf in jax.tree.leaves(numbered(0))]
        assert np.shape(weights) == np.shape(indices)
        assert np.all(np.isfinite(weights) & (np.asarray(weights) > 0))

    def test_a_sample_is_a_function_of_its_key(self, buffer: Buffer) -> None:
        state, plain = self.filled(buffer), self.make()
        once = buffer.sample(state, key_of(1))
        assert not differ(once, buffer.sample(state, key_of(1)))
        close(once, plain.sample(state, key_of(1)))  # compiled is not compiled

    def test_priorities_leave_what_was_added_alone(self, buffer: Buffer) -> None:
        state = self.filled(buffer)
        _, indices, weights = buffer.sample(state, key_of(2))
        after = buffer.reprioritise(state, indices, np.ones(np.shape(weights), np.float32))
        assert like(after) == like(state)
        assert buffer.can_sample(after)

    def test_what_is_retained_goes_through_a_loop(self, buffer: Buffer) -> None:
        """Between rollouts a buffer is as it was made, tree for tree, so that training is one program."""
        state: Any = buffer.init(numbered(0))
        form = like(state)
        for i in range(3):
            state = buffer.retain(buffer.add(state, numbered(i)))
            assert like(state) == form
        assert buffer.can_sample(buffer.add(state, numbered(3)))

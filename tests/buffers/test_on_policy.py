"""On policy: the last rollout, whole, once."""

import jax
import numpy as np
import pytest

from agonist.buffers import make_buffer
from agonist.testing.algorithms import close
from agonist.testing.buffers import B, BufferSuite, numbered
from agonist.types import Plan


class TestOnPolicy(BufferSuite):
    def make(self):
        return make_buffer(Plan(rollout=6))


def test_the_newest_rollout_is_sampled_whole_whatever_the_key():
    buffer = make_buffer(Plan(rollout=6))
    state = buffer.add(buffer.add(buffer.init(numbered(0)), numbered(0)), numbered(1))
    for seed in range(2):
        batch, indices, weights = buffer.sample(state, jax.random.key(seed))
        close(batch, numbered(1), rtol=0, atol=0)
        np.testing.assert_array_equal(indices, np.arange(B))
        np.testing.assert_array_equal(weights, np.ones(B))
    assert buffer.retain(state) == ()


def test_an_unknown_buffer_is_refused():
    with pytest.raises(ValueError, match="no buffer 'flat' yet: there is 'rollout'"):
        make_buffer(Plan(rollout=1, buffer="flat"))

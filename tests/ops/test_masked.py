import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from agonist.ops.masked import masked_mean


def test_only_rows_that_count_do():
    x = jnp.array([[1.0, 2.0], [3.0, 400.0]])
    assert_allclose(masked_mean(x, jnp.array([[1.0, 1.0], [1.0, 0.0]])), 2.0)
    assert_allclose(masked_mean(x, jnp.array([[True, False], [False, False]])), 1.0)
    assert_allclose(masked_mean(x, jnp.ones_like(x)), np.mean(x))


def test_no_row_is_zero():
    assert masked_mean(jnp.ones(3), jnp.zeros(3)) == 0.0

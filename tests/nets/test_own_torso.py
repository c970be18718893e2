"""Torsos of one's own, in a whole network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import nets, own
from agonist.nets.core import Shape, make_network
from agonist.nets.torso import mlp


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(own, "_known", {})


def wide(hidden, activation):
    """The widths are the key's, and the head fits itself to twice the last."""
    return mlp((*hidden, 2 * hidden[-1]), activation)


def shape_of(made, **more):
    return Shape((0, 1), 2, torso=own.named(made), hidden=(8,), **more)


@pytest.mark.parametrize("more", [{}, {"share": False, "memory": 4}], ids=str)
def test_a_network_with_it_acts_and_learns(more):
    net = make_network(shape_of(wide, **more), (3,), 5, 1.0)
    params, x = net.init(jax.random.key(0)), jnp.ones((4, 2, 3))
    carry, out = net.step(params, net.carry(4), x)
    assert out.shape == (5, 4, 2)
    assert jax.tree.map(jnp.shape, carry) == jax.tree.map(jnp.shape, net.carry(4))
    learned = net.unroll(params, net.carry(4), x[None], jnp.zeros((1, 4), bool))
    np.testing.assert_allclose(np.asarray(learned).reshape(5, 4, 2), out, rtol=1e-5, atol=1e-6)


def test_the_same_torso_by_hand_is_the_same_network():
    theirs = make_network(shape_of(lambda hidden, activation: mlp(hidden, activation)), (3,), 5, 1.0)
    ours = make_network(Shape((0, 1), 2, hidden=(8,)), (3,), 5, 1.0)
    jax.tree.map(np.testing.assert_array_equal, theirs.init(jax.random.key(0)), ours.init(jax.random.key(0)))


def test_pixels_come_as_pixels():
    def init(rng, shape):
        assert shape == (6, 6, 2)
        return {"w": rng.normal(size=(7, 2))}

    pair = (init, lambda params, x: params["w"] @ x.mean((1, 2)).T)
    net = make_network(shape_of(pair), (6, 6, 2), 5, 1.0)
    _, out = net.step(net.init(jax.random.key(0)), (), jnp.ones((4, 2, 6, 6, 2)))
    assert out.shape == (5, 4, 2)


def test_functions_that_see_rows_first_are_turned():
    def init(key, x):
        return {"w": jax.random.normal(key, (x.shape[-1], 6))}

    turned = nets.rows_first(init, lambda params, x: x @ params["w"])
    params = turned.init(np.random.default_rng(0), (3,))
    assert isinstance(params["w"], np.ndarray)
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(turned.apply(params, jnp.asarray(x.T)), (x @ params["w"]).T, rtol=1e-5)
    net = make_network(shape_of(turned), (3,), 5, 1.0)
    shapes = jax.eval_shape(net.init, jax.random.key(0))  # also where it is only asked for its shapes
    assert jax.tree.map(jnp.shape, net.init(jax.random.key(0))) == jax.tree.map(lambda leaf: leaf.shape, shapes)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda hidden: 3, "gave a int; a torso is a pair of functions"),
        (lambda: (1, 2), "gave a tuple; a torso is a pair"),
        ((lambda rng, shape: {}, lambda params, x: x.T), r"makes \(3, 5\) of \(5, 3\); a torso makes \[width, rows\], here with 3 rows"),
        ((lambda rng, shape: {}, lambda params, x: {"y": x}), r"makes dict of \(5, 3\)"),
    ],
)
def test_what_is_no_torso_is_refused(made, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_network(shape_of(made), (3,), 5, 1.0).init(jax.random.key(0))

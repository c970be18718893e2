"""Trees as flat mappings, and back."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist.trees import flatten, unflatten


class Pair(NamedTuple):
    left: object
    right: object


def example():
    return {
        "params": {"w": jnp.arange(6.0).reshape(2, 3), "b": np.float32(0.5)},
        "pair": Pair((jnp.int32(3), jnp.zeros((0, 4))), [np.array([True, False])]),
        "key": jax.random.key(9),
        "keys": jax.random.split(jax.random.key(1), 4).reshape(2, 2),
        "none": (),
    }


NAMES = {"params/w", "params/b", "pair/left/0", "pair/left/1", "pair/right/0", "key", "keys"}


def test_names_are_paths_and_arrays_are_numpy():
    flat = flatten(example())
    assert set(flat) == NAMES
    assert all(isinstance(array, np.ndarray) for array in flat.values())
    assert flat["params/w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert flat["keys"].dtype == np.uint32
    assert flat["keys"].shape[:2] == (2, 2)


@pytest.mark.parametrize("shapes_only", [False, True])
def test_there_and_back(shapes_only):
    tree = example()
    like = jax.eval_shape(lambda: tree) if shapes_only else tree
    back = unflatten(like, flatten(tree), "it")
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for name, array in flatten(back).items():
        assert array.dtype == flatten(tree)[name].dtype
        np.testing.assert_array_equal(array, flatten(tree)[name])


def test_random_keys_go_on_as_they_were():
    tree = example()
    back = unflatten(tree, flatten(tree), "it")
    assert jax.random.uniform(back["key"]) == jax.random.uniform(tree["key"])
    assert jax.random.uniform(back["keys"][1, 0]) == jax.random.uniform(tree["keys"][1, 0])


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        ("params/w", np.zeros((3, 2), np.float32), "params/w of policy abc is float32[3, 2]; float32[2, 3] is asked for here"),
        ("params/w", np.zeros((2, 3)), "params/w of policy abc is float64[2, 3]; float32[2, 3] is asked for here"),
        ("key", np.zeros(3, np.uint32), "key of policy abc is uint32[3]; uint32[2] is asked for here"),
        ("keys", np.zeros((2, 2, 2), np.float32), "keys of policy abc is float32[2, 2, 2]; uint32[2, 2, 2] is asked for here"),
    ],
)
def test_wrong_shapes_and_types_are_named(name, array, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        unflatten(example(), flatten(example()) | {name: array}, "policy abc")
    assert str(error.value) == sentence


def test_missing_and_odd_tensors_are_named():
    flat = flatten(example())
    del flat["params/b"]
    with pytest.raises(ValueError, match=r"policy abc holds other tensors than are asked for here: extra, params/b$"):
        unflatten(example(), flat | {"extra": np.zeros(1)}, "policy abc")
    with pytest.raises(ValueError, match=r"key, keys, pair/left/0, pair/left/1 \.\.\.$"):
        unflatten(example(), {}, "policy abc")

"""Trees of arrays as flat mappings of numpy arrays by path, and back: what is written in a checkpoint or a policy.

`flatten(tree)` -> {"learners/0/params/actor/w": array}; `unflatten(like, flat)` needs a tree of the same structure and checks every
name and shape. Random keys travel as their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agonist.types import Tree


def fetched(tree: Tree) -> Tree:
    """The tree in this process's memory: every array on its way before the first is waited for. Random keys stay where they are."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array) and not _is_key(leaf):
            leaf.copy_to_host_async()
    return jax.tree.map(lambda leaf: leaf if _is_key(leaf) else np.asarray(leaf), tree)


def flatten(tree: Tree) -> dict[str, np.ndarray[Any, Any]]:
    return {_name(path): _numbers(leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}


def unflatten(like: Tree, flat: Mapping[str, np.ndarray[Any, Any]], what: str) -> Tree:
    """`like` may hold shapes only; `what` says in an error whose tensors these are."""
    paths, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [_name(path) for path, _ in paths]
    if set(names) != set(flat):
        odd = sorted(set(names) ^ set(flat))
        raise ValueError(f"{what} holds other tensors than are asked for here: {', '.join(odd[:4])}{' ...' if len(odd) > 4 else ''}")
    return jax.tree.unflatten(
        structure, [_leaf(leaf, flat[name], f"{name} of {what}") for name, (_, leaf) in zip(names, paths, strict=True)]
    )


def _name(path: tuple[Any, ...]) -> str:
    return "/".join(str(getattr(part, "key", getattr(part, "name", getattr(part, "idx", part)))) for part in path)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers(leaf: Any) -> np.ndarray[Any, Any]:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _leaf(like: Any, array: np.ndarray[Any, Any], what: str) -> Any:
    wanted = jax.eval_shape(jax.random.key_data, like) if _is_key(like) else like
    if tuple(wanted.shape) != array.shape or wanted.dtype != array.dtype:
        raise ValueError(f"{what} is {array.dtype}{list(array.shape)}; {wanted.dtype}{list(wanted.shape)} is asked for here")
    return jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(like) else array

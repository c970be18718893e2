"""Torsos of one's own: a pair `(init, apply)`, or a function that makes one.

    init(rng, shape) -> params      numpy's generator and the shape of one row's input -> a nested dict of arrays
    apply(params, x) -> y           features [F, rows] (pixels [rows, H, W, C]) -> [width, rows]

A function may take `hidden` and `activation`, which are then the keys of these names; without memory `hidden` are all widths, with one
the first of them. Whatever the width is that comes out, the head fits itself to it. `rows_first` takes the functions that flax, haiku
and others make.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from agonist import own
from agonist.nets.layers import Net, Shape

ROWS = 3


def make(code: own.Code, hidden: tuple[int, ...], activation: str) -> Net:
    """The torso that own code stands for; what it does with an input is looked at when its parameters are first drawn."""
    name, made = own.short(code.name), code.made
    if callable(made):
        taken = inspect.signature(made).parameters
        made = made(**{key: value for key, value in {"hidden": hidden, "activation": activation}.items() if key in taken})
    if not (isinstance(made, tuple) and len(made) == 2 and all(map(callable, made))):
        raise ValueError(f"{name} gave a {type(made).__name__}; a torso is a pair of functions (init, apply)")
    init, apply = made

    def checked(rng: Generator, shape: Shape) -> Any:
        params = jax.tree.map(np.asarray, init(rng, shape))
        several = (ROWS, *shape) if len(shape) > 1 else (*shape, ROWS)
        found = jax.eval_shape(apply, params, jax.ShapeDtypeStruct(several, jnp.float32))
        if not hasattr(found, "shape") or len(found.shape) != 2 or found.shape[1] != ROWS:
            said = getattr(found, "shape", type(found).__name__)
            raise ValueError(f"{name} makes {said} of {several}; a torso makes [width, rows], here with {ROWS} rows")
        return params

    return Net(checked, apply)


def rows_first(init: Callable[[Array, Array], Any], apply: Callable[[Any, Array], Array]) -> Net:
    """A torso of functions that see rows first, as flax's and haiku's do: `rows_first(module.init, module.apply)`.

    `init(key, x [1, F]) -> params`, `apply(params, x [rows, F]) -> [rows, width]`.
    """

    def drawn(rng: Generator, shape: Shape) -> Any:
        with jax.ensure_compile_time_eval():
            key = jax.random.key(int(rng.integers(2**31)))
            return jax.tree.map(np.asarray, init(key, jnp.zeros((1, *shape))))

    def turned(params: Any, x: Array) -> Array:
        return apply(params, x.T if x.ndim == 2 else x).T

    return Net(drawn, turned)

"""On policy: the last rollout, whole, used once. Adding replaces, sampling takes all, nothing is retained between rollouts."""

from __future__ import annotations

import jax.numpy as jnp

from agonist.types import Array, Batch, Buffer, Tree


def on_policy() -> Buffer:
    def sample(state: Tree, key: Array) -> tuple[Batch, Array, Array]:
        batch = state.transition.last.shape[1]
        return state, jnp.arange(batch), jnp.ones((batch,))

    return Buffer(
        init=lambda example: (),
        add=lambda state, batch: batch,
        can_sample=lambda state: jnp.bool_(state != ()),
        sample=sample,
        reprioritise=lambda state, indices, priorities: state,
        retain=lambda state: (),
    )

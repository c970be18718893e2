"""Where experience waits for its learner. `make_buffer(plan)` -> the buffer that an algorithm's plan asks for."""

from __future__ import annotations

from agonist.buffers.on_policy import on_policy
from agonist.types import Buffer, Plan


def make_buffer(plan: Plan) -> Buffer:
    if plan.buffer == "rollout":
        return on_policy()
    raise ValueError(f"no buffer {plan.buffer!r} yet: there is 'rollout', the last rollout whole, once")

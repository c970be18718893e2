"""A film made by hand: three roles, two episodes, pictures of a few pixels."""

import numpy as np
import pytest

from agonist.cli.film import Agent, Cast, Film, Reel
from agonist.rollout import Frame
from agonist.types import Box, Discrete, MultiDiscrete, Role

SEEN = Box(0.0, 1.0, (1,))
WOLF = Role("wolf", 2, SEEN, Discrete(3), rewards="shared", action_names=("rest", "<b>run</b>", "bite"))
BIRD = Role("bird", 1, SEEN, Box(-1.0, 1.0, (2,)))
SAGE = Role("sage", 1, SEEN, MultiDiscrete((2, 3)))
AGENTS = (
    Agent("wolf 0", WOLF, 0, "d9b2f0"),
    Agent("wolf 1", WOLF, 1, "random"),
    Agent("bird", BIRD, 0, "random"),
    Agent("sage", SAGE, 0, "</script><script>alert(1)</script>"),
)
SIZE = 10, 12


def image(step, episode):
    """A red square that walks over a ground of the episode's own colour."""
    out = np.full((*SIZE, 3), (250, 240, 60 * episode), np.uint8)
    out[2:5, step : step + 3] = (200, 10, 10)
    return out


def frame(step, steps, episode):
    wolves, bird = (0.25 if step == 2 else 0.0), -0.5 * step
    acted = {
        "wolf": np.array([step % 3, 2], np.int32),
        "bird": np.array([[0.5, -1.0 / 3.0]], np.float32),
        "sage": np.array([[1, step % 3]], np.int32),
    }
    return Frame(
        image=image(step, episode),
        returns={"wolf": 0.25 if step >= 2 else 0.0, "bird": -0.25 * step * (step + 1), "sage": 0.0},
        last=step == steps,
        rewards={"wolf": np.array([wolves, wolves], np.float32), "bird": np.array([bird], np.float32), "sage": np.zeros(1, np.float32)},
        actions=acted if step else None,
        alive={"wolf": np.array([True, step < 3]), "bird": np.array([True]), "sage": np.array([True])},
    )


@pytest.fixture
def film():
    reels = [Reel(7 + episode, [frame(step, steps, episode) for step in range(steps + 1)]) for episode, steps in enumerate((4, 2))]
    return Film(Cast("woods:<deep>", "Two wolves & a bird.", AGENTS), reels, 10.0)

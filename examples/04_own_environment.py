"""An environment of your own, written for one stream and lifted to a batch, given to training in place of a name.

Two walkers on a ring of nine places see each other's place and are paid while they stand together. From the command line it is
`agonist train ppo ./my_env.py:make`, with a function that makes it (docs/how-to/own-environment.md); a package gives it a name
(docs/how-to/plugins.md). To know that it keeps all rules, subclass `agonist.testing.envs.EnvSuite`.

python examples/04_own_environment.py [KEY=VALUE ...]
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import agonist
from agonist import envs
from agonist.types import Box, Discrete, Env, EnvSpec, Role, TimeStep

PLACES, LIMIT = 9, 20
role = Role("walkers", 2, Box(0.0, 1.0, (2 * PLACES,)), Discrete(3), rewards="shared", reward_range=(0.0, 1.0))


def look(place, time):
    both, one = jax.nn.one_hot(place, PLACES), jnp.ones(2)
    seen = jnp.concatenate([both, both[::-1]], axis=1)  # [2, 18]: mine, then the other's
    told = {"obs": seen, "reward": one * (place[0] == place[1]), "discount": one, "legal": jnp.ones((2, 3), bool), "alive": one > 0}
    return TimeStep(**{name: {"walkers": value} for name, value in told.items()}, last=time >= LIMIT, state=jnp.zeros(0))


def reset(key):
    place = jax.random.randint(key, (2,), 0, PLACES)
    return (place, jnp.int32(0)), look(place, 0)


def step(state, actions):
    place, time = (state[0] + actions["walkers"] - 1) % PLACES, state[1] + 1
    return (place, time), look(place, time)


def render(state, b):
    row = np.full((20, 20 * PLACES, 3), 240, np.uint8)
    for place, colour in zip(np.asarray(state[0]), ((60, 120, 220), (220, 120, 60)), strict=True):
        row[4:16, 20 * place + 4 : 20 * place + 16] = colour
    return row


env = envs.lift(Env(EnvSpec("ring:9", (role,), LIMIT, state_shape=(0,)), reset, step, render))
run = agonist.train("ppo", env, **{"steps": 1e5, **dict(word.split("=", 1) for word in sys.argv[1:])})
steps, _, returns = run.metrics("eval/return")["eval/return"]
for at, value in zip(steps, returns, strict=True):
    print(f"{at:>9,} steps: together {value:.1f} of {LIMIT}")

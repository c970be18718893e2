"""A policy in your own loop: what it sees goes in, what it does comes out.

python examples/02_play_by_hand.py [KEY=VALUE ...]      keys of the training that comes first
"""

import sys

import jax
import numpy as np

import agonist

NAME = "lbf:2s-8x8-2p-2f-coop"
keys = {"steps": 4e5, **dict(word.split("=", 1) for word in sys.argv[1:])}
policy = agonist.train("ppo", NAME, **keys).policy()
player = policy.player(seed=0)

env = agonist.make(NAME)
reset, step = jax.jit(env.reset), jax.jit(env.step)
state, moment = reset(jax.random.split(jax.random.key(7), 1))  # a batch of one
total = 0.0
while not moment.last[0]:
    seen, legal = moment.obs["agents"][0], moment.legal["agents"][0]  # [2, 12], [2, 6]
    actions = player.act(seen, legal)  # [2]
    state, moment = step(state, {"agents": np.asarray(actions)[None]})
    total += float(moment.reward["agents"][0, 0])  # the team's reward, the same for both
print(f"policy {policy.name} foraged {total:.2f} of all there was")

"""Who plays is data: a policy that has learned is frozen, and another learns to beat it.

In matching pennies the row player wants both coins to show the same side, the column player does not. First row learns against a
script that always shows heads; then column learns against the policy that came of it. Whoever is frozen may be of any architecture:
it plays in the same compiled program, and learns nothing.

python examples/03_against_a_frozen_policy.py [KEY=VALUE ...]
"""

import sys

import agonist

GAME = "matrix:matching-pennies"
keys = {"steps": 1e5, **dict(word.split("=", 1) for word in sys.argv[1:])}

row = agonist.train("ppo", GAME, **{"players.column": "action:0"}, **keys)
column = agonist.train("ppo", GAME, **{"players.row": row.policy().name}, **keys)

for title, run in (("row against heads", row), ("column against that row", column)):
    told = agonist.evaluate(run, sampled=False, episodes=8)  # a run's policies meet whom they met in training
    coin = run.policy().player(greedy=True).act([[1.0]])[0]
    print(f"{title}: shows {('heads', 'tails')[coin]}, {told['eval/return']:.0f} of 25 rounds won net")

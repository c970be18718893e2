"""Two foragers learn to carry heavy food together.

python examples/01_train.py [KEY=VALUE ...]      as in: python examples/01_train.py steps=1e6 lr=1e-3
"""

import sys

import agonist

keys = {"steps": 4e5, **dict(word.split("=", 1) for word in sys.argv[1:])}
run = agonist.train("ppo", "lbf:2s-8x8-2p-2f-coop", on_metrics=lambda step, values: print(step, values.get("eval/return", "")), **keys)
print(run.id, run.result["eval/return"], run.result["eval/interval"])

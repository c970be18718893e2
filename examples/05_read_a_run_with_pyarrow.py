"""A run is a folder of plain files: its curves without Agonist.

python examples/05_read_a_run_with_pyarrow.py [RUN'S FOLDER]      the newest in .agonist, or in AGONIST_STORE, where none is named
"""

import json
import os
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

store = Path(os.environ.get("AGONIST_STORE", ".agonist"))
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else max((store / "runs").iterdir())  # ids sort by time

run = json.loads((folder / "run.json").read_text(encoding="utf8"))
print(f"{run['id']}: {run['spec']['algo']} on {run['spec']['env']}, with {run['versions']}")

points = pq.read_table(folder / "metrics")  # sealed segments: step, time, name, value
curve = points.filter(pc.field("name") == "eval/return").sort_by("step")
for point in curve.to_pylist():
    print(f"{point['step']:>10,} {point['value']:6.2f} {'#' * round(40 * max(point['value'], 0))}")

for policy in sorted(folder.glob("checkpoints/*/policies/*/provenance.json")):
    made = json.loads(policy.read_text(encoding="utf8"))
    print(f"policy {policy.parent.name} of step {made['step']:,}")

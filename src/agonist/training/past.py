"""What a run has measured so far, for sinks: a run that goes on writes other people's files anew from it, so they hold what it holds."""

from __future__ import annotations

from itertools import groupby

from agonist.checkpoints import parse_json
from agonist.runs import segments
from agonist.runs.folder import at
from agonist.runs.store import Store
from agonist.sinks import Evaluation, Past, Point


def past(store: Store, run_id: str, step: int) -> Past:
    """Its points and evaluations up to that step, in order."""
    rows = segments.rows_of(segments.read(store, at(run_id, "metrics/"), lambda problem: None))
    told = groupby((row for row in rows if row[0] <= step), key=lambda row: row[:2])
    points = [Point(at_step, time, {row[2]: row[3] for row in group}) for (at_step, time), group in told]
    times = {point.step: point.time for point in points}
    evaluations = []
    for name in store.list(at(run_id, "evaluations/")):
        number = name.rpartition("/")[2].partition("-")[0]
        if name.endswith("-eval.json") and number.isdecimal() and int(number) <= step:
            found = parse_json(store.get(name), name)
            evaluations.append(Evaluation(int(number), times.get(int(number), 0.0), found["returns"], found["length"], False))
    return Past(points, evaluations)

"""Back to a checkpoint: what came after it is taken away, so that what follows is written as if nothing had happened.

Killed on the way, it is simply done again: every deletion may have happened already. Readers meanwhile see no point twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from agonist.checkpoints import Damaged, canonical_json
from agonist.runs import folder, segments
from agonist.runs.folder import OPEN_POINTS, STATE, CheckpointContent, CheckpointInfo, at
from agonist.runs.store import Missing, Store


def newest_whole(store: Store, run_id: str, infos: Sequence[CheckpointInfo], warnings: list[str]) -> CheckpointContent | None:
    """The newest checkpoint that verifies; those that do not are told of in `warnings`."""
    for info in reversed(infos):
        if info.resumable:
            try:
                return folder.read_checkpoint(store, run_id, info)
            except Damaged as problem:
                warnings.append(f"checkpoint {info.name} (step {info.step:,}) is passed over: {problem}")
    if infos or warnings:
        why = "; ".join(warnings) or "none holds its state"
        raise Damaged(f"run {run_id} has no checkpoint that it could resume from: {why}. Its metrics and policies are there")
    return None


def ledger_at(store: Store, run_id: str, info: CheckpointInfo | None, warnings: list[str]) -> list[bytes]:
    """The ledger's lines as they were with that checkpoint."""
    if info is None:
        return []
    lines: list[bytes] = []
    with suppress(Missing):
        lines = store.get(at(run_id, "ledger.jsonl")).splitlines(keepends=True)[: info.ledger]
    if len(lines) < info.ledger:
        warnings.append(f"the ledger of run {run_id} has lost lines: {len(lines)} of {info.ledger} are there")
    return lines + ([] if info.interim else [canonical_json(line) + b"\n" for line in info.lines])


def roll_back(store: Store, run_id: str, info: CheckpointInfo | None, kept: Sequence[CheckpointInfo], ledger: Sequence[bytes]) -> None:
    """Take away what came after that checkpoint: other checkpoints' marks and states, points, transcripts, lines."""
    whole = {known.name for known in kept}
    with_state = {known.name for known in kept if known.resumable}
    for name in [*store.folders(at(run_id, "checkpoints/"))]:
        gone = ["checkpoint.json"] * (name not in whole) + [STATE, OPEN_POINTS] * (name not in with_state)
        for file in gone:
            store.delete(at(run_id, "checkpoints", name, file))
    store.delete(at(run_id, "metrics", segments.LIVE))
    for number, name in sorted(segments.sealed(store, at(run_id, "metrics/")).items(), reverse=True):
        if number > (info.segments if info else 0):
            store.delete(name)
    for name in [*store.list(at(run_id, "evaluations/"))]:
        step = name.rpartition("/")[2].partition("-")[0]
        if step.isdecimal() and int(step) > (info.step if info else 0):
            store.delete(name)
    store.replace(at(run_id, "ledger.jsonl"), b"".join(ledger))

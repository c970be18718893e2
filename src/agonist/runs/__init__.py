"""Runs: where they are kept, written, resumed, read and found."""

from agonist.runs.find import find_policy, find_run, find_runs, run_policies
from agonist.runs.folder import (
    CheckpointContent,
    CheckpointInfo,
    checkpoints,
    list_runs,
    load_checkpoint,
    read_events,
    read_ledger,
    read_log,
    read_metrics,
    read_run,
)
from agonist.runs.store import DirectoryStore, Missing, Store, StoreError, open_store
from agonist.runs.writer import RunWriter, create, open_for_resume

__all__ = [
    "CheckpointContent",
    "CheckpointInfo",
    "DirectoryStore",
    "Missing",
    "RunWriter",
    "Store",
    "StoreError",
    "checkpoints",
    "create",
    "find_policy",
    "find_run",
    "find_runs",
    "list_runs",
    "load_checkpoint",
    "open_for_resume",
    "open_store",
    "read_events",
    "read_ledger",
    "read_log",
    "read_metrics",
    "read_run",
    "run_policies",
]

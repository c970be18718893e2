"""Runs: where they are kept, written, resumed, read and found. Each part is imported when something of it is used: who lists runs
needs nothing of who writes them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

HOMES = {
    "find": ("find_policy", "find_run", "find_runs", "run_policies"),
    "folder": (
        "CheckpointContent",
        "CheckpointInfo",
        "checkpoints",
        "list_runs",
        "load_checkpoint",
        "read_events",
        "read_ledger",
        "read_log",
        "read_metrics",
        "read_run",
    ),
    "store": ("DirectoryStore", "Missing", "Store", "StoreError", "open_store"),
    "writer": ("RunWriter", "create", "open_for_resume"),
}

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


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"agonist.runs.{home}"), name)
    raise AttributeError(f"module 'agonist.runs' has no attribute {name!r}")

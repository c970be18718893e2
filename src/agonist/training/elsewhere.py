"""What of a run is also written elsewhere, by whom: keys that the user typed are followed, those of a stranger's run are not.

A run that an archive brought says in its own run.json which files and services its points go to. Nobody here has asked for that, so it
goes on in the store alone. Out: the keys that are followed; one line on stderr where they were read from a run that goes on.
"""

from __future__ import annotations

import sys

from agonist.runs.folder import came_from_elsewhere
from agonist.runs.writer import RunWriter
from agonist.sinks import LogConfig, chosen, places


def elsewhere(out: RunWriter, log: LogConfig) -> LogConfig:
    """`log` as far as it is followed."""
    parent = out.summary.get("parent")
    if not chosen(log):
        return log
    if any(came_from_elsewhere(out.store, run) for run in (out.id, parent) if run):
        asked = ", ".join(chosen(log))
        said = f"run {out.id} was brought here from elsewhere: the sinks it asks for ({asked}) are left out; it goes on in the store alone"
        out.log(said)
        log = LogConfig()
    else:
        said = f"run {out.id} goes on, and so do its sinks: {where}" if out.number > 1 and (where := places(log)) else ""
    if said:
        print(f"agonist: {said}", file=sys.stderr, flush=True)
    return log

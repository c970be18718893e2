"""The policies that a run ends with, as folders anybody can copy: BASE/policies/RUN/ROLE/HASH."""

from __future__ import annotations

from pathlib import Path

from agonist.checkpoints import write_policy
from agonist.sinks.config import LogConfig
from agonist.sinks.paths import part
from agonist.sinks.records import Beginning, Ending, Sink


def open_model(beginning: Beginning, config: LogConfig) -> Sink:
    def close(ending: Ending) -> None:
        for role, content in ending.policies.items():
            write_policy(Path(config.base_exp_path) / "policies" / part(beginning.run) / part(role), content)

    return Sink(close=close)

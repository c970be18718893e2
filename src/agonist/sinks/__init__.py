"""What a run writes beside its own folder: other people's files and services. A sink that fails or hangs stops and slows nothing.

`open_sinks(config, beginning)` -> `Sinks`, whose `metrics`, `evaluation` and `close` training calls; `settle` ends it all. A sink is a
`Card` under the entry-point group `agonist.sinks`; ours come through the same door as a plugin's.
"""

from agonist.sinks.config import LogConfig, chosen
from agonist.sinks.lanes import GROUP, Sinks, card, check, open_sinks, places, settle
from agonist.sinks.records import Beginning, Card, Ending, Evaluation, Past, Point, Sink

__all__ = [
    "GROUP",
    "Beginning",
    "Card",
    "Ending",
    "Evaluation",
    "LogConfig",
    "Past",
    "Point",
    "Sink",
    "Sinks",
    "card",
    "check",
    "chosen",
    "open_sinks",
    "places",
    "settle",
]

"""What a kill costs a sweep: `kills` with several values and seeds, among them programs that differ, so that processes share the work."""

from __future__ import annotations

from dataclasses import dataclass

from agonist.bench import kills
from agonist.types import option

measure = kills.measure


@dataclass(frozen=True)
class Options(kills.Options):
    steps: int = option(100_000, "environment steps of a run", span=(1, None))
    words: str = option("lr=1e-3,3e-3 hidden=[32],[64] --seeds 2", "more words, between spaces: keys, --seeds")

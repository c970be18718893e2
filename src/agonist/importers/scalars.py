"""TensorBoard's event files -> a run a folder, as TensorBoard itself shows them: its files one after the other.

Where a later file (a run that was resumed) begins at an earlier step, what the files before it hold from there on is superseded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agonist.importers.foreign import LARGEST, Foreign, digest, head_of, merged, number, spec_of
from agonist.sinks import Point, events

PATTERN = "*tfevents*"


def read_folder(folder: Path, keys: Mapping[str, str]) -> list[Foreign]:
    found = [path for path in sorted(folder.rglob(PATTERN)) if path.is_file() and not path.is_symlink()]
    if not found:
        raise ValueError(f"{folder} holds no event files ({PATTERN}); name the file to import")
    homes = dict.fromkeys(path.parent for path in found)
    return [read_files([path for path in found if path.parent == home], keys, home) for home in homes]


def read_files(paths: Sequence[Path], keys: Mapping[str, str], home: Path | None = None) -> Foreign:
    rows: list[Point] = []
    contents = []
    for path in paths:
        head_of(path)
        contents.append(path.read_bytes())
        if sum(map(len, contents)) > LARGEST:
            raise ValueError(f"{path.parent} holds more than {LARGEST:,} bytes of events")
        try:
            new = [Point(event.step, event.time, _known(event.values)) for event in events.read(contents[-1])]
        except events.NoEvents as error:
            raise ValueError(f"{path} is damaged, or no event file: {error}") from None
        if new:
            first = min(row.step for row in new)
            rows = [row for row in rows if row.step < first or not row.values.keys() & new[0].values.keys()] + new
    what = home or paths[0]
    if any(row.step < 0 for row in rows):
        raise ValueError(f"{what} has steps below 0")
    whole, final = merged(rows, keys, str(what))
    return Foreign(str(what), spec_of(what, keys), whole, digest(*contents), final)


def _known(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if number(value) is not None}

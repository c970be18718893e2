"""A table -> a run: a column of steps and a column a metric. Or the columns step, name, value, as our own segments have them, and run,
algo, env, seed beside them where it holds several runs; what else is the same in all rows of a named run is a key of it.

Columns of words are passed over. The step's column is found by its usual names, or named: step=COLUMN.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agonist.importers.foreign import Foreign, digest, finite, merged, number, spec_of, whole
from agonist.runs.export import unguarded
from agonist.sinks import Point

STEPS = ("step", "steps", "env_step", "env_steps", "step_count", "timestep", "timesteps", "total_steps", "global_step", "_step", "t")
TIMES = ("time", "timestamp", "_timestamp", "wall_time")
LONG = {"step", "name", "value"}
OWN = ("run", "algo", "env", "seed")  # of a long table: whose points they are, as `agonist runs export` writes them


def read_csv(path: Path, keys: Mapping[str, str]) -> list[Foreign]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no UTF-8 text") from None
    first = text.partition("\n")[0]
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    try:
        names = [unguarded(name.strip()) for name in next(lines, [])]
        rows = [[*map(unguarded, line)] for line in lines if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise ValueError(f"{path} is no CSV: {error}") from None
    for i, line in enumerate(rows, 2):
        if len(line) != len(names):
            raise ValueError(f"{path}: row {i:,} has {len(line)} cells where the head names {len(names)}")
    return _foreign(path, data, names, rows, keys)


def read_parquet(path: Path, keys: Mapping[str, str]) -> list[Foreign]:
    import pyarrow.lib as pa
    import pyarrow.parquet as pq

    data = path.read_bytes()
    try:
        table = pq.read_table(io.BytesIO(data))
        columns = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path} is damaged, or no Parquet: {str(error).splitlines()[0]}") from None
    return _foreign(path, data, table.column_names, list(zip(*columns, strict=True)), keys)


def _foreign(path: Path, data: bytes, names: Sequence[str], lines: Iterable[Sequence[Any]], keys: Mapping[str, str]) -> list[Foreign]:
    if "return" in keys and keys["return"] not in names and not set(names) >= LONG:
        raise ValueError(f"{path} has no column {keys['return']!r}; there is {', '.join(names)}")
    own = [name for name in OWN if name in names] if set(names) >= LONG else []
    others = [name for name in names if name not in (*OWN, *LONG) and name.lower() not in TIMES] if "run" in own else []
    runs: dict[tuple[str, ...], list[Point]] = {}
    same: dict[tuple[str, ...], dict[str, Any]] = {}
    for told, row in _rows(path, names, lines, keys):
        identity = tuple(str(told[name]) for name in own)
        runs.setdefault(identity, []).append(row)
        kept = same.setdefault(identity, {name: told[name] for name in others})
        for name in [name for name, value in kept.items() if told[name] != value]:
            del kept[name]
    if not runs:
        raise ValueError(f"{path} holds no figures: it has a head, and no row")
    out = []
    for identity, rows in runs.items():
        said: dict[str, Any] = {name: text for name, text in zip(own, identity, strict=True) if name != "run" and text}
        said |= {name.removeprefix("spec."): _value(cell) for name, cell in same[identity].items() if cell not in (None, "")}
        found, final = merged(rows, keys, f"{path}{': ' * bool(identity)}{' '.join(identity)}")
        sha256 = digest(data) if not own else digest(repr((identity, rows)).encode())
        out.append(Foreign(" ".join([path.name, *identity]), spec_of(path, {**said, **keys}), found, sha256, final))
    return out


def _value(cell: Any) -> Any:
    """Numbers as numbers: in a CSV all are words."""
    found = number(cell) if isinstance(cell, str) else None
    return cell if found is None else int(found) if found.is_integer() else found


def _rows(
    path: Path, names: Sequence[str], lines: Iterable[Sequence[Any]], keys: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, Any], Point]]:
    """(the line by column, its row)"""
    at = _column(path, names, keys)
    clock = next((name for name in names if name.lower() in TIMES), None)
    moment = path.stat().st_mtime
    for i, line in enumerate(lines, 2):
        told = dict(zip(names, line, strict=True))
        step = whole(told[at], f"{path}: row {i:,}, column {at}")
        cells = [(str(told["name"]), told["value"])] if told.keys() >= LONG else told.items()
        values = {name: found for name, cell in cells if name not in (at, clock) and (found := number(cell)) is not None}
        yield told, Point(step, (finite(told[clock]) or moment) if clock else moment, values)


def _column(path: Path, names: Sequence[str], keys: Mapping[str, str]) -> str:
    """The one that holds the steps."""
    wanted = [keys["step"]] if "step" in keys else STEPS
    low = [name if "step" in keys else name.lower() for name in names]
    for name in wanted:
        if name in low:
            return names[low.index(name)]
    listed = ", ".join(names[:20])[:400]
    raise ValueError(f"{path} has no column {wanted[0]!r}; say which counts environment steps, as in step=COLUMN; there is {listed}")

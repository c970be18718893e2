"""A run's metrics as one table that everything opens: a row a step, a column a metric, empty where it was not measured.

BASE/csv/RUN.csv grows row by row and is written anew where a metric comes up for the first time; BASE/parquet/RUN.parquet is written
whole each time. Both begin with `step` and `time` (unix seconds). A run that goes on drops the rows of later steps first.
"""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agonist.sinks.config import LogConfig
from agonist.sinks.paths import part, write_whole
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink, kept

HEAD = ("step", "time")


class Row(NamedTuple):
    step: int
    time: float
    values: Mapping[str, float]


class Rows:
    """Points told one call after another -> whole rows: a row is whole when the next step begins."""

    def __init__(self) -> None:
        self._open: Row | None = None
        self.whole: list[Row] = []

    def add(self, step: int, moment: float, values: Mapping[str, float]) -> None:
        if self._open and self._open.step == step:
            self._open = Row(step, self._open.time, {**self._open.values, **values})
            return
        self.end()
        self._open = Row(step, moment, dict(values))

    def end(self) -> None:
        self.whole += [self._open] if self._open else []
        self._open = None

    def take(self) -> list[Row]:
        taken, self.whole = self.whole, []
        return taken


def _sink(rows: Rows, write: Any) -> Sink:
    def evaluation(found: Evaluation) -> None:
        if means := found.means():
            rows.add(found.step, found.time, means)

    def close(ending: Ending) -> None:
        rows.end()
        write()

    return Sink(rows.add, evaluation, write, close)


def _left(rows: Iterable[Row], beginning: Beginning) -> list[Row]:
    """What stays of the table of a run that goes on."""
    cut = (row._replace(values=kept(row.step, row.values, beginning)) for row in rows)
    return [row for row in cut if row.values]


def open_csv(beginning: Beginning, config: LogConfig) -> Sink:
    path = Path(config.base_exp_path) / "csv" / f"{part(beginning.run)}.csv"
    rows = Rows()
    rows.whole = _left(read_csv(path), beginning) if path.exists() else []
    names: list[str] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True) if not rows.whole else None

    def write() -> None:
        new = rows.take()
        fresh = dict.fromkeys(name for row in new for name in row.values if name not in names)
        if fresh or not path.exists():
            old = list(read_csv(path)) if names else []
            names.extend(fresh)
            write_whole(path, _lines([HEAD + tuple(names)]) + _lines(_cells(row, names) for row in [*old, *new]))
        elif new:
            with open(path, "ab") as file:
                file.write(_lines(_cells(row, names) for row in new))

    return _sink(rows, write)


def _cells(row: Row, names: Iterable[str]) -> list[Any]:
    return [row.step, repr(row.time), *(repr(row.values[name]) if name in row.values else "" for name in names)]


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def read_csv(path: Path) -> Iterator[Row]:
    """The rows of a file of ours; a last one that a killed writer left half is passed over."""
    text = path.read_text(encoding="utf8")
    lines = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
    names = next(lines, [])[len(HEAD) :]
    for step, moment, *cells in lines:
        yield Row(int(step), float(moment), {name: float(cell) for name, cell in zip(names, cells, strict=True) if cell})


def open_parquet(beginning: Beginning, config: LogConfig) -> Sink:
    path = Path(config.base_exp_path) / "parquet" / f"{part(beginning.run)}.parquet"
    rows = Rows()
    columns: dict[str, array[Any]] = {"step": array("q"), "time": array("d")}
    if path.exists():
        _extend(columns, _left(read_parquet(path), beginning))

    def write() -> None:
        _extend(columns, rows.take())
        write_whole(path, encode_parquet(columns))

    return _sink(rows, write)


def _extend(columns: dict[str, array[Any]], rows: Iterable[Row]) -> None:
    for row in rows:
        before = len(columns["step"])
        for name in row.values:
            columns.setdefault(name, array("d", [math.nan]) * before)
        for name, column in columns.items():
            column.append({"step": row.step, "time": row.time}.get(name, row.values.get(name, math.nan)))


def encode_parquet(columns: Mapping[str, array[Any]]) -> bytes:
    import numpy as np
    import pyarrow.lib as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(np.array(column, column.typecode), from_pandas=True) for column in columns.values()]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), out, compression="zstd")
    return out.getvalue()


def read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    for row in pq.read_table(path).to_pylist():
        values = {name: value for name, value in row.items() if name not in HEAD and value is not None}
        yield Row(row["step"], row["time"], values)

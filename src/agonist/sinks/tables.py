"""A run's metrics as one table that everything opens: a row a step, a column a metric, empty where it was not measured.

BASE/csv/RUN.csv grows row by row and is written anew where a metric comes up for the first time; BASE/parquet/RUN.parquet is written
whole each time. Both begin with `step` and `time` (unix seconds). A run that goes on writes both anew from what it measured.
"""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agonist.sinks.config import LogConfig
from agonist.sinks.paths import part, write_whole
from agonist.sinks.records import Beginning, Ending, Evaluation, Point, Sink

HEAD = ("step", "time")


class Rows:
    """Points told one call after another -> whole rows: a row is whole when the next step begins."""

    def __init__(self, beginning: Beginning) -> None:
        self._open: Point | None = None
        self.whole: list[Point] = []
        for point in beginning.past().points if beginning.past else ():
            self.add(*point)

    def add(self, step: int, moment: float, values: Mapping[str, float]) -> None:
        if self._open and self._open.step == step:
            self._open = Point(step, self._open.time, {**self._open.values, **values})
            return
        self.end()
        self._open = Point(step, moment, dict(values))

    def end(self) -> None:
        self.whole += [self._open] if self._open else []
        self._open = None

    def take(self) -> list[Point]:
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


def open_csv(beginning: Beginning, config: LogConfig) -> Sink:
    path = Path(config.base_exp_path) / "csv" / f"{part(beginning.run)}.csv"
    rows, names, began = Rows(beginning), list[str](), False

    def write() -> None:
        nonlocal began
        new = rows.take()
        fresh = list(dict.fromkeys(name for row in new for name in row.values if name not in names))
        if fresh or not began:
            body = path.read_bytes()[len(_line([*HEAD, *names])) :] if began else b""
            names.extend(fresh)
            old = b"".join(line + b"," * len(fresh) + b"\n" for line in body.splitlines())
            write_whole(path, _line([*HEAD, *names]) + old + b"".join(_line(_cells(row, names)) for row in new))
            began = True
        elif new:
            with open(path, "ab") as file:
                file.writelines(_line(_cells(row, names)) for row in new)

    return _sink(rows, write)


def _cells(row: Point, names: Iterable[str]) -> list[Any]:
    return [row.step, repr(row.time), *(repr(row.values[name]) if name in row.values else "" for name in names)]


def _line(cells: Iterable[Any]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()


def open_parquet(beginning: Beginning, config: LogConfig) -> Sink:
    path = Path(config.base_exp_path) / "parquet" / f"{part(beginning.run)}.parquet"
    rows = Rows(beginning)
    columns: dict[str, array[Any]] = {"step": array("q"), "time": array("d")}

    def write() -> None:
        _extend(columns, rows.take())
        write_whole(path, encode_parquet(columns))

    return _sink(rows, write)


def _extend(columns: dict[str, array[Any]], rows: Iterable[Point]) -> None:
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

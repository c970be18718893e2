"""Metric points as sealed columns on disk, and what is still being written beside them.

A point is (step int64, time float64 in unix seconds, name, value float64). Sealed segments are Parquet: pandas or DuckDB open
`metrics/*.parquet`. What is not sealed yet lives in one object, `metrics/live.jsonl`, whose first line names the segment that
it will become; a reader ignores it once that segment is there, so no point is ever counted twice. Sealing happens exactly at
checkpoints, never by time, so what the ledger hashes (`canonical_bytes`: nothing of time) is the same in every repetition.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from agonist.checkpoints import Damaged
from agonist.runs.store import Missing, Store, number_of

Array = np.ndarray[Any, Any]
Row = tuple[int, float, str, float]  # step, time, name, value
Series = dict[str, tuple[Array, Array, Array]]  # name -> steps, times, values

SUFFIX = ".parquet"
LIVE = "live.jsonl"
TIMING = "perf/"  # metrics of the machine, not of the experiment: no repetition has the same


class Points(NamedTuple):
    """Many points as columns, in the order in which they were made."""

    step: Array  # [n] int64
    time: Array  # [n] float64
    name: Array  # [n] int32: where in `names`
    value: Array  # [n] float64
    names: tuple[str, ...]


def points_of(rows: Sequence[Row]) -> Points:
    steps, times, names, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    index = np.array([place[name] for name in names], np.int32)
    return Points(np.array(steps, np.int64), np.array(times, np.float64), index, np.array(values, np.float64), tuple(place))


def rows_of(points: Points) -> list[Row]:
    names = [points.names[i] for i in points.name]
    return list(zip(points.step.tolist(), points.time.tolist(), names, points.value.tolist(), strict=True))


def check_metric(name: str) -> str:
    if not name or not name.isprintable():
        raise ValueError(f"{name!r} cannot name a metric: use words joined by '/', as in 'loss/policy'")
    return name


def canonical_bytes(points: Points) -> bytes:
    """What the ledger hashes: steps, names and values in order, to the bit; without times and what measures time (`perf/`)."""
    kept = [i for i, at in enumerate(points.name) if not points.names[at].startswith(TIMING)]
    step, value = points.step[kept].astype("<i8"), points.value[kept].astype("<f8")
    names = "\n".join([points.names[i] for i in points.name[kept]])
    return b"\n".join([b"points 1 %d" % len(kept), step.tobytes(), value.tobytes(), names.encode()])


def encode(points: Points) -> bytes:
    import pyarrow.lib as pa  # `pyarrow` exports the same names, unseen by type checkers
    import pyarrow.parquet as pq

    def column(values: Array, kind: Any) -> Any:
        """Not by `pa.array`, which imports pandas where there is one: most of a second, to see that this is no Series."""
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])

    texts = [name.encode() for name in points.names]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    known = pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(texts)))
    names = pa.DictionaryArray.from_arrays(column(points.name, pa.int32()), known)
    numbers = {"time": column(points.time, pa.float64()), "name": names, "value": column(points.value, pa.float64())}
    table = pa.table({"step": column(points.step, pa.int64()), **numbers})
    out = BytesIO()
    pq.write_table(table, out, compression="zstd", use_dictionary=["name", "step"], write_page_checksum=True)
    return out.getvalue()


def decode(data: bytes, what: str) -> Points:
    import pyarrow.lib as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(BytesIO(data), page_checksum_verification=True)
        table = file.read(columns=["step", "time", "name", "value"])
        name = table["name"].combine_chunks()
        name = name if isinstance(name.type, pa.DictionaryType) else name.dictionary_encode()
        kinds = {"step": pa.int64(), "time": pa.float64(), "value": pa.float64()}
        step, time, value = (_numbers(table[column].combine_chunks(), kind) for column, kind in kinds.items())
        return Points(step, time, _numbers(name.indices, pa.int32()), value, tuple(name.dictionary.cast(pa.string()).to_pylist()))
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
        raise Damaged(f"{what} is damaged ({str(error).splitlines()[0]})") from None


def _numbers(column: Any, kind: Any) -> Array:
    """A column without holes as numpy has it; pyarrow's own way imports pandas where there is one."""
    if column.null_count:
        raise ValueError("it has holes")
    column = column.cast(kind)
    return np.frombuffer(column.buffers()[1], kind.to_pandas_dtype())[column.offset : column.offset + len(column)].copy()


def encode_row(row: Row) -> str:
    """A line of live.jsonl. JSON has no NaN or infinities: they are strings there, which `float` reads."""
    step, time, name, value = row
    number = repr(value) if np.isfinite(value) else f'"{value!r}"'
    return f'{{"step": {step}, "time": {time!r}, "name": {json.dumps(name)}, "value": {number}}}\n'


def encode_live(segment: int, lines: Iterable[str]) -> bytes:
    return (f'{{"segment": {segment}}}\n' + "".join(lines)).encode()


def decode_live(data: bytes, what: str) -> tuple[int, Points]:
    """(the segment that it will become, the points)"""
    try:
        head, *lines = (json.loads(line) for line in data.splitlines())
        rows = [(int(line["step"]), float(line["time"]), str(line["name"]), float(line["value"])) for line in lines]
        return int(head["segment"]), points_of(rows)
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{what} is damaged ({error})") from None


def join(parts: Sequence[Points]) -> Points:
    """One after the other, under one list of names."""
    place: dict[str, int] = {}
    columns: list[Array] = []
    for part in parts:
        moved = np.array([place.setdefault(name, len(place)) for name in part.names], np.int32)
        columns.append(moved[part.name] if len(part.name) else part.name)
    if not columns:
        return points_of([])
    step, time, value = (np.concatenate([getattr(part, column) for part in parts]) for column in ("step", "time", "value"))
    return Points(step, time, np.concatenate(columns), value, tuple(place))


def series(points: Points, names: Iterable[str] | None = None) -> Series:
    """name -> (steps, times, values); without `names`, of every metric there is."""
    wanted = points.names if names is None else [name for name in names if name in points.names]
    rows = {name: np.flatnonzero(points.name == points.names.index(name)) for name in wanted}
    return {name: (points.step[at], points.time[at], points.value[at]) for name, at in rows.items()}


def sealed(store: Store, prefix: str) -> dict[int, str]:
    """number -> name of the sealed segments under `prefix` (`runs/<id>/metrics/`)."""
    return {number: name for name in store.list(prefix) if (number := number_of(name, SUFFIX))}


def read(store: Store, prefix: str, on_problem: Callable[[str], None] = warnings.warn) -> Points:
    """Every point under `prefix`, each once, also while a writer is at work. A damaged segment is told and passed over."""
    live: tuple[int, Points] | None = None
    try:  # live before the list: what is sealed in between is then in the list, and the live copy ignored
        live = decode_live(store.get(prefix + LIVE), prefix + LIVE)
    except Missing:
        pass
    except Damaged as problem:
        on_problem(f"{problem}; the points since the last checkpoint are lost")
    parts: list[Points] = []
    lost: list[tuple[int, str]] = []
    names = sealed(store, prefix)
    for _, name in sorted(names.items()):
        try:
            parts.append(decode(store.get(name), name))
        except Missing:  # rolled back by its writer a moment ago
            continue
        except Damaged as problem:
            lost.append((len(parts), str(problem)))
    if live and live[0] not in names:
        parts.append(live[1])
    for place, sentence in lost:
        on_problem(f"{sentence}; {_between(parts, place)}; the others are read")
    return join(parts)


def _between(parts: Sequence[Points], place: int) -> str:
    """Which points a damaged segment took along, from its neighbours."""
    behind = [int(part.step[-1]) for part in parts[:place] if len(part.step)]
    ahead = [int(part.step[0]) for part in parts[place:] if len(part.step)]
    bounds = [f"after step {behind[-1]:,}"] * bool(behind) + [f"before step {ahead[0]:,}"] * bool(ahead)
    return f"its points ({' and '.join(bounds) or 'all there were'}) are lost"


def latest(rows: Sequence[Row]) -> Mapping[str, float]:
    return {name: value for _, _, name, value in rows}

"""Runs carried elsewhere: whole, as an archive, or what they measured, as a table.

    x.zip  x.tar.gz       every file of each run, as `runs/<id>/...`
    x.csv  x.parquet      a row a metric point: run, the keys in which the runs differ (algo, env and seed always), step, time, name, value;
                          the final figures come last, as final/eval/return and so on
                          (.csv: a text that a spreadsheet would take for a formula has a ' before it)
    x.json                {"runs": [{run.json, its summary, its marks, "metrics": {name: {"step", "time", "value"}}}]}

In: a store, runs, a path. Out: the file, whole or not there at all.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from agonist.checkpoints import plain, pretty_json
from agonist.runs import folder, marks, segments
from agonist.runs.folder import at
from agonist.runs.matching import text_of
from agonist.runs.rows import differing
from agonist.runs.store import TEMPORARY, Missing, Store

OnRun = Callable[[str], None]  # told the run that is written next
ALWAYS = ("algo", "env", "seed")
FINAL = "final/"
TABLES = (".csv", ".parquet")  # of points, which a sweep has none of: its runs have them
MOST_FILES = 1_000_000  # of an archive
LARGEST = 4 << 30  # bytes of one file in it
RATIO = 200  # an archive may unfold to so many times its size: what the importer takes, and so what is written here
FREE = 64 << 20  # bytes that it may unfold to whatever the ratio
LEVELS = (3, 0)  # of compression; at 0 no archive unfolds
FORMULA = re.compile(r"'*[=+\-@\t\r]")
OWN = ("run", "step", "time", "name", "value")  # columns of a point; a key of one of these names is said as spec.KEY


def export(store: Store, run_ids: Sequence[str], out: str | os.PathLike[str], on_run: OnRun = lambda run_id: None) -> None:
    """Write these runs to a file of the kind that its name says."""
    kind = kind_of(out)
    heads = {run_id: folder.read_head(store, run_id) for run_id in run_ids}
    with _whole(Path(out)) as half:
        WRITERS[kind](store, heads, half, on_run)


def kind_of(out: str | os.PathLike[str]) -> str:
    name = Path(out).name.lower()
    for kind in WRITERS:
        if name.endswith(kind) and name != kind:
            return kind
    raise ValueError(f"{os.fspath(out)!r} does not say what to write; end it in {', '.join(WRITERS)}")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its name when all of it is written."""
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    half = path.with_name(TEMPORARY + secrets.token_hex(6))
    try:
        yield half
        os.replace(half, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        half.unlink(missing_ok=True)


def unfolds_to(path: Path) -> int:
    """Bytes to which an archive may unfold, and is taken back."""
    return max(FREE, RATIO * path.stat().st_size)


def _files(store: Store, run_id: str) -> Iterator[tuple[str, bytes]]:
    for name in [*store.list(at(run_id, ""))]:
        try:
            data = store.get(name)
        except Missing:  # its writer let it go meanwhile
            continue
        if len(data) > LARGEST:
            raise ValueError(f"{name} has {len(data):,} bytes, and archives hold files of up to {LARGEST:,}; copy the run's folder instead")
        yield name, data


def _zip(store: Store, heads: Mapping[str, Any], path: Path, on_run: OnRun) -> None:
    from zipfile import ZIP_DEFLATED, ZipFile

    for level in LEVELS:
        with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=level) as archive:
            for run_id in heads:
                on_run(run_id)
                for name, data in _files(store, run_id):
                    archive.writestr(name, data)
        held = archive.infolist()
        if _is_taken_back(path, sum(info.file_size for info in held), len(held)):
            return
        on_run = _untold


def _tar(store: Store, heads: Mapping[str, Any], path: Path, on_run: OnRun) -> None:
    import tarfile
    import time
    from io import BytesIO

    for level in LEVELS:
        count = 0
        with tarfile.open(path, "w:gz", compresslevel=level) as archive:
            for run_id in heads:
                on_run(run_id)
                for name, data in _files(store, run_id):
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mtime, entry.mode = len(data), int(time.time()), 0o644
                    archive.addfile(entry, BytesIO(data))
                    count += 1
        if _is_taken_back(path, archive.offset, count):
            return
        on_run = _untold


def _untold(run_id: str) -> None:
    """Nobody counts a run twice."""


def _is_taken_back(path: Path, size: int, count: int) -> bool:
    """Whether the importer takes it; if not, and that for its compression alone, it is written again with less."""
    if count > MOST_FILES:
        raise ValueError(f"these runs have {count:,} files, and an archive holds {MOST_FILES:,}; export fewer at a time")
    return size <= unfolds_to(path)


def _json(store: Store, heads: Mapping[str, Any], path: Path, on_run: OnRun) -> None:
    found = []
    for run_id in heads:
        on_run(run_id)
        points = {
            name: dict(zip(("step", "time", "value"), (column.tolist() for column in columns), strict=True))
            for name, columns in folder.read_metrics(store, run_id).items()
        }
        written = marks.read(store, run_id).summary()
        found.append({**folder.read_run(store, run_id), "marks": written, "metrics": points})
    path.write_bytes(pretty_json(plain({"runs": found}, nan="null")))


def _csv(store: Store, heads: Mapping[str, Any], path: Path, on_run: OnRun) -> None:
    """By Python's own writer: pyarrow's leaves threads behind that now and then abort the process as it ends."""
    import csv

    keys = _keys(heads)
    with open(path, "w", encoding="utf8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["run", *map(guarded, keys), "step", "time", "name", "value"])
        for place, run_id in enumerate(heads):
            on_run(run_id)
            named = [run_id, *("" if values[place] is None else guarded(text_of(values[place])) for values in keys.values())]
            points = _points(store, run_id)
            out.writerows([*named, *row] for row in segments.rows_of(points._replace(names=tuple(map(guarded, points.names)))))


def guarded(text: str) -> str:
    """A cell's text with a ' before it where a spreadsheet would take it for a formula, and run it. Numbers are none."""
    if not FORMULA.match(text):
        return text
    try:
        float(text)
        return text
    except ValueError:
        return f"'{text}"


def unguarded(cell: str) -> str:
    """The text that was guarded."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell


def _parquet(store: Store, heads: Mapping[str, Any], path: Path, on_run: OnRun) -> None:
    """A row group a run."""
    import pyarrow.lib as pa
    from pyarrow import parquet

    keys = {name: _column(values) for name, values in _keys(heads).items()}
    words = pa.dictionary(pa.int32(), pa.string())
    kinds = [("run", words), *((name, column.type) for name, column in keys.items())]
    schema = pa.schema([*kinds, ("step", pa.int64()), ("time", pa.float64()), ("name", words), ("value", pa.float64())])
    with parquet.ParquetWriter(str(path), schema, compression="zstd") as out:
        for place, run_id in enumerate(heads):
            on_run(run_id)
            points = _points(store, run_id)
            same = np.zeros(len(points.step), np.int32)
            runs = pa.DictionaryArray.from_arrays(pa.array(same), pa.array([run_id], pa.string()))
            names = pa.DictionaryArray.from_arrays(pa.array(points.name, pa.int32()), pa.array(points.names, pa.string()))
            columns = [column.take(pa.array(same + place)) for column in keys.values()]
            out.write_table(pa.table([runs, *columns, points.step, points.time, names, points.value], schema=schema))


def _points(store: Store, run_id: str) -> segments.Points:
    """What it measured, and its final figures at the last step."""
    points = segments.read(store, at(run_id, "metrics/"))
    final = folder.read_run(store, run_id)["summary"].get("final") or {}
    low, high = final.get("eval/interval") or (None, None)
    told = {name: value for name, value in final.items() if name.startswith("eval/")}
    told = {**told, "eval/return_low": low, "eval/return_high": high}
    found = {FINAL + name: float(value) for name, value in told.items() if isinstance(value, int | float)}
    if not found or not len(points.step):
        return points
    names = [*points.names, *found]
    many = len(found)
    return segments.Points(
        np.append(points.step, np.full(many, points.step.max())),
        np.append(points.time, np.full(many, points.time.max())),
        np.append(points.name, np.arange(len(points.names), len(names), dtype=np.int32)),
        np.append(points.value, list(found.values())),
        tuple(names),
    )


def _keys(heads: Mapping[str, Any]) -> dict[str, list[Any]]:
    """column -> a value a run, of the keys that tell the runs apart."""
    specs = [head.get("spec", {}) for head in heads.values()]
    named = dict.fromkeys([*ALWAYS, *differing(specs)])
    return {f"spec.{key}" if key in OWN else key: [spec.get(key) for spec in specs] for key in named}


def _column(values: Sequence[Any]) -> Any:
    """Numbers where all are, else text."""
    import pyarrow.lib as pa

    try:
        column = pa.array(values)
        if not isinstance(column.type, pa.ListType | pa.StructType) and column.type != pa.null():
            return column
    except (pa.ArrowInvalid, OverflowError):  # of several kinds
        pass
    return pa.array([None if value is None else text_of(value) for value in values], pa.string())


WRITERS: dict[str, Callable[[Store, Mapping[str, Any], Path, OnRun], None]] = {
    ".zip": _zip,
    ".tar.gz": _tar,
    ".csv": _csv,
    ".parquet": _parquet,
    ".json": _json,
}

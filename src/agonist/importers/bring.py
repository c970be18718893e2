"""Foreign records become runs: written as ours are, sealed, finished, of kind `foreign`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from agonist.checkpoints import Damaged, Newer
from agonist.importers import archives
from agonist.importers.foreign import Foreign, read
from agonist.runs import folder, writer
from agonist.runs.store import Store


class Brought(NamedTuple):
    """What became of one run of a file."""

    run: str | None  # its id; None where nothing was written
    new: bool  # False: it was there already
    file: str
    name: str
    spec: Mapping[str, Any]
    steps: int
    points: int | None  # None of an archive's run, which came as it was


def bring(store: Store, path: Path, name: str | None = None, keys: Mapping[str, str] | None = None, dry: bool = False) -> list[Brought]:
    """Every run of a file, in the store. `name` is the algorithm's; `keys` say what the file does not. `dry`: write nothing."""
    keys = dict(keys or {})
    if archives.is_archive(path):
        if name or keys:
            raise ValueError(f"{path} is an archive: its runs keep what they are called, so --as and keys do not go with it")
        return _from_archive(store, path, dry)
    if "://" in str(path):
        raise ValueError(f"{path} is no file; download it first")
    there = known(store)
    out = []
    for one in _named(read(path, keys), name):
        earlier, spec = there.get(one.sha256, (None, one.spec))
        run = earlier or (None if dry else _write(store, path, one))
        if run:
            there[one.sha256] = run, spec
        out.append(Brought(run, not earlier, str(path), one.name, spec, max(row.step for row in one.rows), one.points))
    return out


def known(store: Store) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Content's hash -> the run that was made of it, and its spec. One that was cut short while it was written does not count."""
    ids = [summary["id"] for summary in folder.list_runs(store) if summary.get("kind") == "foreign" and summary.get("status") == "finished"]
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for run_id in ids:
        with suppress(Damaged, Newer):
            head = folder.read_head(store, run_id)
            told = head.get("extra", {}).get("imported")
            if isinstance(told, dict) and isinstance(told.get("sha256"), str):
                found[told["sha256"]] = run_id, head.get("spec", {})
    return found


def _named(found: list[Foreign], name: str | None) -> list[Foreign]:
    """Several algorithms keep their names behind the one given."""
    if not name:
        return found
    alone = len({one.spec["algo"] for one in found}) == 1
    return [replace(one, spec={**one.spec, "algo": name if alone else f"{name} {one.spec['algo']}"}) for one in found]


def _write(store: Store, path: Path, one: Foreign) -> str:
    steps = max(row.step for row in one.rows)
    imported = {"file": path.name, "name": one.name, "sha256": one.sha256}
    out = writer.create(store, "foreign", {**one.spec, "steps": steps}, extra={"imported": imported})
    for row in one.rows:
        out.metrics(row.step, row.values, row.time)
    took = one.rows[-1].time - one.rows[0].time if one.seconds is None else one.seconds
    out.summarise(steps=steps, total=steps, wall_seconds=took, final=dict(one.final))
    out.finish("finished")
    return out.id


def _from_archive(store: Store, path: Path, dry: bool) -> list[Brought]:
    if dry:
        listed = archives.runs_in(path)
        return [Brought(run, True, str(path), run, {}, 0, None) for run in listed]
    new, there = archives.restore(store, path)
    out = []
    for run in [*new, *there]:
        summary = folder.read_run(store, run)["summary"]
        spec = {key: summary.get(key) for key in ("algo", "env", "seed")}
        out.append(Brought(run, run in new, str(path), run, spec, int(summary.get("steps") or 0), None))
    return out

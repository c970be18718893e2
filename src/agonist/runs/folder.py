"""A run's folder, read: what is in it, whatever happened to its writer.

```
runs/<id>/run.json  events/<writer>.jsonl  logs/<writer>-<part>.log  metrics/  ledger.jsonl  summary.json  evaluations/  media/
runs/<id>/annotations/  what people wrote on it (`agonist.runs.marks`)
runs/<id>/checkpoints/<hash>/{state.safetensors, policies/<hash>/, checkpoint.json}       points.parquet in one between seals
```
`checkpoint.json` is written last: a checkpoint is there exactly when it is. The run's owner is the highest-numbered writer.
In: a store and a run's id. Out: plain mappings, numpy arrays, `CheckpointContent`; sentences about what is damaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agonist.checkpoints import Damaged, Newer, PolicyContent, Tensors, check_format, decode_tensors, digest, parse_json, read_policy
from agonist.runs import marks, shapes
from agonist.runs.process import is_alive
from agonist.runs.store import Missing, Store

if TYPE_CHECKING:  # numpy is imported when points are read, and not for a listing
    from agonist.runs import segments

FORMAT = 1  # of a run's folder
STATE = "state.safetensors"
OPEN_POINTS = "points.parquet"
IMPORTED = "imported.json"  # there where an archive brought the run

Report = Callable[[str], None]


def at(run_id: str, *parts: str) -> str:
    return "/".join(("runs", run_id, *parts))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds(stamp: str | None) -> float:
    """Unix seconds of an ISO time; 0 where there is none."""
    try:
        return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0
    except (OverflowError, OSError) as error:  # a year that the platform cannot count from
        raise ValueError(f"{stamp!r} is no time of a run") from error


@dataclass(frozen=True)
class CheckpointInfo:
    """A checkpoint.json. Paths are within the run's folder."""

    name: str  # the first 20 hex digits of sha256
    sha256: str  # of step, update, state and policies; of no time
    step: int
    update: int
    interim: bool  # between seals: it leaves no trace in the ledger
    resumable: bool  # False once its state has been let go
    segments: int  # sealed when it was made
    ledger: int  # lines of the ledger before `lines`
    lines: tuple[Mapping[str, Any], ...]  # the ledger's lines made with it, or waiting for the next seal where interim
    facts: Mapping[str, Any]
    policies: Mapping[str, str]  # role -> path of a policy
    best: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]  # path -> size, sha256
    written: str

    @property
    def policy_names(self) -> dict[str, str]:
        return {role: path.rpartition("/")[2] for role, path in self.policies.items()}

    @property
    def best_names(self) -> dict[str, str]:
        return {role: path.rpartition("/")[2] for role, path in self.best.items()}

    def document(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


@dataclass(frozen=True)
class CheckpointContent:
    """A checkpoint with what it holds, verified."""

    info: CheckpointInfo
    state: Tensors
    policies: Mapping[str, PolicyContent]  # role -> the policy at that step
    best: Mapping[str, PolicyContent]  # role -> the best so far, where the writer named one
    points: segments.Points  # not sealed yet when it was made; empty unless interim


def read_run(store: Store, run_id: str) -> dict[str, Any]:
    """run.json, with the honest `summary` added."""
    run = read_head(store, run_id)
    return {**run, "summary": _summary(store, run_id, run)}


def came_from_elsewhere(store: Store, run_id: str) -> bool:
    """Whether an archive or somebody's file brought the run here: what its keys say are then others' words."""
    try:
        store.get(at(run_id, IMPORTED), 0, 0)
    except Missing:
        return bool((read_head(store, run_id).get("extra") or {}).get("imported"))
    return True


def read_head(store: Store, run_id: str) -> dict[str, Any]:
    """run.json alone. One of a newer Agonist is refused."""
    name = at(run_id, "run.json")
    try:
        run = parse_json(store.get(name), name)
    except Missing:
        raise ValueError(f"the store {store.url} has no run {run_id!r}") from None
    if _is_newer(run):
        raise Newer(f"run {run_id} {_newer(run)}")
    check_format(run, FORMAT, f"run {run_id}")
    shapes.check_head(run, run_id, name)
    return run


def _is_newer(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("format"), int) and document["format"] > FORMAT


def _newer(run: Mapping[str, Any]) -> str:
    versions = run.get("versions")
    wrote = versions.get("agonist") if isinstance(versions, dict) else None
    by, wanted = (f"Agonist {wrote}", f"'agonist>={wrote}'") if wrote else ("a newer Agonist", "-U agonist")
    return f"was written by {by} and has format {run['format']}; this Agonist reads formats up to {FORMAT}: pip install {wanted}"


def list_runs(store: Store, deleted: bool = False) -> list[dict[str, Any]]:
    """The runs' summaries, oldest first, what people wrote on a run under `marks`; those deleted only if asked for.

    Of each run summary.json is read and its newest annotation; a `running` whose process is gone is `interrupted`. A run that is
    damaged, or that a newer Agonist wrote, is listed with what can be known of it, and a `problem`.
    """
    found = (_listed(store, run_id) for run_id in store.folders("runs/"))
    return [summary for summary in found if summary and (deleted or not (summary.get("marks") or {}).get("deleted"))]


def _listed(store: Store, run_id: str) -> dict[str, Any] | None:
    try:
        summary = _summary(store, run_id)
    except Missing:
        summary = {}  # a folder, but no run; or what a purge has left of one
    except Damaged as problem:
        summary = {"id": run_id, "status": "damaged", "problem": str(problem)}
    try:
        written = marks.read(store, run_id)
    except Newer as problem:
        return {**summary, "problem": str(problem)} if summary else None
    return {**summary, "marks": written.summary()} if summary and written is not marks.NONE else summary or None


def _summary(store: Store, run_id: str, run: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """summary.json, or what run.json tells where a kill or a power cut left none."""
    name = at(run_id, "summary.json")
    try:
        summary = parse_json(store.get(name), name)
        if summary.get("id") != run_id:
            raise Damaged(f"{name} is damaged: it speaks of the run {summary.get('id')!r}")
    except (Missing, Damaged):
        name = at(run_id, "run.json")
        run = run or parse_json(store.get(name), name)
        if _is_newer(run):
            return _of_newer(run, run_id)
        shapes.check_head(run, run_id, name)
        summary = first_summary(run)
    if _is_newer(summary):
        return _of_newer(summary, run_id)
    shapes.check_summary(summary, name)
    try:
        if summary.get("status") == "running" and not is_alive(summary, seconds(summary.get("updated"))):
            summary["status"] = "interrupted"
    except (TypeError, ValueError) as error:
        raise Damaged(f"{name} is damaged: {error}") from None
    return {key: value for key, value in summary.items() if key != "marks"}  # those are nowhere but in annotations


def _of_newer(document: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    """What can be told of a run whose run.json or summary.json is a newer Agonist's."""
    spec = document.get("spec")
    told = {**(spec if isinstance(spec, dict) else {}), **document}
    known = {key: value for key, value in shapes.fitting(told, shapes.SUMMARY).items() if isinstance(value, str | int | float)}
    return {**known, "id": run_id, "status": "newer", "problem": f"run {run_id} {_newer(document)}"}


def first_summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run's summary before its first step: all that a listing needs of run.json is in it."""
    spec = run.get("spec", {})
    named = {key: spec.get(key) for key in ("algo", "env", "seed")}
    head = {"format": FORMAT, "id": run.get("id"), "kind": run.get("kind"), **named, "status": "running", "steps": 0}
    times = {"created": run.get("created"), "updated": run.get("created")}
    parent = next(iter(run.get("parents") or ()), None)
    return {**head, "parent": parent, "last": {}, "best": {}, "final": {}, **times, **run.get("process", {}), "spec": spec}


def read_metrics(store: Store, run_id: str, names: Iterable[str] | None = None, on_problem: Report = warnings.warn) -> segments.Series:
    """name -> (steps, times, values), also while the run is being written. What is damaged is told to `on_problem`."""
    read_head(store, run_id)
    from agonist.runs import segments

    return segments.series(segments.read(store, at(run_id, "metrics/"), on_problem), names)


def read_lines(store: Store, name: str, on_problem: Report = warnings.warn) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; [] where there is none."""
    try:
        data = store.get(name)
    except Missing:
        return []
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            lines.append(parse_json(line, name))
        except Damaged:
            on_problem(f"{name} is damaged at line {number}; what follows it is lost")
            break
    return lines


def read_ledger(store: Store, run_id: str) -> list[dict[str, Any]]:
    return read_lines(store, at(run_id, "ledger.jsonl"))


def read_events(store: Store, run_id: str) -> list[dict[str, Any]]:
    """Of all writers, in the order of their taking over."""
    return [event for name in store.list(at(run_id, "events/")) for event in read_lines(store, name)]


def read_log(store: Store, run_id: str) -> str:
    return "".join(store.get(name).decode(errors="replace") for name in store.list(at(run_id, "logs/")))


# checkpoints


def checkpoints(store: Store, run_id: str, on_problem: Report = warnings.warn) -> list[CheckpointInfo]:
    """Those that are complete, by step."""
    found = list(_checkpoints(store, run_id, on_problem))
    return sorted(found, key=lambda info: (info.step, info.update, info.written))


def _checkpoints(store: Store, run_id: str, on_problem: Report) -> Iterator[CheckpointInfo]:
    for folder in store.folders(at(run_id, "checkpoints/")):
        name = at(run_id, "checkpoints", folder, "checkpoint.json")
        try:
            yield _info(parse_json(store.get(name), name), name)
        except Missing:
            continue  # its writer was killed on the way: it is none
        except Damaged as problem:
            on_problem(f"{problem}; that checkpoint is passed over")


def _info(document: Mapping[str, Any], what: str) -> CheckpointInfo:
    check_format(document, FORMAT, what)
    shapes.check(document, shapes.CHECKPOINT, what)
    try:
        values = {field.name: document[field.name] for field in fields(CheckpointInfo)}
    except KeyError as error:
        raise Damaged(f"{what} is damaged: it has no {error}") from None
    return CheckpointInfo(**{**values, "lines": tuple(values["lines"])})


def read_checkpoint(store: Store, run_id: str, info: CheckpointInfo) -> CheckpointContent:
    """What a checkpoint holds, every file's hash verified. Raises `Damaged`."""
    if not info.resumable:
        raise ValueError(f"checkpoint {info.name} of run {run_id} (step {info.step:,}) let its state go; its policies are there")
    folder = f"checkpoints/{info.name}"
    state = decode_tensors(_verified(store, run_id, info, f"{folder}/{STATE}"), f"{folder}/{STATE}")
    opened = f"{folder}/{OPEN_POINTS}"
    from agonist.runs import segments

    points = segments.decode(_verified(store, run_id, info, opened), opened) if opened in info.files else segments.points_of([])
    policies, best = ({role: _policy(store, run_id, info, path) for role, path in paths.items()} for paths in (info.policies, info.best))
    return CheckpointContent(info, state, policies, best, points)


def _policy(store: Store, run_id: str, info: CheckpointInfo, path: str) -> PolicyContent:
    files = {file.rpartition("/")[2]: _verified(store, run_id, info, file) for file in info.files if file.startswith(f"{path}/")}
    return read_policy(files, path.rpartition("/")[2])


def _verified(store: Store, run_id: str, info: CheckpointInfo, path: str) -> bytes:
    what = f"{path} of run {run_id}"
    expected = info.files[path]
    try:
        data = store.get(at(run_id, path))
    except Missing:
        raise Damaged(f"{what} is not there") from None
    if len(data) != expected["size"]:
        raise Damaged(f"{what} is truncated: {len(data):,} of {expected['size']:,} bytes")
    if digest(data) != expected["sha256"]:
        raise Damaged(f"{what} was altered: its sha256 is not the recorded one")
    return data


def load_checkpoint(store: Store, run_id: str, which: str | int = "last") -> CheckpointContent:
    """`last`, `best` (the one at the step that the newest facts name as best), a step, or a checkpoint's hash."""
    return read_checkpoint(store, run_id, choose(checkpoints(store, run_id), run_id, which))


def choose(infos: list[CheckpointInfo], run_id: str, which: str | int) -> CheckpointInfo:
    if not infos:
        raise ValueError(f"run {run_id} has no checkpoint yet")
    if which == "last":
        return infos[-1]
    if which == "best":
        which = best_step(infos[-1].facts)
        if which < 0:
            raise ValueError(f"run {run_id} names no best checkpoint; @last is step {infos[-1].step:,}")
    if isinstance(which, int) or (which.isdecimal() and len(which) < 16):
        same = [info for info in infos if info.step == int(which)]
    else:
        same = [info for info in infos if info.name.startswith(which)]
    if not same:
        steps = sorted({info.step for info in infos}, key=lambda step: abs(step - int(which)) if str(which).isdecimal() else -step)
        near = ", ".join(f"{step:,}" for step in sorted(steps[:5]))
        raise ValueError(f"run {run_id} has no checkpoint {which}; there are {len(infos)}, such as those of the steps {near}")
    return same[-1]


def best_step(facts: Mapping[str, Any]) -> int:
    """The step of `facts["best"]`; -1 where the writer named none."""
    best = facts.get("best")
    return int(best["step"]) if isinstance(best, Mapping) and "step" in best else -1

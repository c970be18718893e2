"""A run's folder, written: by one writer at a time, so that a kill at any instant leaves a run that lists, shows and resumes.

Everything is one of three: created once (run.json, events of a writer), replaced whole (summary, live points, ledger), or
part of a checkpoint, which is there when its checkpoint.json is. Resuming takes the newest checkpoint that verifies and rolls
metrics and ledger back to exactly there, so what follows is written as if nothing had happened. A writer claims the run by
creating the next `events/<number>.jsonl`: of two that try one wins, and the one before learns it at its next write.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from agonist.checkpoints import NAME_DIGITS, PolicyContent, Tensors, canonical_json, digest, encode_tensors, plain, pretty_json
from agonist.runs import folder, segments
from agonist.runs.claim import ENDS, claim, event_line, events_name, last_writer, refuse_if_written
from agonist.runs.folder import OPEN_POINTS, STATE, CheckpointContent, CheckpointInfo, at, now
from agonist.runs.names import new_id
from agonist.runs.process import this_process
from agonist.runs.rollback import ledger_at, newest_whole, roll_back
from agonist.runs.store import Missing, Store, StoreError, check_name

LIVE_EVERY = 1.0  # seconds between writes of what is not sealed yet
SUMMARY_EVERY = 5.0  # seconds between heartbeats
LIVE_SHARE = 20  # writing live points takes at most a 20th of the time
LOG_PART = 65_536  # bytes after which a log goes on in its next part: nothing can be appended to
PACKAGES = ("agonist", "jax", "jaxlib", "numpy")

Policies = Mapping[str, PolicyContent]


def create(
    store: Store,
    kind: str,
    spec: Mapping[str, Any],
    *,
    parents: Sequence[str] = (),
    argv: Sequence[str] | None = None,
    extra: Mapping[str, Any] | None = None,
    keep: int = 2,
    run_id: str | None = None,
) -> RunWriter:
    """A new run of that kind (train, evaluate, sweep ...). `keep`: how many checkpoints keep their full state; `run_id`: an id
    reserved before (`names.new_id`), refused where there is such a run. The first parent is the one that a listing shows.
    """
    process = this_process()
    run: dict[str, Any] = {
        "format": folder.FORMAT,
        "id": "",
        "kind": kind,
        "created": now(),
        "spec": plain(spec, "spec"),
        "parents": list(parents),
        "argv": list(sys.argv if argv is None else argv),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": _machine(),
        "process": process,
        "extra": plain(extra or {}, "extra"),
    }
    while True:
        run["id"] = run_id or new_id()
        if store.put_if_absent(at(run["id"], "run.json"), pretty_json(run)):
            break
        if run_id:
            raise ValueError(f"the store {store.url} has a run {run_id} already; a new run needs an id of its own")
    events = claim(store, run["id"], 1, "started")
    writer = RunWriter(store, run["id"], 1, folder.first_summary(run), events, keep=keep)
    writer.summarise()
    return writer


def open_for_resume(store: Store, run_id: str, *, keep: int = 2) -> tuple[RunWriter, CheckpointContent | None]:
    """Take the run over and roll it back to its newest checkpoint that verifies; None where it never came to one.

    What the user should know (a damaged checkpoint was passed over) is in the writer's `warnings`. A run that another process
    is writing is refused, and so is one that a newer Agonist wrote.
    """
    run = folder.read_run(store, run_id)
    number = last_writer(store, run_id)
    refuse_if_written(store, run_id, run, number)
    warnings: list[str] = []
    infos = folder.checkpoints(store, run_id, warnings.append)
    content = newest_whole(store, run_id, infos, warnings)
    info = content.info if content else None
    kept = infos[: infos.index(info) + 1] if info else []
    ledger = ledger_at(store, run_id, info, warnings)
    step = info.step if info else 0
    events = claim(store, run_id, number + 1, "resumed", step=step)
    roll_back(store, run_id, info, kept, ledger)
    summary = {**folder.first_summary(run), **run["summary"], **this_process(), "status": "running", "steps": step}
    writer = RunWriter(store, run_id, number + 1, summary, events, keep=keep, warnings=warnings)
    writer._continue(content, kept, ledger)
    return writer, content


class RunWriter:
    """The one that writes a run. Every method returns when the store has what it was given."""

    def __init__(
        self, store: Store, run_id: str, number: int, summary: Mapping[str, Any], events: bytes, *, keep: int, warnings: Sequence[str] = ()
    ) -> None:
        if keep < 1:
            raise ValueError(f"keep >= 1 checkpoint with its state, got {keep}: none could be resumed from")
        self.store, self.id, self.number, self.keep, self.warnings = store, run_id, number, keep, tuple(warnings)
        self.summary: dict[str, Any] = {**summary}
        self._rows: list[segments.Row] = []  # points since the last seal
        self._live: list[str] = []  # the same, encoded, as far as they were written
        self._segments = 0
        self._ledger: list[bytes] = []  # lines
        self._pending: list[Mapping[str, Any]] = []  # evaluations since the last seal: the ledger's next lines
        self.checkpoints: list[CheckpointInfo] = []
        self._policies: dict[str, tuple[str, Mapping[str, Any]]] = {}  # a policy's name -> where this run has it, its files
        self._events = events
        self._log, self._log_part, self._log_dirty = "", 1, False
        self._next_live = self._next_summary = 0.0

    # what a run says while it runs

    def metrics(self, step: int, values: Mapping[str, float], time_s: float | None = None) -> None:
        """Remember these points. `heartbeat`, called after each batch of them, makes them visible."""
        moment = time.time() if time_s is None else time_s
        rows = [(int(step), moment, segments.check_metric(name), float(value)) for name, value in values.items()]
        self._rows += rows
        self.summary["last"].update(segments.latest(rows))

    def heartbeat(self, step: int | None = None) -> None:
        """I am alive, and have come to `step`. Writes points and log at most once a second, the summary every few."""
        if step is not None:
            self.summary["steps"] = int(step)
        moment = time.monotonic()
        if moment >= self._next_live:
            self._write_live()
            self._write_log()
        if moment >= self._next_summary:
            self.summarise()

    def summarise(self, **values: Any) -> None:
        """Merge these into summary.json and write it."""
        self._still_ours()
        self.summary |= {**values, "updated": now()}
        self.store.replace(self._at("summary.json"), pretty_json(self.summary), durable=False)
        self._next_summary = time.monotonic() + SUMMARY_EVERY

    def event(self, kind: str, **data: Any) -> None:
        self._events += event_line(kind, data)
        self.store.replace(self._at(events_name(self.number)), self._events)

    def log(self, text: str, at_once: bool = False) -> None:
        """A line that the next heartbeat writes; `at_once` where none will come."""
        if len(self._log) > LOG_PART:
            self._write_log()
            self._log, self._log_part = "", self._log_part + 1
        self._log += text if text.endswith("\n") else text + "\n"
        self._log_dirty = True
        if at_once:
            self._write_log()

    def media(self, name: str, data: bytes) -> None:
        self.store.replace(self._at("media", check_name(name)), data)

    def evaluation(self, step: int, transcript: Mapping[str, Any], name: str = "eval") -> None:
        """Keep what an evaluation gave, and its hash for the ledger (written with the next seal)."""
        data = canonical_json(transcript)
        self.store.replace(self._at("evaluations", f"{step:012d}-{name}.json"), data, durable=False)
        self._pending.append(_line(step, "evaluation", digest(data)))

    # checkpoints

    def checkpoint(
        self,
        step: int,
        update: int,
        state: Tensors,
        facts: Mapping[str, Any],
        policies: Policies,
        *,
        best: Policies | None = None,
        interim: bool = False,
    ) -> str:
        """Keep all that resuming to the bit needs, and the policies by role; `best` are those of the best evaluation so far.

        Facts are any JSON; `facts["best"]["step"]` names the checkpoint that keeps its state however old it grows. An
        `interim` one (Ctrl-C, the end of the steps asked for) lies off the regular steps: it seals nothing and the ledger does
        not know it, so that a run resumed there has the ledger of one that never stopped.
        """
        self._still_ours()
        state_bytes = encode_tensors(state)
        sha256 = digest(canonical_json(_identity(step, update, state_bytes, policies)))
        name = sha256[:NAME_DIGITS]
        if self.checkpoints and self.checkpoints[-1].name == name:
            if interim or not self.checkpoints[-1].interim:
                return self._renew(replace(self.checkpoints[-1], facts=plain(facts, "facts")))
            self.checkpoints.pop()  # an interim one turns into a regular one
        home = f"checkpoints/{name}"
        files = {f"{home}/{STATE}": state_bytes}
        if interim and self._rows:
            files[f"{home}/{OPEN_POINTS}"] = segments.encode(segments.points_of(self._rows))
        paths, policy_files = self._place(home, [policies, best or {}])
        files |= policy_files
        lines, segment = ([*self._pending], {}) if interim else self._seal(step)
        self._write({**files, **segment})
        info = CheckpointInfo(
            name=name,
            sha256=sha256,
            step=int(step),
            update=int(update),
            interim=interim,
            resumable=True,
            segments=self._segments + (not interim and bool(self._rows)),
            ledger=len(self._ledger),
            lines=tuple(lines if interim else [*lines, _line(step, "checkpoint", sha256)]),
            facts=plain(facts, "facts"),
            policies=paths[0],
            best=paths[1],
            files={file: {"size": len(data), "sha256": digest(data)} for file, data in files.items()} | self._reused(paths, files),
            written=now(),
        )
        self._renew(info)
        if not interim:
            self._commit(info.lines)
        self._retire()
        self.summarise(steps=int(step), checkpoint={"name": name, "step": int(step)})
        return name

    def finish(self, status: str, **data: Any) -> None:
        """`finished` seals what is left and completes the ledger; `interrupted` and `failed` leave it to who resumes."""
        if status not in ENDS:
            raise ValueError(f"a run ends as {', '.join(ENDS)}; got {status!r}")
        self._still_ours()
        if status == "finished":
            last = self.checkpoints[-1] if self.checkpoints else None
            step = max((row[0] for row in self._rows), default=last.step if last else 0)
            lines, segment = self._seal(step)
            self._write(segment)
            if last and last.interim:
                lines.append(_line(last.step, "checkpoint", last.sha256))
            self._commit(lines)
        else:
            self._write_live()
        self._write_log()
        self.event(status, **data)
        self.summarise(status=status)

    # within

    def _at(self, *parts: str) -> str:
        return at(self.id, *parts)

    def _still_ours(self) -> None:
        with suppress(Missing):
            self.store.get(self._at(events_name(self.number + 1)), 0, 0)
            raise StoreError(f"run {self.id} was taken over by another process; this one writes it no more")

    def _continue(self, content: CheckpointContent | None, kept: Sequence[CheckpointInfo], ledger: Sequence[bytes]) -> None:
        """Stand where the writer of that checkpoint stood."""
        self._ledger = [*ledger]
        if content:
            self._segments = content.info.segments
            self._rows = segments.rows_of(content.points)
            self._pending = [*content.info.lines] if content.info.interim else []
        for info in kept:
            self._remember(info)
        self._write_live()
        self.summarise(final={})

    def _remember(self, info: CheckpointInfo) -> None:
        self.checkpoints = [*(known for known in self.checkpoints if known.name != info.name), info]
        for path in (*info.policies.values(), *info.best.values()):
            of_it = {file: record for file, record in info.files.items() if file.startswith(f"{path}/")}
            self._policies.setdefault(path.rpartition("/")[2], (path, of_it))

    def _renew(self, info: CheckpointInfo) -> str:
        """(Re)write a checkpoint.json: the moment in which a checkpoint comes to be."""
        self.store.replace(self._at("checkpoints", info.name, "checkpoint.json"), pretty_json(info.document()))
        if any(known.name == info.name for known in self.checkpoints):
            self.checkpoints = [info if known.name == info.name else known for known in self.checkpoints]
        else:
            self._remember(info)
        return info.name

    def _place(self, home: str, several: Sequence[Policies]) -> tuple[list[dict[str, str]], dict[str, bytes]]:
        """Where each policy lies (role -> path), and the files of those that this run does not have yet."""
        paths: list[dict[str, str]] = [{} for _ in several]
        files: dict[str, bytes] = {}
        for placed, policies in zip(paths, several, strict=True):
            for role, content in policies.items():
                new = f"{home}/policies/{content.name}"
                placed[role] = self._policies[content.name][0] if content.name in self._policies else new
                if placed[role] == new:
                    files |= {f"{new}/{file}": data for file, data in content.files.items()}
        return paths, files

    def _reused(self, paths: Sequence[Mapping[str, str]], files: Mapping[str, bytes]) -> dict[str, Mapping[str, Any]]:
        """The records of policies' files that earlier checkpoints wrote."""
        known = {file: record for path, of_it in self._policies.values() if path in _values(paths) for file, record in of_it.items()}
        return {file: record for file, record in known.items() if file not in files}

    def _write(self, files: Mapping[str, bytes]) -> None:
        with ThreadPoolExecutor(4) as pool:  # a disk takes several at once: a quarter of the wait for it
            list(pool.map(lambda file: self.store.replace(self._at(file), files[file]), files))

    def _seal(self, step: int) -> tuple[list[Mapping[str, Any]], dict[str, bytes]]:
        """(the ledger's lines since the last seal, the points since then as the next segment's file)"""
        if not self._rows:
            return [*self._pending], {}
        points = segments.points_of(self._rows)
        line = _line(step, "segment", digest(segments.canonical_bytes(points)))
        return [*self._pending, line], {f"metrics/{self._segments + 1:06d}{segments.SUFFIX}": segments.encode(points)}

    def _commit(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """What was sealed is behind us. Memory first: where the ledger cannot be written now, its next write holds all of it."""
        self._segments += bool(self._rows)
        self._rows, self._live, self._pending = [], [], []
        self._ledger += [canonical_json(line) + b"\n" for line in lines]
        self.store.replace(self._at("ledger.jsonl"), b"".join(self._ledger))
        self.store.delete(self._at("metrics", segments.LIVE))

    def _retire(self) -> None:
        """Old checkpoints let their state go: first marked, then removed. Their policies stay."""
        regular = [info.name for info in self.checkpoints if info.resumable and not info.interim]
        kept = {*regular[-self.keep :], self.checkpoints[-1].name}  # an interim one takes no regular one's place
        best = folder.best_step(self.checkpoints[-1].facts)
        for info in self.checkpoints:
            if info.resumable and info.name not in kept and info.step != best:
                states = {f"checkpoints/{info.name}/{file}" for file in (STATE, OPEN_POINTS)}
                self._renew(replace(info, resumable=False, files={file: r for file, r in info.files.items() if file not in states}))
                for file in states:
                    self.store.delete(self._at(file))

    def _write_live(self) -> None:
        started = time.monotonic()
        if len(self._live) < len(self._rows):
            self._live += [segments.encode_row(row) for row in self._rows[len(self._live) :]]
            data = segments.encode_live(self._segments + 1, self._live)
            self.store.replace(self._at("metrics", segments.LIVE), data, durable=False)
        self._next_live = started + max(LIVE_EVERY, LIVE_SHARE * (time.monotonic() - started))

    def _write_log(self) -> None:
        if self._log_dirty:
            name = self._at("logs", f"{self.number:06d}-{self._log_part:06d}.log")
            self.store.replace(name, self._log.encode(), durable=False)
            self._log_dirty = False


def _identity(step: int, update: int, state_bytes: bytes, policies: Policies) -> dict[str, Any]:
    names = {role: content.name for role, content in policies.items()}
    return {"step": int(step), "update": int(update), "state": digest(state_bytes), "policies": names}


def _line(step: int, kind: str, sha256: str) -> dict[str, Any]:
    return {"step": int(step), "kind": kind, "sha256": sha256}


def _values(mappings: Sequence[Mapping[str, str]]) -> set[str]:
    return {value for mapping in mappings for value in mapping.values()}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _machine() -> dict[str, Any]:
    model = platform.machine()
    with suppress(OSError), open("/proc/cpuinfo") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    return {"system": f"{platform.system()} {platform.release()}", "cpus": os.cpu_count(), "cpu": model}

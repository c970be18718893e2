"""What people type for a run or a policy, found.

A run: its id, the beginning of it, its words (`calm-heron`), `latest`, or the path of its folder. A policy: the path of its folder, its
hash or the beginning of it, or a run with `@last`, `@best` or `@<step>`, and `:role` where the run has several.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agonist.checkpoints import NAME_DIGITS, Damaged, Newer, PolicyContent, parse_json, read_policy
from agonist.runs import marks, rows
from agonist.runs.folder import CheckpointInfo, at, checkpoints, choose, list_runs, read_head
from agonist.runs.names import words_of
from agonist.runs.removal import TAKES_ALONG, family
from agonist.runs.store import Missing, Store

STAMP = 15  # characters of an id that say its second
SHORTEST = 6  # hex digits with which a policy can be named


def find_run(store: Store, text: str, deleted: bool = False) -> str:
    """The id of the run that `text` means. Deleted runs are found only if asked for; else it is said how they come back."""
    if os.path.isfile(os.path.join(text, "run.json")):
        return _kept(store, [_at_path(store, Path(text).resolve())], deleted)[0]
    ids = [*store.folders("runs/")]
    if text == "latest" and (newest := _newest(store, ids, deleted)):
        return newest
    found = [text] if text in ids else [run_id for run_id in ids if text and (run_id.startswith(text) or words_of(run_id) == text)]
    found = _kept(store, found, deleted)
    if found and all(run_id.startswith(f"{found[0]}-") for run_id in found[1:]):
        return found[0]  # alone, or a sweep before its runs, whose ids are its own and a number
    if found:
        raise ValueError(f"{text!r} means {len(found)} runs: {_some(found)}; say more of the one")
    if not ids:
        raise ValueError(f"no run {text!r}: the store {store.url} holds no runs yet")
    names = {name: run_id for run_id in ids for name in (run_id, words_of(run_id))}
    near = list(dict.fromkeys(names[name] for name in difflib.get_close_matches(text, names, n=3, cutoff=0.5)))
    hint = f"did you mean {' or '.join(near)}?" if near else f"the newest is {ids[-1]}"
    raise ValueError(f"no run {text!r} in the store {store.url}; {hint}")


def find_runs(store: Store, texts: Sequence[str] = (), where: str | None = None, deleted: bool = False) -> list[str]:
    """The ids of the runs that are meant, each once: those named (several with commas between), those that meet a filter, or those of the
    named that meet it. Which runs a filter meets, `agonist.runs.rows.select` says: archived ones only where it asks for them."""
    named = [find_run(store, text, deleted) for word in texts for text in _several(word)]
    if where is None:
        if not named:
            raise ValueError("which runs? name them, or say --where FILTER, as in --where 'algo = ppo and tag:old'")
        return list(dict.fromkeys(named))
    found, _, hint = rows.select(store, where, archived=bool(named))
    ids = [str(row["run"]) for row in found if not named or row["run"] in named]
    if not ids:
        raise ValueError(f"no run of {'those' if named else f'the store {store.url}'} meets {where}{f': {hint}' if hint else ''}")
    return ids


def _several(word: str) -> list[str]:
    return [word] if os.path.isdir(word) else [part for part in word.split(",") if part.strip()] or [word]


def _newest(store: Store, ids: Sequence[str], deleted: bool) -> str | None:
    """The run that was begun last: of ids of one second, their words say nothing of it."""
    born: dict[str, str] = {}
    for run_id in reversed(ids):
        if born and run_id[:STAMP] != next(iter(born))[:STAMP]:
            break
        if deleted or not is_deleted(store, run_id):
            with suppress(Missing, Damaged):  # a folder, but no run
                born[run_id] = str(parse_json(store.get(at(run_id, "run.json")), run_id).get("created"))
    return max(born, key=lambda run_id: (born[run_id], run_id), default=None)


def is_deleted(store: Store, run_id: str) -> bool:
    """What a newer Agonist wrote on a run cannot be read: it is listed, so it is found."""
    try:
        return marks.read(store, run_id).deleted is not None
    except Newer:
        return False


def _kept(store: Store, found: list[str], deleted: bool) -> list[str]:
    """Without the deleted ones, or refused where there are no others."""
    kept = found if deleted else [run_id for run_id in found if not is_deleted(store, run_id)]
    if found and not kept:
        at_which = f"run {found[0]} is deleted" if len(found) == 1 else f"the runs {_some(found)} are deleted"
        raise ValueError(f"{at_which}; bring back what you need with: agonist runs restore {found[0]}")
    return kept


def _at_path(store: Store, path: Path) -> str:
    if path == Path(store.url).resolve() / "runs" / path.name:
        return path.name
    home = f"--store {path.parent.parent}" if path.parent.name == "runs" else "a store that has it under runs/"
    raise ValueError(f"the run {path} is not in the store {store.url}; use {home}")


def run_policies(store: Store, run_id: str, which: str | int = "best") -> dict[str, PolicyContent]:
    """role -> policy. `best`: the best so far, or the last where the run names none; `last`; a step; a checkpoint's hash."""
    kind = read_head(store, run_id).get("kind")
    if kind in TAKES_ALONG:
        raise ValueError(_of_many(store, run_id, kind))
    infos = checkpoints(store, run_id)
    info = choose(infos, run_id, "last" if which == "best" else which)
    paths = (info.best or _at_best_step(infos, run_id)) if which == "best" else info.policies
    return {role: _stored(store, at(run_id, path)) for role, path in paths.items()}


def _of_many(store: Store, run_id: str, kind: str) -> str:
    """Why a sweep has no policy, and which of its runs is the best so far."""
    summaries = {str(summary["id"]): summary for summary in list_runs(store)}
    children = [one for one in family(summaries.values(), [run_id]) if summaries.get(one, {}).get("kind") == "train"]
    found = {one: rows.brief_of(summaries[one]).get("eval/return") for one in children if summaries[one].get("status") != "failed"}
    scores = {one: score for one, score in found.items() if isinstance(score, int | float)}
    many = "1 run" if len(children) == 1 else f"{len(children)} runs"
    said = f"run {run_id} is a {kind} of {many}: they have the policies, not it"
    if not scores:
        return f"{said}; none of them has been evaluated yet"
    best = max(scores, key=lambda one: scores[one])
    return f"{said}; the best is {words_of(best)} (eval/return {scores[best]:.4g}): name that, or another of them"


def _at_best_step(infos: list[CheckpointInfo], run_id: str) -> Mapping[str, str]:
    try:
        return choose(infos, run_id, "best").policies
    except ValueError:
        return infos[-1].policies


def find_policy(store: Store, text: str) -> PolicyContent:
    """The one policy that `text` means."""
    if os.path.isfile(os.path.join(text, "spec.json")):
        return read_policy(text)
    if re.fullmatch(f"[0-9a-f]{{{SHORTEST},{NAME_DIGITS}}}", text) and (policy := _by_hash(store, text)):
        return policy
    name, _, role = text.partition(":")
    run_text, _, which = name.partition("@")
    if os.path.isfile(os.path.join(text, "run.json")):  # a path may hold those signs itself
        run_text, which, role = text, "", ""
    try:
        run_id = find_run(store, run_text)
    except ValueError as error:
        raise ValueError(
            f"{error}. A policy is a folder, a hash ({SHORTEST} digits or more), or RUN, RUN@last, RUN@best, RUN@<step>"
        ) from None
    policies = run_policies(store, run_id, which or "best")
    if role and role not in policies:
        raise ValueError(f"run {run_id} has policies for {', '.join(policies)}, not for {role!r}")
    if not role and len(policies) != 1:
        example = f"{run_id}@{which or 'best'}:{next(iter(policies), 'role')}"
        raise ValueError(f"run {run_id} has policies for {', '.join(policies)}; say which, as in {example}")
    return policies[role or next(iter(policies))]


def _by_hash(store: Store, text: str) -> PolicyContent | None:
    places: dict[str, str] = {}
    for run_id in store.folders("runs/"):
        if is_deleted(store, run_id):
            continue
        for checkpoint in store.folders(at(run_id, "checkpoints/")):
            home = at(run_id, "checkpoints", checkpoint, "policies")
            places |= {name: f"{home}/{name}" for name in store.folders(f"{home}/") if name.startswith(text)}
    if len(places) > 1:
        raise ValueError(f"{text!r} means {len(places)} policies: {_some(sorted(places))}; say more digits")
    return _stored(store, next(iter(places.values()))) if places else None


def _stored(store: Store, place: str) -> PolicyContent:
    files = {}
    for file in ("spec.json", "tensors.safetensors", "provenance.json"):
        try:
            files[file] = store.get(f"{place}/{file}")
        except Missing:
            continue
    return read_policy(files, place.rpartition("/")[2])


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")

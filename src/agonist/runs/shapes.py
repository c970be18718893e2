"""What a run's JSON documents must look like where others count on it: they come from disks, other versions and other people's archives.

In: a parsed document. Out: nothing, or `Damaged` with the key, what it is and what belongs there. Keys that are not there are fine, keys
that nobody knows too: a later Agonist may have written them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from agonist.checkpoints import Damaged

LARGEST = 1 << 63  # of whole numbers: a float holds it, and so does every file format
DEEPEST = 32  # lists and mappings within one another
NESTS = {dict, list}

Fits = Callable[[Any], bool]
Shape = Mapping[str, tuple[str, Fits]]  # key -> (what belongs there, in words; whether a value is that)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < LARGEST)


def _is_whole(value: Any) -> bool:
    return value is None or (isinstance(value, int) and abs(value) < LARGEST)


def _is_interval(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_notes(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and all(isinstance(one.get(key), str) for key in NOTE) for one in value)


def _is_deletion(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or not isinstance(value.get("time"), str):
        return False
    until = value.get("until")
    return until is not None and _is_number(until) and math.isfinite(until) and _is_text(value.get("by")) and _is_text(value.get("along"))


def _is_paths(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(path, str) for path in value.values())


def _is_files(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and type(one.get("size")) is int and isinstance(one.get("sha256"), str) for one in value.values()
    )


NOTE = ("time", "by", "text")
TEXT, NUMBER, WHOLE, MAPPING = ("text", _is_text), ("a number", _is_number), ("a whole number", _is_whole), ("a mapping", _is_mapping)
FACTS: Shape = {
    **dict.fromkeys(("kind", "algo", "env", "created"), TEXT),
    "seed": ("a number or text", lambda value: _is_text(value) or _is_number(value)),
}
SUMMARY: Shape = {
    **FACTS,
    **dict.fromkeys(("status", "updated", "parent", "problem", "host", "started"), TEXT),
    **dict.fromkeys(("steps", "total", "wall_seconds"), NUMBER),
    **dict.fromkeys(("last", "best", "final", "spec"), MAPPING),
    "pid": WHOLE,
}
FIGURES: Shape = {  # of a summary's `last` and `final`
    **dict.fromkeys(("eval/return", "eval/return_low", "eval/return_high"), NUMBER),
    "eval/interval": ("a list of two numbers", _is_interval),
}
PROCESS: Shape = {"host": TEXT, "started": TEXT, "pid": WHOLE}
HEAD: Shape = {
    **dict.fromkeys(("id", "kind", "created"), TEXT),
    **dict.fromkeys(("spec", "process", "versions", "extra"), MAPPING),
    "parents": ("a list of runs", lambda value: value is None or _is_texts(value)),
}
MARKS: Shape = {
    "tags": ("a list of words", _is_texts),
    "notes": ("a list of mappings of time, by and text", _is_notes),
    "archived": TEXT,
    "deleted": ("a mapping of time, until, by and along", _is_deletion),
}
CHECKPOINT: Shape = {
    **dict.fromkeys(("name", "sha256", "written"), ("text", lambda value: isinstance(value, str))),
    **dict.fromkeys(("step", "update", "segments", "ledger"), ("a whole number", lambda value: type(value) is int)),
    **dict.fromkeys(("interim", "resumable"), ("true or false", lambda value: isinstance(value, bool))),
    **dict.fromkeys(("policies", "best"), ("a mapping of paths", _is_paths)),
    "lines": ("a list of mappings", lambda value: isinstance(value, list) and all(map(_is_mapping, value))),
    "facts": MAPPING,
    "files": ("a mapping of sizes and hashes", _is_files),
}


def check(document: Mapping[str, Any], shape: Shape, what: str) -> None:
    """Raise `Damaged` where a value is of another kind than belongs there."""
    for key, (kind, fits) in shape.items():
        if key in document and not fits(document[key]):
            raise Damaged(f"{what} is damaged: its {key} is {_brief(document[key])}, where {kind} belongs")


def check_depth(document: Mapping[str, Any], what: str) -> None:
    """What is deeper than anybody nests would end in a `RecursionError` somewhere."""
    level = [*document.values()]
    for _ in range(DEEPEST):
        level = [one for value in level if type(value) in NESTS for one in (value.values() if type(value) is dict else value)]
        if not level:
            return
    raise Damaged(f"{what} is damaged: it is nested more than {DEEPEST} deep")


def fitting(document: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Of a document that may be anything, what is known and as it should be."""
    return {key: value for key, value in document.items() if key in shape and shape[key][1](value)}


def _brief(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float | None) else f"a {type(value).__name__} that is none"


def check_summary(summary: Mapping[str, Any], what: str) -> None:
    check(summary, SUMMARY, what)
    for part in ("last", "final"):
        check(summary.get(part, {}), FIGURES, f"{what}, {part},")
    check(summary.get("spec", {}), FACTS, f"{what}, spec,")
    check_depth(summary, what)


def check_head(head: Mapping[str, Any], run_id: str, what: str) -> None:
    check(head, HEAD, what)
    check(head.get("process", {}), PROCESS, f"{what}, process,")
    check(head.get("spec", {}), FACTS, f"{what}, spec,")
    check_depth(head, what)
    if head.get("id") != run_id:
        raise Damaged(f"{what} is damaged: it speaks of the run {str(head.get('id'))[:60]!r}")

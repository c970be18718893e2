"""A run as one flat row: what a listing shows, a filter asks for and a server's table holds.

In: a run's summary, as `agonist.runs.list_runs` gives it. Out: field -> value. The run's own facts come first (run, kind, algo, env,
seed, status, steps, created ...), then its marks (tags, note, archived), its final figures, the last value of every metric, and the keys
of its spec; of two of one name the first counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agonist.options import nearest
from agonist.runs import folder, shapes
from agonist.runs.filter import fields_of, parse, tester
from agonist.runs.store import Store

AGE = "age"  # of every run, counted from `created`
OWN = ("run", "tags", "note", "archived", "kind", "algo", "env", "seed", "status", "steps", "created", "updated", "parent", "problem")
PRIVATE = ("format", "id", "started", "pid", "host", "last", "best", "final", "spec", "marks", *shapes.FIGURES)

Row = dict[str, Any]


def brief_of(summary: Mapping[str, Any]) -> Row:
    """Facts, marks and final figures, or those of the newest evaluation where there are no final ones."""
    last, marks = summary.get("last") or {}, summary.get("marks") or {}
    row = {"run": summary.get("id"), **{key: value for key, value in summary.items() if key not in PRIVATE}}
    row |= {"tags": marks.get("tags", []), "note": marks.get("note"), "archived": bool(marks.get("archived"))}
    if "eval/return" in last:
        row["eval/return"] = last["eval/return"]
        row["eval/interval"] = [last.get("eval/return_low"), last.get("eval/return_high")]
    final = {key: value for key, value in (summary.get("final") or {}).items() if key not in OWN}
    if "eval/return" in final:  # whose interval is its own, or unknown
        row.pop("eval/interval", None)
    return row | final


def row_of(summary: Mapping[str, Any]) -> Row:
    """All that is known of a run without opening it."""
    brief = brief_of(summary)
    rest = {**(summary.get("spec") or {}), **(summary.get("last") or {})}
    return brief | {key: value for key, value in rest.items() if key not in brief and key not in shapes.FIGURES}


def sort(rows: Iterable[Row], field: str) -> list[Row]:
    """By a field, `-field` from the greatest down: numbers, then text; rows that have none of it come last either way."""
    down, name = field.startswith("-"), field.removeprefix("-")
    if name == AGE:  # the oldest are those created first
        down, name = not down, "created"
    have: list[Row] = []
    lack: list[Row] = []
    for row in rows:
        (lack if row.get(name) is None else have).append(row)
    return sorted(have, key=lambda row: _order(row[name]), reverse=down) + lack


def _order(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))


def differing(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that are not the same in all of them, in the order in which they stand."""
    keys = dict.fromkeys(key for spec in specs for key in spec)
    return [key for key in keys if any(spec.get(key) != specs[0].get(key) for spec in specs)]


class Selection(NamedTuple):
    rows: list[Row]
    total: int  # before the limit
    hint: str  # about a field of the filter that no run has; empty where there is none


def select(store: Store, where: str | None = None, order: str | None = None, limit: int | None = None, archived: bool = False) -> Selection:
    """The runs of a store as rows, oldest first, of which a limit leaves the newest; or by a field, of which it leaves the first.

    Archived ones are among them if asked for, by `archived` or by the filter itself.
    """
    node = parse(where) if where is not None else None
    asked = fields_of(node) if node else set[str]()
    every = sorted(folder.list_runs(store), key=lambda summary: str(summary.get("created")))  # ids of one second are in no order
    if not (archived or "archived" in asked):
        every = [summary for summary in every if not (summary.get("marks") or {}).get("archived")]
    if node is None and order is None:
        return Selection([row_of(summary) for summary in (every[-limit:] if limit else every)], len(every), "")
    rows = [row_of(summary) for summary in every]
    test = tester(node) if node else lambda row: True
    found = [row for row in rows if test(row)]
    if order:
        known_field(order.removeprefix("-"), rows)
        found = sort(found, order)
    shown = found if limit is None else found[:limit] if order else found[-limit:]
    return Selection(shown, len(found), "" if found else _hint(asked, rows))


def _hint(asked: Iterable[str], rows: Sequence[Row]) -> str:
    known = fields(rows)
    strange = sorted(name for name in asked if name not in known)
    return f"no run has a field {strange[0]!r}{nearest(strange[0], known)}" if strange and rows else ""


def fields(rows: Iterable[Row]) -> set[str]:
    return {AGE}.union(*rows)


def known_field(name: str, rows: Sequence[Row]) -> None:
    """Refuse a field that none of the rows has."""
    if rows and not any(name in row for row in rows) and name != AGE:
        raise ValueError(f"no run has a field {name!r}{nearest(name, fields(rows))}")

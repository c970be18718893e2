"""`agonist runs show`: all that is known of one run, of whatever kind. No jax is needed to look."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import output, words
from agonist.cli.tables import table
from agonist.cli.train import picture_curve

COLOURS = {
    "finished": "green", "running": "cyan", "interrupted": "yellow", "failed": "red", "damaged": "red", "newer": "yellow",
}  # fmt: skip
CHECKPOINTS, CHILDREN = 6, 40  # of each so many are drawn; --json has all
FACTS = (
    "steps", "total", "eval/return", "eval/interval", "eval/episodes", "eval/play", "best_step", "policy", "policy_last", "wall_seconds",
)  # fmt: skip


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, its words, latest, or its folder.")],
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Show all that is known of a run.

    agonist runs show latest
    agonist runs show calm-heron --json
    """
    import warnings

    from agonist.runs import checkpoints, find_run, marks, open_store, read_events, read_metrics, read_run
    from agonist.runs.rows import brief_of

    opened = open_store(store)
    run_id = find_run(opened, run)
    with warnings.catch_warnings(record=True) as problems:
        warnings.simplefilter("always")
        head = read_run(opened, run_id)
        written = marks.read(opened, run_id)
        series = read_metrics(opened, run_id)
        kept = [_checkpoint(info) for info in checkpoints(opened, run_id)]
        events = read_events(opened, run_id)
    result = {
        "run": run_id,
        **_places(opened.url, run_id),
        **{key: head.get(key) for key in ("kind", "created", "spec", "versions", "machine", "parents")},
        "summary": brief_of({**head["summary"], "marks": written.summary()}),
        "notes": [{**one} for one in written.notes],
        "children": _children(opened, run_id),
        "checkpoints": kept,
        "metrics": {
            name: {"step": int(steps[-1]), "value": float(values[-1]), "points": len(values)} for name, (steps, _, values) in series.items()
        },
        "events": events,
        "problems": [str(problem.message) for problem in problems],
    }
    result["next"] = _next(result, store)
    output.show(result, as_json, lambda out: _picture(out, result, series))


def _places(url: str, run_id: str) -> dict[str, Any]:
    """Where it lies, and how much."""
    import os

    folder = os.path.join(url, "runs", run_id)
    sizes = [
        os.path.getsize(path) for where, _, names in os.walk(folder) for name in names if os.path.isfile(path := os.path.join(where, name))
    ]
    return {"folder": folder, "bytes": sum(sizes), "files": len(sizes)}


def _children(store: Any, run_id: str) -> list[dict[str, Any]]:
    """The runs that name it as their parent, each with its keys that differ from its sisters'."""
    from agonist.runs import list_runs
    from agonist.runs.rows import brief_of, differing

    found = [summary for summary in list_runs(store) if summary.get("parent") == run_id]
    keys = [key for key in differing([summary.get("spec") or {} for summary in found]) if key != "seed"] if found else []
    return [{**brief_of(one), "keys": {key: (one.get("spec") or {}).get(key) for key in keys}} for one in found]


def _checkpoint(info: Any) -> dict[str, Any]:
    return {
        "name": info.name,
        "step": info.step,
        "resumable": info.resumable,
        "interim": info.interim,
        "policies": info.policy_names,
        "best": info.best_names,
        "bytes": sum(int(record["size"]) for record in info.files.values()),
        "written": info.written,
    }


def _next(result: Mapping[str, Any], store: str | None) -> list[str]:
    """Commands that go on from here."""
    from agonist.runs.names import words_of

    name, status, kind = words_of(result["run"]), result["summary"].get("status"), result["kind"]
    told: list[str] = []
    if kind == "train":
        unfinished = status in ("interrupted", "failed") and any(one["resumable"] for one in result["checkpoints"])
        told += [f"train --resume {name}"] * unfinished
        told += [f"watch {name}"] * bool(result["checkpoints"])
        told += [f"runs compare {name} OTHER"] * ("eval/return" in result["metrics"])
    elif kind == "sweep":
        told += [f"sweep --resume {name}"] * (status in ("interrupted", "failed"))
        told += [f"runs compare {name}"] * (len(result["children"]) > 1)
    return [f"agonist {command}{f' --store {store}' if store else ''}" for command in told]


# how a run is said


def return_of(row: Mapping[str, Any]) -> str:
    return output.interval(row.get("eval/return"), *(row.get("eval/interval") or (None, None)))


def age_of(stamp: str | None) -> str:
    from agonist.runs.folder import seconds

    try:
        return output.age(time.time() - seconds(stamp)) if stamp else "-"
    except (ValueError, TypeError):  # a damaged summary's
        return "-"


def _picture(out: Console, result: Mapping[str, Any], series: Mapping[str, Any]) -> None:
    row = result["summary"]
    status = str(row.get("status"))
    kind = "" if result["kind"] == "train" else f"  {result['kind']}"
    head = Text.assemble((result["run"], "bold"), "  ", (status, COLOURS.get(status, "")), f"{kind}  {age_of(result.get('created'))} old")
    for name in row["tags"]:
        head.append(f"  #{name}", "cyan")
    out.print(head.append("  archived" if row["archived"] else "", "dim"), soft_wrap=True)
    out.print(Text(f"{result['folder']}  {output.size(result['bytes'])} in {result['files']:,} files", style="dim"), soft_wrap=True)
    for one in result["notes"]:
        out.print(Text.assemble(("note  ", "bold"), one["text"], (f"  {one['by']}, {age_of(one['time'])} ago".replace("  ,", " "), "dim")))
    for parent in result["parents"] or ():
        out.print(Text.assemble(("part of  ", "bold"), str(parent)))
    out.print()
    _pairs(out, "keys", result["spec"] or {})
    _pairs(out, "result", {key: row[key] for key in FACTS if row.get(key) is not None})
    picture_curve(out, series)
    _tables(out, result)
    _events(out, result["events"])
    for problem in result["problems"]:
        out.print(Text(problem, style="yellow"), soft_wrap=True)
    for i, command in enumerate(result["next"]):
        out.print(Text.assemble(("    " if i else "next", "bold"), f"  {command}"), soft_wrap=True)


def _pairs(out: Console, title: str, values: Mapping[str, Any]) -> None:
    if not values:
        return
    out.print(Text(title, style="bold"))
    text = Text("   ").join(Text.assemble((f"{key} ", "dim"), output.said(key, value)) for key, value in values.items())
    out.print(text)
    out.print()


def _tables(out: Console, result: Mapping[str, Any]) -> None:
    rows = [
        {"metric": name, "last": output.number(told["value"]), "at step": f"{told['step']:,}"}
        for name, told in sorted(result["metrics"].items())
    ]
    _table(out, ("metric", "last", "at step"), rows, right=("last", "at step"))
    children = result["children"]
    rows = [_child(child) for child in children[:CHILDREN]]
    _table(out, ("child", "keys", "seed", "status", "steps", "return"), rows, right=("seed", "steps"), more=len(children) - len(rows))
    kept = result["checkpoints"]
    rows = [
        {
            "checkpoint": info["name"],
            "step": f"{info['step']:,}",
            "policy": " ".join(info["policies"].values()),
            "size": output.size(info["bytes"]),
            "": "resumable" if info["resumable"] else "",
        }
        for info in kept[-CHECKPOINTS:]
    ]
    _table(out, ("checkpoint", "step", "policy", "size", ""), rows, right=("step", "size"), more=len(kept) - len(rows))


def _child(child: Mapping[str, Any]) -> dict[str, str]:
    keys = " ".join(f"{key}={output.said(key, value)}" for key, value in child["keys"].items()) or "-"
    facts = {"child": str(child["run"]), "keys": keys, "seed": str(child.get("seed", "-")), "status": str(child.get("status"))}
    return facts | {"steps": f"{child.get('steps') or 0:,}", "return": return_of(child)}


def _table(out: Console, columns: Sequence[str], rows: Sequence[Mapping[str, str]], right: Sequence[str], more: int = 0) -> None:
    if not rows:
        return
    out.print(table(columns, rows, right, lambda column, cell: COLOURS.get(cell, "") if column == "status" else ""), soft_wrap=True)
    if more > 0:
        out.print(Text(f"and {more:,} more; --json has all", style="dim"))
    out.print()


def _events(out: Console, events: Sequence[Mapping[str, Any]]) -> None:
    told = " · ".join(
        f"{event.get('kind')} {age_of(event.get('time'))} ago" + (f": {event['why']}" if event.get("why") else "")
        for event in events
        if event.get("kind") != "heartbeat"
    )
    if told:
        out.print(Text.assemble(("events  ", "bold"), told), soft_wrap=not sys.stdout.isatty())

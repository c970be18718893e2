"""`agonist runs list` and `agonist runs show`: what a store holds. No jax is needed to look."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agonist.cli import help, output, words
from agonist.cli.train import picture_curve

app = typer.Typer(help="The runs of a store: list them, show one.", no_args_is_help=True, rich_markup_mode=None, cls=help.Group)

COLOURS = {"finished": "green", "running": "cyan", "interrupted": "yellow", "failed": "red", "damaged": "red"}
PRIVATE = ("format", "started", "pid", "host")


@app.command("list", cls=help.Command)
def list_(
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the newest N.")] = None,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """List the runs of a store, the newest last.

    # the ten newest; every run, for a program
    agonist runs list --limit 10
    agonist runs list --store /data/runs --json
    """
    from agonist.runs import list_runs, open_store

    opened = open_store(store)
    found = [row_of(summary) for summary in list_runs(opened)]
    shown = found[-limit:] if limit else found
    output.show({"runs": shown}, as_json, lambda out: _picture_list(out, shown, len(found), opened.url))


@app.command(cls=help.Command)
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, its words, latest, or its folder.")],
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Show all that is known of a run.

    agonist runs show latest
    agonist runs show calm-heron --json
    """
    import os
    import warnings

    from agonist.runs import checkpoints, find_run, open_store, read_events, read_metrics, read_run

    opened = open_store(store)
    run_id = find_run(opened, run)
    with warnings.catch_warnings(record=True) as problems:
        warnings.simplefilter("always")
        head = read_run(opened, run_id)
        series = read_metrics(opened, run_id)
        kept = [_checkpoint(info) for info in checkpoints(opened, run_id)]
        events = read_events(opened, run_id)
    result = {
        "run": run_id,
        "folder": os.path.join(opened.url, "runs", run_id),
        **{key: head.get(key) for key in ("kind", "created", "spec", "versions", "machine", "parents")},
        "summary": row_of(head["summary"]),
        "checkpoints": kept,
        "metrics": {
            name: {"step": int(steps[-1]), "value": float(values[-1]), "points": len(values)} for name, (steps, _, values) in series.items()
        },
        "events": events,
        "problems": [str(problem.message) for problem in problems],
    }
    output.show(result, as_json, lambda out: _picture_show(out, result, series))


def row_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary as one flat row: its final figures, or those of the newest evaluation."""
    last = summary.get("last") or {}
    row = {
        "run": summary.get("id"),
        **{key: value for key, value in summary.items() if key not in (*PRIVATE, "id", "last", "best", "final")},
    }
    if "eval/return" in last:
        row["eval/return"] = last["eval/return"]
        row["eval/interval"] = [last.get("eval/return_low"), last.get("eval/return_high")]
    return row | dict(summary.get("final") or {})


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


def _return_of(row: Mapping[str, Any]) -> str:
    return output.interval(row.get("eval/return"), *(row.get("eval/interval") or (None, None)))


def _age(stamp: str | None) -> str:
    from agonist.runs.folder import seconds

    return output.age(time.time() - seconds(stamp)) if stamp else "-"


def _picture_list(out: Console, rows: Sequence[Mapping[str, Any]], total: int, url: str) -> None:
    if not rows:
        out.print(f"no runs in {url} yet; begin with: agonist train ppo lbf:2s-8x8-2p-2f-coop --steps 4e5", soft_wrap=True)
        return
    cells = [_cells(row) for row in rows]
    columns, whole = _fitting(cells, out.width)
    if not whole:
        cells = [{**cell, "run": _words(cell["run"])} for cell in cells]
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in ("seed", "steps", "age") else "left", no_wrap=True, overflow="ellipsis")
    for cell in cells:
        table.add_row(*(Text(cell[name], COLOURS.get(cell[name], "") if name == "status" else "") for name in columns))
    out.print(table)
    out.print(
        Text(f"{len(rows)} of {total} runs in {url}" if len(rows) < total else f"{_runs(total)} in {url}", style="dim"), soft_wrap=True
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """What a line of the list may show, by column."""
    named = {key: str(row.get(key) if row.get(key) is not None else "-") for key in ("run", "kind", "algo", "env", "seed", "status")}
    return named | {"steps": f"{row.get('steps') or 0:,}", "return": _return_of(row), "age": _age(row.get("created"))}


def _fitting(cells: Sequence[Mapping[str, str]], width: int) -> tuple[list[str], bool]:
    """The columns for which there is room, and whether the whole of a run's id is among them."""
    needs = {name: 2 + max(len(name), *(len(cell[name]) for cell in cells)) for name in cells[0]}
    if sum(needs.values()) <= width:
        return list(needs), True
    needs["run"] = 2 + max(len(_words(cell["run"])) for cell in cells)
    for name in ("kind", "seed", "age", "algo", "status", "steps"):
        if sum(needs.values()) > width:
            del needs[name]
    return list(needs), False


def _words(run_id: str) -> str:
    return run_id.split("-", 2)[-1]


def _picture_show(out: Console, result: Mapping[str, Any], series: Mapping[str, Any]) -> None:
    row = result["summary"]
    status = str(row.get("status"))
    out.print(Text.assemble((result["run"], "bold"), "  ", (status, COLOURS.get(status, "")), f"  {_age(result.get('created'))} old"))
    out.print(Text(result["folder"], style="dim"), soft_wrap=True)
    out.print()
    _pairs(out, "keys", result["spec"])
    final = {
        key: row[key]
        for key in ("steps", "total", "eval/return", "eval/interval", "eval/episodes", "eval/play", "best_step", "policy", "policy_last")
        if key in row
    }
    _pairs(out, "result", final | {"wall_seconds": row["wall_seconds"]} if row.get("wall_seconds") else final)
    picture_curve(out, series)
    _tables(out, result)
    for problem in result["problems"]:
        out.print(Text(problem, style="yellow"), soft_wrap=True)


def _pairs(out: Console, title: str, values: Mapping[str, Any]) -> None:
    out.print(Text(title, style="bold"))
    text = Text("   ").join(Text.assemble((f"{key} ", "dim"), _short(value)) for key, value in values.items())
    out.print(text)
    out.print()


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _tables(out: Console, result: Mapping[str, Any]) -> None:
    metrics = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("metric", "last", "at step"):
        metrics.add_column(name, justify="left" if name == "metric" else "right", no_wrap=True)
    for name, told in sorted(result["metrics"].items()):
        metrics.add_row(name, output.number(told["value"]), f"{told['step']:,}")
    kept = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("checkpoint", "step", "policy", "size", ""):
        kept.add_column(name, justify="right" if name in ("step", "size") else "left", no_wrap=True)
    for info in result["checkpoints"][-6:]:
        marks = "resumable" if info["resumable"] else ""
        kept.add_row(info["name"], f"{info['step']:,}", " ".join(info["policies"].values()), output.size(info["bytes"]), marks)
    out.print(metrics)
    out.print()
    out.print(kept)
    hidden = len(result["checkpoints"]) - 6
    if hidden > 0:
        out.print(Text(f"and {hidden} earlier ones, with their policies", style="dim"))
    out.print()
    events = " · ".join(f"{event['kind']} {_age(event.get('time'))} ago" for event in result["events"] if event.get("kind") != "heartbeat")
    out.print(Text.assemble(("events  ", "bold"), events), soft_wrap=not sys.stdout.isatty())

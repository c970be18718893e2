"""`agonist runs`: what a store holds, found, marked, removed, carried elsewhere. No jax is needed to look."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console, Group
from rich.text import Text

from agonist.cli import help, output, words
from agonist.cli.compare import compare
from agonist.cli.exporting import export
from agonist.cli.importing import import_
from agonist.cli.marking import archive, note, tag
from agonist.cli.removing import delete, purge, restore
from agonist.cli.show import COLOURS, age_of, return_of, show
from agonist.cli.tables import table, width_of

app = typer.Typer(
    help="The runs of a store: find them, look at them, mark them, keep or remove them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=help.Group,
)

STANDARD = ("run", "kind", "algo", "env", "seed", "status", "steps", "return", "age", "tags")
NUMBERS = ("seed", "steps", "total", "age")  # columns whose figures stand one under another
EVERY = 2.0  # seconds between two looks of --watch


class Listing(NamedTuple):
    rows: list[dict[str, Any]]
    total: int  # before the limit
    url: str
    filtered: bool


@app.command("list", cls=help.Command)
def list_(
    asked: Annotated[
        list[str] | None, typer.Argument(metavar="[FILTER]", help="Only runs that meet this, in quotes.", show_default=False)
    ] = None,
    where: Annotated[str | None, typer.Option(metavar="FILTER", help="The same, as the other commands have it.")] = None,
    sort: Annotated[str | None, typer.Option(metavar="FIELD", help="By a field; -FIELD from the greatest down.")] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B,C", help="These fields instead of the usual ones.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the newest N, or the first N of --sort.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Archived runs too.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every 2 s until Ctrl-C.")] = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """List the runs of a store, the newest last.

    A filter asks for facts (run, kind, algo, env, seed, status, steps,
    created, age, parent, note), for keys (lr, env.sight) and for the last
    value of any metric. = != < <= > >= compare; ~ is "holds this text";
    tag:NAME, has:FIELD; and, or, not, parentheses.

    # the ten newest; the ten best; every run, for a program
    agonist runs list --limit 10
    agonist runs list 'algo = ppo and env ~ lbf' --sort -eval/return --limit 10
    agonist runs list --store /data/runs --json

    # what failed this week; the rates that were tried
    agonist runs list 'status = failed and age < 7d'
    agonist runs list 'lr >= 1e-3 and not tag:broken' --columns run,lr,eval/return
    """
    wanted = [text for text in (" ".join(asked or []), where) if text]
    filters = " and ".join(f"({text})" for text in wanted) if len(wanted) > 1 else wanted[0] if wanted else None
    if where is not None and not where.strip():
        filters = where  # refused by the filter, with a caret
    names = [name.strip() for name in columns.split(",") if name.strip()] if columns is not None else None
    if names == []:
        raise ValueError("--columns needs fields with commas between, as in --columns run,lr,eval/return")

    def look() -> Listing:
        return _listing(store, filters, sort, limit, every, names)

    if watch:
        _watch(look, names, as_json, best_first=sort is not None)
        return
    with _uncollected():
        found = look()
        chosen = [{"run": row["run"], **{name: row.get(name) for name in names}} for row in found.rows] if names else found.rows
        output.show({"runs": chosen}, as_json, lambda out: _picture(out, found, names))


@contextmanager
def _uncollected() -> Iterator[None]:
    """A long list is a million objects and no cycle among them: looking for cycles would take a fifth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _listing(
    store: str | None, where: str | None, sort: str | None, limit: int | None, every: bool, names: Sequence[str] | None
) -> Listing:
    from agonist.runs import open_store
    from agonist.runs.rows import known_field, select

    opened = open_store(store)
    found = select(opened, where, sort, limit, every)
    for name in names or ():
        if name != "return":
            known_field(name, found.rows)
    if found.hint:
        output.note(found.hint)
    return Listing(found.rows, found.total, opened.url, where is not None)


def _watch(look: Callable[[], Listing], names: Sequence[str] | None, as_json: bool, best_first: bool) -> None:
    """Until Ctrl-C, on the terminal's other screen; the last look stays."""
    from rich.live import Live

    out = output.console()
    if as_json or not out.is_terminal:
        raise ValueError("--watch draws on a terminal, and without --json; a program asks again with: agonist runs list --json")
    found = look()
    with suppress(KeyboardInterrupt), Live(console=out, screen=True, auto_refresh=False) as live:
        while True:
            fits = max(1, out.height - 4)
            rows = found.rows[:fits] if best_first else found.rows[-fits:]
            live.update(Group(_drawn(found._replace(rows=rows), names, out.width), Text("Ctrl-C ends", style="dim")), refresh=True)
            time.sleep(EVERY)
            found = look()
    _picture(out, found, names)


def _picture(out: Console, found: Listing, names: Sequence[str] | None) -> None:
    if found.rows:
        drawn = _drawn(found, names, out.width)
        if out.is_terminal:
            out.print(drawn, soft_wrap=True)
        else:  # no colours, so nothing for rich to do, which takes its time over thousands of lines
            print(output.printable(drawn.plain))
    elif found.filtered:
        out.print(f"no run in {found.url} meets that; agonist runs list shows all there are", soft_wrap=True)
    else:
        out.print(f"no runs in {found.url} yet; begin with: agonist train ppo lbf:2s-8x8-2p-2f-coop --steps 4e5", soft_wrap=True)


def _drawn(found: Listing, names: Sequence[str] | None, width: int) -> Text:
    from agonist.runs.names import words_of

    cells = [_cells(row, names or STANDARD) for row in found.rows]
    columns, whole = (list(names), True) if names else _fitting(cells, width)
    if not whole:
        cells = [{**cell, "run": words_of(cell["run"])} for cell in cells]
    drawn = table(columns, cells, right=_right(columns, found.rows), style=lambda column, cell: _style(column, cell))
    for row in found.rows:
        if row.get("problem"):
            drawn.append(f"\n{row['problem']}", "yellow")
    many = f"{len(found.rows)} of {_runs(found.total)}" if len(found.rows) < found.total else _runs(found.total)
    return drawn.append(f"\n{many} in {found.url}", "dim")


def _style(column: str, cell: str) -> str:
    return COLOURS.get(cell, "") if column == "status" else ""


def _right(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns of numbers."""
    values = {name: [row[name] for row in rows if row.get(name) is not None] for name in columns}
    return [name for name in columns if name in NUMBERS or (values[name] and all(type(value) in (int, float) for value in values[name]))]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _cells(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """What a line of the list may show, by column."""
    return {name: _cell(row, name) for name in columns}


def _cell(row: Mapping[str, Any], name: str) -> str:
    if name == "return":
        return return_of(row)
    if name in ("age", "created", "updated"):
        return age_of(row.get("created" if name == "age" else name))
    value = row.get(name)
    if name == "tags":
        return ",".join(value or [])
    return "-" if value is None else output.said(name, value)


def _fitting(cells: Sequence[Mapping[str, str]], width: int) -> tuple[list[str], bool]:
    """The columns for which there is room, and whether the whole of a run's id is among them."""
    from agonist.runs.names import words_of

    needs = {name: width_of(name, cells) for name in cells[0] if name != "tags" or any(cell["tags"] for cell in cells)}
    if sum(needs.values()) <= width:
        return list(needs), True
    needs["run"] = max(width_of("run", [{"run": words_of(cell["run"])}]) for cell in cells)
    for name in ("kind", "seed", "age", "algo", "tags", "status", "steps"):
        if sum(needs.values()) > width:
            needs.pop(name, None)
    return list(needs), False


for command in (show, compare, tag, note, archive, delete, restore, purge, export):
    app.command(cls=help.Command)(command)
app.command("import", cls=help.Command)(import_)

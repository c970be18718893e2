"""`agonist plugins`: what installed packages add to Agonist, and what is wrong with it. Also their commands, as ours find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import _click as click
from typer.core import TyperCommand, TyperGroup

from agonist import plugins as door
from agonist.cli import help, output, words

COMMANDS = "agonist.commands"
KINDS = {"agonist.envs": "env", "agonist.algos": "algo", "agonist.sinks": "sink", COMMANDS: "command", None: "package"}


class Root(help.Group):
    """Our commands, and those of installed packages, which are imported when they are called or listed."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        own = super().get_command(ctx, name)
        if own is not None or not any(name in (offer.name, f"{offer.package}/{offer.name}") for offer in door.installed(COMMANDS)):
            return own
        return command(name, door.load(COMMANDS, name))

    def others(self) -> list[tuple[str, str]]:
        """(name, what it does) of the commands that packages add."""
        rows = []
        for name in door.offers(COMMANDS):
            if name in self.commands:
                continue
            try:
                rows.append((name, help.first(command(name, door.load(COMMANDS, name, door.PATIENCE)))))
            except ValueError:
                rows.append((name, "broken; agonist plugins says why"))
        return rows


def command(name: str, made: Any) -> TyperCommand | TyperGroup:
    """A function or a typer app as the command of that name."""
    if not isinstance(made, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=help.Command)(made)
        made = app
    built = cast("TyperCommand | TyperGroup", typer.main.get_command(made))
    built.name = name
    return built


def plugins(
    ctx: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Agonist's own as well.")] = False,
    as_json: words.Json = False,
) -> None:
    """List what installed packages add: environments, algorithms, sinks, commands.

    What is wrong with one of them is said here, and breaks nothing else.
    A name that two packages offer means neither: ask for package/name.

    agonist plugins
    agonist plugins --all
    agonist plugins --json

    # a package of your own, with tests
    agonist new env pond
    """
    with output.working(as_json, "looking at the installed packages"):
        found = door.listing(taken=getattr(ctx.parent and ctx.parent.command, "commands", {}))
    output.show({"plugins": found}, as_json, lambda out: _picture(out, found, every))


def _picture(out: Console, found: Sequence[Mapping[str, Any]], every: bool) -> None:
    shown = [row for row in found if every or row["package"]]
    if shown:
        out.print(_table(shown))
        out.print()
    for row in shown:
        for said in (row["problem"], row["clash"]):
            if said:
                out.print(Text(said, style="yellow"), soft_wrap=True)
    ours = sum(row["package"] is None for row in found)
    if not every:
        theirs = sum(row["package"] is not None and row["group"] is not None for row in found)
        out.print(Text(f"{theirs} of other packages" if theirs else "no plugins installed", style="bold" if theirs else ""), end="")
        out.print(f"; {ours} come with agonist (--all). A package of your own: agonist new env NAME")


def _table(shown: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("kind", "name", "package", "", "what it is"):
        table.add_column(column, no_wrap=column in ("kind", "name", "package"), overflow="fold")
    for row in shown:
        mark, style = ("broken", "bold red") if row["problem"] else ("clash", "yellow") if row["clash"] else ("ok", "green")
        package = f"{row['package'] or 'agonist'} {row['version']}"
        name = Text(row["ask_for"], style="bold cyan")
        table.add_row(KINDS[row["group"]], name, Text(package), Text(mark, style=style), Text(row["about"]))
    return table

"""Help pages: what a command is for, examples to copy, then its words. Plain text, so that it is there at once; colour on terminals.

A command's docstring is shown as it is written: lines that begin with `#` are remarks, those that begin with `agonist` examples.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence

import typer
from typer import _click as click
from typer.core import TyperArgument, TyperCommand, TyperGroup


class Command(TyperCommand):
    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _page(self, ctx, formatter)


class Group(TyperGroup):
    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _page(self, ctx, formatter)


def _page(command: TyperCommand | TyperGroup, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    words = [(str(param.metavar or param.name), param.help or "") for param in command.params if isinstance(param, TyperArgument)]
    pieces = [name for name, _ in words] + ["COMMAND"] * isinstance(command, TyperGroup) + ["[OPTIONS]"]
    formatter.write_usage(_styled(ctx.command_path, bold=True), " ".join(pieces), prefix="")
    for line in ["", *inspect.cleandoc(command.help or "").splitlines()]:
        formatter.write(f"  {_line(line)}\n" if line else "\n")
    if isinstance(command, TyperGroup):
        for panel in dict.fromkeys(str(child.rich_help_panel or "Commands") for child in _children(command)):
            rows = [(str(child.name), first(child)) for child in _children(command) if str(child.rich_help_panel or "Commands") == panel]
            _list(formatter, panel, rows, widest=max(len(str(child.name)) for child in _children(command)))
    if others := getattr(command, "others", None):
        _list(formatter, "Plugins", others())
    _list(formatter, "Words", words)
    records = [param.get_help_record(ctx) for param in command.get_params(ctx) if not isinstance(param, TyperArgument)]
    _list(formatter, "Options", [record for record in records if record])
    if command.epilog:
        formatter.write_paragraph()
        formatter.write_text(command.epilog)


def _children(group: TyperGroup) -> Sequence[TyperCommand | TyperGroup]:
    return [child for child in group.commands.values() if isinstance(child, TyperCommand | TyperGroup) and not child.hidden]


def first(command: TyperCommand | TyperGroup) -> str:
    """A help text's first sentence, which is its first paragraph."""
    return " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split())


def _list(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]], widest: int = 0) -> None:
    if not rows:
        return
    formatter.write_paragraph()
    formatter.write(f"{_styled(title, bold=True)}\n")
    formatter.indent()
    formatter.write_dl([(_styled(f"{name:<{widest}}", fg="cyan"), text) for name, text in rows])
    formatter.dedent()


def _line(line: str) -> str:
    text = line.lstrip()
    if text.startswith("#"):
        return _styled(line, dim=True)
    return _styled(line, fg="green") if text.startswith("agonist ") else line


def _styled(text: str, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    """Colour is taken out again where stdout is no terminal."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return typer.style(text, fg=fg, bold=bold, dim=dim)

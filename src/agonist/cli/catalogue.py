"""`agonist envs` and `agonist algos`: what there is, and what one of them is like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agonist import devices
from agonist.cli import output, words
from agonist.options import rows


def envs(
    name: Annotated[
        str | None, typer.Argument(metavar="[FAMILY|NAME]", help="A family, or one environment to describe.", show_default=False)
    ] = None,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Options of the environment.", show_default=False)
    ] = None,
    as_json: words.Json = False,
) -> None:
    """List the environments, or describe one: spaces, rewards, options.

    agonist envs
    agonist envs lbf
    agonist envs lbf:2s-8x8-2p-2f-coop
    agonist envs lbf:8x8-2p-2f sight=3 --json
    """
    from agonist import envs as environments

    if name is None or (":" not in name and not keys and _is_family(name)):
        found = [row for row in environments.families() if name in (None, row["family"])]
        output.show({"envs": found}, as_json, lambda out: _picture_families(out, found))
        return
    devices.prepare()
    options = {key.removeprefix("env."): value for key, value in words.split(keys or [])[1].items()}
    with output.working(as_json, "making it"):
        told = environments.describe(name, **options)
    output.show(told, as_json, lambda out: _picture_env(out, told))


def _is_family(name: str) -> bool:
    """Whether it stands for several environments."""
    from agonist import envs as environments

    return any(row["family"] == name and (row["scenarios"] != [name] or row["install"] or row["error"]) for row in environments.families())


def algos(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One algorithm, with all its keys.", show_default=False)] = None,
    as_json: words.Json = False,
) -> None:
    """List the algorithms, or every key of one and of training.

    agonist algos
    agonist algos ppo
    agonist algos mappo --json
    """
    from agonist import algos as algorithms
    from agonist import plugins

    if name is None:
        found = [_card(known) for known in sorted(plugins.offers(algorithms.GROUP))]
        output.show({"algos": found}, as_json, lambda out: _picture_algos(out, found))
        return
    devices.prepare()
    name = algorithms.named(name)
    card = algorithms.card(name)
    from agonist.loop import TrainConfig
    from agonist.sinks import LogConfig

    keys = [
        {**row, "default": card.fixed.get(row["key"], row["default"]), "fixed": row["key"] in card.fixed}
        for row in rows(algorithms.config_type(name))
    ]
    told = {**_card(name), "keys": keys, "training": rows(TrainConfig), "logging": rows(LogConfig)}
    output.show(told, as_json, lambda out: _picture_algo(out, told))


def _card(name: str) -> dict[str, Any]:
    from agonist import algos as algorithms
    from agonist import own, plugins

    package = algorithms.package(name)
    try:
        card = algorithms.card(name, plugins.PATIENCE)
    except ValueError as error:  # a broken plugin spoils no list
        return {"algo": name, "package": package, "about": "", "source": "", "fixed": {}, "error": str(error)}
    return {
        "algo": own.short(name),
        "package": package,
        "about": card.about,
        "source": card.source,
        "fixed": dict(card.fixed),
        "error": None,
    }


# pictures


def _picture_families(out: Console, found: Sequence[Mapping[str, Any]]) -> None:
    for row in found:
        theirs = f"  (of {row['package']})" if row["package"] else ""
        out.print(Text.assemble((row["family"], "bold cyan"), (theirs, "dim"), f"  {row['about']}"))
        if row["error"] or row["install"]:
            out.print(Text(f"  {row['error'] or 'not installed: ' + row['install']}", style="yellow"))
        out.print(Text("  " + "  ".join(row["scenarios"]), style="dim"))
        out.print()
    out.print("describe one with: agonist envs NAME")


def _picture_env(out: Console, told: Mapping[str, Any]) -> None:
    out.print(Text.assemble((told["name"], "bold cyan"), f"  {told['about']}"))
    out.print(Text(told["source"], style="dim"))
    limit = f"{told['time_limit']:,} steps" if told["time_limit"] else "none"
    out.print(f"\ntime limit {limit}; a centralised critic sees {told['state_shape']}; steps are {told['kind']}\n")
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("role", "agents", "sees", "does", "rewards", "from", "to"):
        table.add_column(column, justify="right" if column == "agents" else "left")
    for role in told["roles"]:
        low, high = ("-" if bound is None else f"{bound:g}" for bound in role["reward_range"])
        table.add_row(role["name"], str(role["agents"]), role["obs"], role["action"], role["rewards"], low, high)
    out.print(table)
    if told["options"]:
        out.print()
        _picture_keys(out, "option (env.KEY in training)", told["options"])


def _picture_algos(out: Console, found: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("algorithm", "what it is", "source"):
        table.add_column(column, overflow="fold")
    for row in found:
        table.add_row(f"[bold cyan]{row['algo']}[/]", Text(row["error"] or row["about"]), Text(row["source"], style="dim"))
    out.print(table)
    out.print("\nevery key of one with: agonist algos NAME")


def _picture_algo(out: Console, told: Mapping[str, Any]) -> None:
    out.print(Text.assemble((told["algo"], "bold cyan"), f"  {told['about']}"))
    out.print(Text(f"{told['source']}\n", style="dim"))
    _picture_keys(out, f"key of {told['algo']}", told["keys"])
    out.print()
    _picture_keys(out, "key of training", told["training"])
    out.print()
    _picture_keys(out, "key of logging", told["logging"])
    out.print("\nalso: env.KEY (agonist envs NAME), roles.ROLE.KEY for one role, players.ROLE[.SEAT]=random or a policy")


def _picture_keys(out: Console, title: str, keys: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in (title, "type", "default", "meaning"):
        table.add_column(column, no_wrap=column not in ("default", "meaning"))
    for row in keys:
        table.add_row(row["key"], row["type"], Text(_default(row)), _meaning(row))
    out.print(table)


def _default(row: Mapping[str, Any]) -> str:
    value = row["default"]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else str(value)


def _meaning(row: Mapping[str, Any]) -> Text:
    text = Text(str(row["help"]))
    if row.get("unit"):
        text.append(f" [{row['unit']}]")
    if row.get("choices"):
        text.append(f" ({', '.join(map(str, row['choices']))})")
    if row.get("fixed"):
        text.append(" (settled by the algorithm's name)", style="yellow")
    if row.get("source"):
        text.append(f" · {row['source']}", style="dim")
    return text

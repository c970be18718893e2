"""`agonist runs compare`: what differs between runs, and whether it made a difference. No jax is needed to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agonist.cli import output, words
from agonist.cli.curves import MOST, Dark, Out, Runs, Theme, Where, check, plot, say_notes, say_out
from agonist.cli.plot import COLOURS

if TYPE_CHECKING:
    from agonist.comparison import Comparison
    from agonist.stats.curves import Curve

STATISTICS: tuple[Literal["mean"], Literal["iqm"]] = ("mean", "iqm")
STYLES = {"better": "green", "worse": "red", "equivalent": "cyan"}


def compare(
    runs: Runs = None,
    metric: Annotated[str, typer.Option(metavar="NAME", help="What is compared.")] = "eval/return",
    where: Where = None,
    iqm: Annotated[bool, typer.Option("--iqm", help="Draw interquartile means instead of means.")] = False,
    out: Out = None,
    dark: Dark = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Compare runs: which keys differ, and whether that made a difference.

    Runs that differ only by their seed are one group. Each is held against
    the first: better, worse, equivalent, or too few to tell.

    # the newest sweep; two runs; all runs of one algorithm and another
    agonist runs compare
    agonist runs compare calm-heron brave-otter
    agonist runs compare --where 'algo = ppo or algo = mappo'

    # how fast they were; a picture for a page
    agonist runs compare latest --metric perf/env_steps_per_second
    agonist runs compare --out comparison.svg
    """
    from agonist.comparison import chosen, compare_runs
    from agonist.runs import open_store

    if out:
        check(out)
    opened = open_store(store)
    with output.working(as_json, "reading"):
        found = compare_runs(opened, chosen(opened, runs or (), where), metric)
    if out:
        _draw_comparison(found, iqm, out, "dark" if dark else "light")
    result = found.as_json() | ({"out": out} if out else {})
    output.show(result, as_json, lambda screen: _picture_comparison(screen, found, iqm, result))


def _shown(found: Comparison) -> list[str]:
    """The groups that are drawn: the first, against which the others stand, and the best of those."""
    if len(found.groups) <= MOST:
        return [group.mark for group in found.groups]
    rows = found.together() or found.table(found.tasks[0])
    others = sorted((row for row in rows[1:]), key=lambda row: -row["mean"])
    kept = {found.groups[0].mark, *(row["group"] for row in others[: MOST - 1])}
    return [group.mark for group in found.groups if group.mark in kept]


def _pictured(found: Comparison, iqm: bool) -> list[tuple[str, dict[str, Curve]]]:
    """(title, mark -> curve): each task, and all together."""
    marks, statistic = _shown(found), STATISTICS[iqm]
    panels = [(task, found.curves(task, marks, statistic)) for task in found.tasks]
    if len(found.tasks) > 1 and found.shared:
        panels.append((f"{_all(found)}, normalised", found.curves(None, marks, statistic)))
    return panels


def _all(found: Comparison) -> str:
    return f"all {len(found.tasks)} tasks" if len(found.shared) == len(found.tasks) else f"the {len(found.shared)} tasks that all have"


def _draw_comparison(found: Comparison, iqm: bool, out: str, theme: Theme) -> None:
    from agonist.stats import charts

    labels = {group.mark: group.label if len(found.groups) > 1 else "" for group in found.groups}
    panels = [
        charts.Panel(title, [charts.Line(labels[mark], line) for mark, line in lines.items()], y=found.metric)
        for title, lines in _pictured(found, iqm)
    ]
    charts.draw_curves(out, panels, theme)


def _picture_comparison(screen: Console, found: Comparison, iqm: bool, result: Mapping[str, Any]) -> None:
    _picture_keys(screen, found)
    tables = [(task, result["tasks"][task]) for task in found.tasks]
    tables += [(f"{_all(found)}, normalised per task", result["together"])] if result["together"] else []
    for title, rows in tables:
        _picture_rows(screen, f"{found.metric} on {title}", found.words[0], rows)
    if result.get("out"):
        say_out(screen, result["out"])
    else:
        for title, lines in _pictured(found, iqm):
            plot(screen, f"{found.metric} on {title}", lines if len(found.groups) > 1 else dict(zip([""], lines.values(), strict=True)))
    if len(found.groups) > MOST:
        screen.print(Text(f"drawn: the first group and the {MOST - 1} best of {len(found.groups) - 1} others", style="dim"))
    say_notes(screen, found.notes)


def _picture_keys(screen: Console, found: Comparison) -> None:
    """Only what differs: a line a group, and the seeds."""
    from agonist.runs.matching import text_of

    keys = list(dict.fromkeys(key for group in found.groups for key in group.keys))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", *keys, "runs", "seeds"):
        table.add_column(name, overflow="fold")
    for i, group in enumerate(found.groups):
        runs = [run for of_task in group.runs.values() for run in of_task]
        seeds = sorted({run.seed for run in runs}, key=lambda seed: (str(type(seed)), seed))
        cells = [text_of(group.keys.get(key)) if key in group.keys else "-" for key in keys]
        table.add_row(Text(group.mark, f"bold {_colour(i)}"), *cells, str(len(runs)), _few(seeds))
    screen.print(table)
    if not keys and len(found.groups) == 1:
        screen.print(
            Text("these runs differ by nothing but their seed or task: there is one group, and nothing to hold it against", style="dim")
        )
    screen.print()


def _few(seeds: Iterable[Any]) -> str:
    seeds = [str(seed) for seed in seeds]
    return " ".join(seeds if len(seeds) <= 6 else [*seeds[:4], "...", seeds[-1]])


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _picture_rows(screen: Console, title: str, more: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", "n", "mean", "IQM", f"P({more})", f"against {rows[0]['group']}"):
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=True)
    for row in rows:
        against = row.get("against")
        verdict = Text(against["verdict"], STYLES.get(against["verdict"], "yellow")) if against else Text("")
        table.add_row(
            Text(row["group"], "bold"),
            str(row["n"]),
            output.interval(row["mean"], *row["interval"]),
            output.interval(row["iqm"], *row["iqm_interval"]),
            f"{against['probability']:.2f}" if against else "",
            verdict,
        )
    screen.print(Text(title, style="bold"))
    screen.print(table)
    for row in rows:
        if "against" in row:
            screen.print(
                Text(f"{row['group']} against {row['against']['group']}: {row['against']['sentence']}", style="dim"), soft_wrap=True
            )
    if len(rows) == 1 and rows[0]["too_few"]:
        screen.print(Text(rows[0]["too_few"], style="dim"), soft_wrap=True)
    screen.print()

"""`agonist plot metrics`: curves of runs, in the terminal or as a picture. No jax is needed to look."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import help, output, words
from agonist.cli.plot import COLOURS, Line, curves, points_of

if TYPE_CHECKING:
    from agonist.comparison import Comparison, Trained
    from agonist.runs import Store
    from agonist.stats.curves import Curve

MOST = 8  # lines that a picture can tell apart
WIDEST = 100  # columns of a plot
Theme = Literal["light", "dark"]

app = typer.Typer(help="Curves of runs, in the terminal or as a picture.", no_args_is_help=True, rich_markup_mode=None, cls=help.Group)


Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN]...", help="Runs or sweeps; a sweep stands for its runs (else the newest sweep, or the newest two runs)."),
]
Out = Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write the picture to FILE.png or FILE.svg.")]
Dark = Annotated[bool, typer.Option("--dark", help="A dark picture.")]
Where = Annotated[str | None, typer.Option("--where", metavar="FILTER", help="Only runs that meet this, as in agonist runs list.")]


@app.command(cls=help.Command)
def metrics(
    runs: Runs = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A metric; may be said several times (else eval/return).")
    ] = None,
    group: Annotated[
        bool, typer.Option("--group", help="Runs that differ only by seed as one line, their mean with its interval.")
    ] = False,
    where: Where = None,
    out: Out = None,
    dark: Dark = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Draw metrics over steps, a line a run.

    `agonist runs show RUN` lists the metrics that a run has.

    # the loss of the newest run; of two runs, into a file
    agonist plot metrics latest --metric loss/policy
    agonist plot metrics calm-heron brave-otter --metric loss/value --out x.png

    # a sweep: one line for all seeds of the same keys
    agonist plot metrics calm-heron --group
    """
    from agonist.runs import open_store

    if out:
        check(out)
    names = list(dict.fromkeys(metric or ["eval/return"]))
    opened = open_store(store)
    with output.working(as_json, "reading"):
        panels, notes = _panels(opened, runs or (), where, names, group)
    if out:
        _draw_panels(panels, out, "dark" if dark else "light")
    result: dict[str, Any] = {"metrics": {name: {label: _told(line) for label, line in lines.items()} for name, lines in panels.items()}}
    result |= {"notes": notes} | ({"out": out} if out else {})
    output.show(result, as_json, lambda screen: _picture_panels(screen, panels, notes, out))


def check(out: str) -> None:
    from agonist.stats.charts import check_path

    check_path(out)


# metrics over steps


def _panels(
    store: Store, names: Sequence[str], where: str | None, metrics: Sequence[str], group: bool
) -> tuple[dict[str, dict[str, Curve]], list[str]]:
    """metric -> label -> curve, and what was left out. The same line has the same label in all."""
    from agonist.comparison import chosen, compare_runs, read_runs

    summaries = chosen(store, names, where)
    panels: dict[str, dict[str, Curve]] = {}
    notes: list[str] = []
    for metric in metrics:
        if group:
            found = compare_runs(store, summaries, metric)
            notes += found.notes
            panels[metric] = {
                _joined(label, task, found.tasks): line for task in found.tasks for label, line in _labelled(found, task).items()
            }
        else:
            trained, missing = read_runs(store, summaries, metric)
            notes += missing
            labels = _names(trained)
            panels[metric] = {labels[run.id]: _alone(store, run, metric) for run in trained}
    lines = len({label for found in panels.values() for label in found})
    if lines > MOST:
        hint = "name fewer, or ask with --where" if group else "--group draws runs that differ only by seed as one; or name fewer"
        raise ValueError(f"{lines} lines are more than the {MOST} that a plot can tell apart: {hint}")
    return panels, list(dict.fromkeys(notes))


def _labelled(found: Comparison, task: str) -> dict[str, Curve]:
    labels = {group.mark: group.label for group in found.groups}
    return {labels[mark]: line for mark, line in found.curves(task).items()}


def _joined(label: str, task: str, tasks: Sequence[str]) -> str:
    return label if len(tasks) == 1 else task if label == "all" else f"{label} {task}"


def _names(runs: Sequence[Trained]) -> dict[str, str]:
    """run -> its words, and the keys in which these runs differ."""
    from agonist.comparison import label_of
    from agonist.runs.names import words_of
    from agonist.runs.rows import differing

    keys = differing([run.spec for run in runs])[:4]
    return {run.id: " ".join(filter(None, [words_of(run.id), label_of({key: run.spec.get(key) for key in keys})])) for run in runs}


def _alone(store: Store, run: Trained, metric: str) -> Curve:
    """One run's curve; its evaluations' own interval where they have one."""
    import numpy as np

    from agonist.runs import read_metrics
    from agonist.stats.curves import Curve, at_steps, cleaned

    steps, values = cleaned(run.points)
    bands = read_metrics(store, run.id, [f"{metric}_low", f"{metric}_high"])
    low, high = (
        at_steps(cleaned((bands[name][0], bands[name][2])), steps) if name in bands else np.full(len(steps), np.nan)
        for name in (f"{metric}_low", f"{metric}_high")
    )
    return Curve(steps, values, low, high, np.ones(len(steps), int))


def _told(line: Curve) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line._fields}


def _draw_panels(panels: Mapping[str, Mapping[str, Curve]], out: str, theme: Theme) -> None:
    from agonist.stats import charts

    labels = {label for lines in panels.values() for label in lines}
    drawn = [
        charts.Panel(metric, [charts.Line(label, line) for label, line in lines.items()])
        if len(labels) > 1
        else charts.Panel(f"{metric}, {next(iter(labels))}", [charts.Line("", line) for line in lines.values()])
        for metric, lines in panels.items()
    ]
    charts.draw_curves(out, drawn, theme)


def _picture_panels(screen: Console, panels: Mapping[str, Mapping[str, Curve]], notes: Sequence[str], out: str | None) -> None:
    labels = list(dict.fromkeys(label for lines in panels.values() for label in lines))
    marks = {label: chr(ord("A") + i) if len(labels) > 1 else "" for i, label in enumerate(labels)}
    if out:
        say_out(screen, out)
    else:
        for metric, lines in panels.items():
            plot(screen, metric, {marks[label]: line for label, line in lines.items()})
        if len(labels) == 1:
            screen.print(Text(labels[0], style="dim"))
        for i, label in enumerate(labels if len(labels) > 1 else ()):
            screen.print(Text.assemble((f"{marks[label]}  ", f"bold {COLOURS[i % len(COLOURS)]}"), label), soft_wrap=True)
    say_notes(screen, notes)


def plot(screen: Console, title: str, lines: Mapping[str, Curve]) -> None:
    """Several curves in one frame; what has a single point is said, for it draws no line."""
    drawn = [
        Line(mark, points_of(line.steps.tolist(), line.centre.tolist(), line.low.tolist(), line.high.tolist()))
        for mark, line in lines.items()
    ]
    width = min(screen.width, WIDEST)
    picture = curves(drawn, width=width, height=12, title=title, plain=output.is_plain(sys.stdout))
    for text in picture:
        screen.print(text, no_wrap=True)
    short = [mark for mark, line in lines.items() if len(line.steps) < 2]
    if short and not picture:
        screen.print(Text(f"{title}: a single point is no curve yet", style="dim"))
    elif short:
        screen.print(Text(f"{', '.join(short)}: a single point, which is no curve yet", style="dim"))
    screen.print()


def say_out(screen: Console, out: str) -> None:
    screen.print(f"wrote {out}", soft_wrap=True)


def say_notes(screen: Console, notes: Sequence[str]) -> None:
    for sentence in notes:
        screen.print(Text(f"note: {sentence}", style="yellow"), soft_wrap=True)

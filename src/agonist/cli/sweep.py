"""`agonist sweep` and `agonist study`: many runs as one whole, with a panel for all of them and a table at the end.

`agonist train` with several values of a key or with --seeds comes here too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agonist import devices
from agonist.cli import output, words
from agonist.cli.panel import progress
from agonist.options import read_file, swept

if TYPE_CHECKING:
    from agonist.api import Sweep

Jobs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes side by side (else what cores and programs allow; 1 on an accelerator).")
]


TRIALS, ETA = 16, 4


def sweep(
    names_and_keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="ALGO ENV [KEY=VALUES]...", help="Values are a,b,c or a range LOW..HIGH to draw from.", show_default=False),
    ] = None,
    method: Annotated[str | None, typer.Option(metavar="NAME", help="grid, random or halving (else grid, or random of a range).")] = None,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Points that random and halving draw.")] = TRIALS,
    eta: Annotated[int, typer.Option(metavar="N", min=2, help="Halving: one point in N goes on, for N times as long.")] = ETA,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Environment steps of a run in all (else 1e6).")] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="The first seed, also of what is drawn (else 0).")] = None,
    seeds: Annotated[int | None, typer.Option(metavar="K", min=1, help="Seeds of each point (else 1).")] = None,
    jobs: Jobs = None,
    resume: Annotated[str | None, typer.Option(metavar="SWEEP", help="Go on with a sweep where it was.")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="A TOML file of keys; words override it.")] = None,
    allow_code: words.AllowCode = False,
    store: words.StoreUrl = None,
    dry_run: words.DryRun = False,
    as_json: words.Json = False,
) -> None:
    """Train with many values of some keys, and say which did best.

    Every run is a run like any other; the sweep holds them together.
    Rates and other numbers share one compiled program.

    # all combinations, three seeds each
    agonist sweep ppo matrix:climbing lr=1e-3,3e-3 gamma=0.9,0.99 --seeds 3

    # twelve draws; a range over a factor of ten is drawn by its logarithm
    agonist sweep ppo matrix:climbing lr=1e-4..1e-2 entropy=lin:0..0.1 --trials 12

    # all for a short while, one in four for four times as long, and so on
    agonist sweep ppo lbf:8x8-2p-2f-coop lr=1e-4..1e-2 --method halving

    # what was stopped goes on; what differs, and curves
    agonist sweep --resume latest
    agonist runs compare
    """
    names, keys = words.split(names_and_keys or [])
    if resume is not None:
        told = {"steps": steps, "seed": seed, "seeds": seeds, "method": method, "config": config, "dry-run": dry_run or None}
        told |= {"trials": None if trials == TRIALS else trials, "eta": None if eta == ETA else eta}
        go_on(resume, store, jobs, as_json, refused=[*names, *keys, *(f"--{key}" for key, value in told.items() if value is not None)])
        return
    counts = {key: value for key, value in {"steps": steps, "seed": seed}.items() if value is not None}
    given = {**(read_file(config) if config else {}), **words.named(names), **keys, **counts}
    train_many(given, How(seeds, method, trials, eta, jobs), store, dry_run, as_json)


def study(
    file: Annotated[str, typer.Argument(metavar="FILE.toml", help="Algorithms, environments, seeds and keys.")],
    jobs: Jobs = None,
    allow_code: words.AllowCode = False,
    store: words.StoreUrl = None,
    dry_run: words.DryRun = False,
    as_json: words.Json = False,
) -> None:
    """Train several algorithms on several environments, as one whole.

    Said again, a study goes on where it was; a finished one shows its table.

    agonist study study.toml
    agonist study study.toml --dry-run

    # study.toml
    #   seeds = 5
    #   steps = 2e5
    #   [algos.ippo]
    #   [algos.mappo]
    #   gamma = 0.99
    #   [envs."lbf:2s-8x8-2p-2f-coop"]
    #   [envs."matrix:climbing"]
    #   [sweep]
    #   lr = [1e-3, 3e-3]
    """
    devices.prepare()
    from agonist.sweeps import study as studies

    plan = studies.read(file)
    if dry_run:
        _dry_run(plan, store, as_json)
        return
    title = [plan.title or file]
    _carry_out(title, len(plan.trials), store, as_json, lambda api, told: api.study(file, jobs=jobs, store=store, on_progress=told))


class How(NamedTuple):
    """How a sweep chooses its points, and where it works."""

    seeds: int | None = None
    method: str | None = None
    trials: int = TRIALS
    eta: int = ETA
    jobs: int | None = None


def train_many(given: Mapping[str, Any], how: How, store: str | None, dry_run: bool, as_json: bool) -> None:
    """Keys with several values -> a sweep, shown."""
    devices.prepare(words.shards(given))
    from agonist import sweeps

    alone, over = swept(given)
    plan = sweeps.make_plan(alone, over, how.seeds, how.method, how.trials, how.eta)
    if dry_run:
        _dry_run(plan, store, as_json)
        return
    title = [str(given[key]) for key in ("algo", "env") if key in given]

    def work(api: Any, told: Any) -> Sweep:
        opened = api.as_store(store)
        return api.Sweep(sweeps.begin(opened, plan, told, how.jobs), opened)

    _carry_out(title, len(plan.trials), store, as_json, work)


def go_on(sweep: str, store: str | None, jobs: int | None, as_json: bool, refused: list[str]) -> None:
    if refused:
        raise ValueError(f"a resumed sweep keeps its own keys: give nothing else, not {', '.join(refused)}")
    from agonist.runs import find_run, open_store

    opened = open_store(store)
    run_id = find_run(opened, sweep)
    devices.prepare()
    from agonist.sweeps import plan_in, sweep_of

    plan = plan_in(opened, run_id := sweep_of(opened, run_id))
    title = [plan.title] if plan.title else [str(plan.given[key]) for key in ("algo", "env") if key in plan.given]
    _carry_out(
        title, len(plan.trials), store, as_json, lambda api, told: api.sweep(resume=run_id, store=opened, jobs=jobs, on_progress=told)
    )


def _carry_out(title: list[str], runs: int, store: str | None, as_json: bool, work: Callable[[Any, Any], Sweep]) -> None:
    with output.working(as_json), words.says_store(store), progress(title, None, runs) as told:
        from agonist import api

        found = work(api, told).report
    output.show(found, as_json, lambda out: _picture(out, found))
    for problem in found["problems"]:
        output.complain(problem)
    if found["problems"] or all(row["failed"] == len(row["runs"]) for row in found["summary"]):
        raise typer.Exit(1)


def _dry_run(plan: Any, store: str | None, as_json: bool) -> None:
    with output.working(as_json, "checking"):
        from agonist import api, sweeps

        groups = sweeps.check(plan, lambda text: api.find_content(text, store))
        told = {
            "method": plan.method,
            "points": list(plan.points()),
            "runs": len(plan.trials),
            "rungs": list(plan.rungs),
            "programs": len(groups),
            "first": api.plan(plan.keys(groups[0].trials[0]), store)["spec"],
            "seeds": sorted({trial.seed for trial in plan.trials}),
        }
    output.show(told, as_json, lambda out: _picture_plan(out, told))


# pictures


def _picture_plan(out: Console, told: Mapping[str, Any]) -> None:
    by = f"{told['programs']} compiled program{'s' * (told['programs'] > 1)}"
    out.print(f"would train {told['runs']:,} run{'s' * (told['runs'] > 1)} ({told['method']}), by {by}:")
    for label in told["points"][:20]:
        out.print(f"  {label or 'as it is'}")
    if len(told["points"]) > 20:
        out.print(f"  and {len(told['points']) - 20} more")
    if told["rungs"]:
        out.print(f"the best go on after {', '.join(output.count(steps) for steps in told['rungs'][:-1])} steps")
    out.print("nothing was written")


def _picture(out: Console, told: Mapping[str, Any]) -> None:
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for row in told["summary"]:
        tasks.setdefault(row["keys"]["env"], []).append(row)
    out.print(Text(told["sweep"], style="bold"))
    for env, rows in tasks.items():
        _picture_task(out, env.partition("#")[0], rows)  # own code without its digits
    for failed in (each for each in told["runs"] if each["status"] == "failed"):
        out.print(Text(f"failed: {failed['run']}: {failed.get('why')}", style="red"), soft_wrap=True)
    for note in dict.fromkeys(row["too_few"] for row in told["summary"] if row["too_few"]):
        out.print(Text(note, style="yellow"), soft_wrap=True)
    if "overall" in told:
        out.print(Text("\nover all environments, each brought to 0..1", style="bold"))
        for row in sorted(told["overall"], key=_rank):
            mean = output.interval(row["mean"], *row["interval"])
            out.print(f"  {row['keys']['points']}: {mean}, IQM {output.number(row['iqm'])}, {row['n']} run{'s' * (row['n'] != 1)}")
    for picture in told["pictures"]:
        out.print(Text(f"picture {picture}", style="dim"), soft_wrap=True)
    out.print(Text(f"\nagonist runs compare {told['sweep']}   draws the curves", style="dim"), soft_wrap=True)


def _rank(row: Mapping[str, Any]) -> tuple[float, float]:
    """The best first: of runs that halving gave up earlier, those behind."""
    return -float(row.get("steps", 0)), -float(row["mean"]) if row["n"] else float("inf")


def _picture_task(out: Console, env: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A line a point, each with its interval on one scale."""
    common = {key for key, value in rows[0]["keys"].items() if all(row["keys"].get(key) == value for row in rows)}
    differ = [key for key in rows[0]["keys"] if key not in common]
    rungs = len({row["steps"] for row in rows}) > 1
    title = " ".join(output.said(key, value) for key, value in rows[0]["keys"].items() if key in common and key != "env")
    out.print(Text(f"\n{title} on {env}" if title else f"\n{env}", style="bold"))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in (*differ, *["steps"] * rungs, "runs", "mean", "95 % interval", "IQM", ""):
        table.add_column(name, justify="left" if name in ("algo", "") else "right", no_wrap=True)
    known = [row for row in rows if row["n"] > 1]
    low, high = min((row["interval"][0] for row in known), default=0.0), max((row["interval"][1] for row in known), default=0.0)
    for number, row in enumerate(sorted(rows, key=_rank)):
        interval = f"{output.number(row['interval'][0])} to {output.number(row['interval'][1])}" if row["n"] > 1 else "-"
        bar = _bar(row, low, high, output.is_plain(sys.stdout)) if row["n"] > 1 and high > low else ""
        keys = [*(output.said(key, row["keys"][key]) for key in differ), *[output.count(row["steps"])] * rungs]
        mean = Text(output.number(row["mean"]), "bold green" if number == 0 else "")
        table.add_row(*keys, _count(row), mean, interval, output.number(row["iqm"]), bar)
    out.print(table)


def _count(row: Mapping[str, Any]) -> str:
    lost = [f"{row[name]} {name}" for name in ("failed", "deleted", "waiting") if row[name]]
    return f"{row['n']}" + (f" ({', '.join(lost)})" if lost else "")


def _bar(row: Mapping[str, Any], low: float, high: float, plain: bool, width: int = 24) -> Text:
    """The interval and the mean within it, on a scale that all rows share."""
    left, middle, right = (
        round((value - low) / (high - low) * (width - 1)) for value in (row["interval"][0], row["mean"], row["interval"][1])
    )
    line, dot = ("-", "o") if plain else ("─", "●")
    signs = [line if left <= i <= right else " " for i in range(width)]
    signs[min(max(middle, 0), width - 1)] = dot
    return Text("".join(signs), "cyan")

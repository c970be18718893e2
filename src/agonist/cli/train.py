"""`agonist train`: keys -> a run, with a live panel on stderr and the result on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agonist import devices
from agonist.cli import output, words
from agonist.cli.panel import progress
from agonist.cli.plot import curve
from agonist.options import read_file, rows

if TYPE_CHECKING:
    from agonist.api import Run

BANDS = "eval/return_low", "eval/return_high"

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ALGO ENV [KEY=VALUE]...", help="What learns, where, and the keys that differ from their defaults.", show_default=False
    ),
]


def train(
    names_and_keys: Words = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Environment steps in all (else 1e6).")] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Where the randomness begins (else 0).")] = None,
    seeds: Annotated[int | None, typer.Option(metavar="K", min=1, help="K seeds from --seed on, each a run; one summary.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run, to --steps in all, to the bit.")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="A TOML file of keys; words override it.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print all keys as such a file, and stop.")] = False,
    greedy: words.Greedy = None,
    store: words.StoreUrl = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, say what would be done, and stop.")] = False,
    as_json: words.Json = False,
) -> None:
    """Train a policy.

    ENV is family:scenario, as in `agonist envs`; ALGO is one of `agonist algos`.
    `agonist algos ppo` lists every KEY of an algorithm and of training.

    # until the agents forage well: about ten seconds
    agonist train ppo lbf:2s-8x8-2p-2f-coop --steps 4e5 --seed 1

    # other keys; a list is written without spaces
    agonist train mappo lbf:15x15-4p-3f lr=3e-4 hidden=[64,64] env.sight=2

    # ten seeds and their mean; a random partner, and one role alone with its rate
    agonist train ppo matrix:rps --seeds 10
    agonist train ppo lighthouse:3x2 players.keeper=random roles.ship.lr=1e-3

    # go on with a run; say again with a file
    agonist train --resume latest --steps 2e6
    agonist train ppo lbf:8x8-2p-2f-coop --print-config > run.toml
    agonist train --config run.toml lr=1e-3

    Ctrl-C saves the run and says how to go on (exit code 130);
    a second one stops at once.
    """
    names, keys = words.split(names_and_keys or [])
    options = {"steps": steps, "seed": seed, "sampled": words.sampled(greedy)}
    options = {key: value for key, value in options.items() if value is not None}
    if resume is not None:
        _resume(resume, [*names, *keys], options, store, seeds, (config, print_config, dry_run), as_json)
        return
    given = {**(read_file(config) if config else {}), **_named(names), **keys, **options}
    for key in NOT_KEYS:
        if key in given:
            raise ValueError(f"{key} is an option and no key: write --{key}")
    devices.prepare(_shards(given))
    if print_config:
        _print_config(given, as_json)
    elif dry_run:
        _dry_run(given, seeds or 1, store, as_json)
    else:
        _run(given, seeds, store, as_json)


NOT_KEYS = ("store", "resume", "seeds", "json", "config", "greedy")  # options that somebody may write as a key


def _named(names: Sequence[str]) -> dict[str, str]:
    if len(names) > 2:
        raise ValueError(f"there is one ALGO and one ENV, and keys are written key=value; got {' '.join(names)}")
    return dict(zip(("algo", "env"), names, strict=False))


def _shards(given: Mapping[str, Any]) -> int:
    """How many devices may be of use; what is wrong with the key is said when the keys are checked."""
    try:
        return max(1, int(float(given["shards"])))
    except (KeyError, TypeError, ValueError, OverflowError):
        return devices.DEFAULT_SHARDS


def _run(given: Mapping[str, Any], seeds: int | None, store: str | None, as_json: bool) -> None:
    title = [str(given[key]) for key in ("algo", "env") if given.get(key)]
    with output.working(as_json), _says_store(store), progress(title, given.get("seed", 0), seeds) as told:
        from agonist import api, specs

        specs.resolve(given)  # words that are no keys are refused before they could be taken for arguments
        if seeds is None:
            runs = [api.train(store=store, on_progress=told, **given)]
        else:
            runs = api.train_seeds(**{"algo": None, "env": None, **given}, seeds=seeds, store=store, on_progress=told)
    if seeds is None:
        output.show(runs[0].result, as_json, lambda out: _picture_one(out, runs[0], store))
        return
    summary = api.summary_of(runs)
    keys = {"algo": given["algo"], "env": given["env"]}
    result = {"runs": [run.result for run in runs], "summary": [{"keys": keys, **summary}]}
    output.show(result, as_json, lambda out: _picture_many(out, runs, summary))


def _resume(run: str, extra: Sequence[str], options: Mapping[str, Any], store: str | None, seeds: Any, others: Any, as_json: bool) -> None:
    refused = [*extra, *(f"--{key}" for key in options if key != "steps"), *["--seeds"] * (seeds is not None)]
    refused += [name for name, value in zip(("--config", "--print-config", "--dry-run"), others, strict=True) if value]
    if refused:
        raise ValueError(f"a resumed run keeps its own keys: give --steps and nothing else, not {', '.join(refused)}")
    from agonist.runs import find_run, open_store
    from agonist.runs.folder import read_head

    opened = open_store(store)
    run_id = find_run(opened, run)
    spec = read_head(opened, run_id)["spec"]
    devices.prepare(_shards(spec))
    title = [str(spec[key]) for key in ("algo", "env") if key in spec]
    with output.working(as_json), _says_store(store), progress(title, spec.get("seed"), None) as told:
        from agonist import api

        done = api.train(resume=run_id, store=opened, on_progress=told, **options)
    output.show(done.result, as_json, lambda out: _picture_one(out, done, store))


@contextmanager
def _says_store(store: str | None) -> Iterator[None]:
    """How to go on with a run that was stopped is said with the store in which it is."""
    try:
        yield
    except RuntimeError as error:
        if store and type(error).__name__ == "Interrupted":
            error.args = (f"{error} --store {store}",)
        raise


def _print_config(given: Mapping[str, Any], as_json: bool) -> None:
    """The resolved keys as a TOML file, each with what it means."""
    from agonist import specs

    spec = specs.resolve(given)
    if as_json:
        output.show(spec.flat(), True, lambda out: None)
        return
    helps = {row["key"]: row for part in (type(spec.config), type(spec.train)) for row in rows(part)}
    lines = specs.to_toml(spec).splitlines()
    width = max(map(len, lines))
    for line in lines:
        row = helps.get(line.partition(" = ")[0])
        comment = f"{row['help']}{' [' + row['unit'] + ']' if row['unit'] else ''}" if row else ""
        print(f"{line:<{width}}  # {comment}" if comment else line)


def _dry_run(given: Mapping[str, Any], seeds: int, store: str | None, as_json: bool) -> None:
    with output.working(as_json, "checking"):
        from agonist import api

        plan = api.plan(given, store)
    output.show(plan | {"runs": seeds}, as_json, lambda out: _picture_plan(out, plan, seeds))


# pictures


def _picture_plan(out: Console, plan: Mapping[str, Any], seeds: int) -> None:
    spec = plan["spec"]
    out.print(f"would train {spec['algo']} on {spec['env']}: {spec['steps']:,} environment steps" + f", {seeds} runs" * (seeds > 1))
    out.print(f"  {plan['updates']:,} updates of {plan['steps_an_update']:,} steps, {plan['evaluations']:,} evaluations")
    out.print(f"  learns: {', '.join(plan['trains'])}" + (f"; plays along: {', '.join(plan['plays'])}" if plan["plays"] else ""))
    out.print("nothing was written; --print-config shows every key")


def _picture_one(out: Console, run: Run, store: str | None) -> None:
    result = run.result
    picture_curve(out, run.metrics("eval/return", *BANDS))
    names = "eval/return", "eval/interval", "policy", "policy_last", "perf/env_steps_per_second"
    mean, interval, best, last, speed = (result.get(name) for name in names)
    sample = f"{result.get('eval/episodes')} {result.get('eval/play')} episodes"
    facts = {
        "run": result["run"],
        "return": f"{output.interval(mean, *(interval or (None, None)))}  mean of {sample}",
        "policy": f"{best}  the best, of step {result.get('best_step', 0):,}",
        "last": f"{last}  of step {result['steps']:,}" if last != best else None,
        "time": f"{result.get('wall_seconds', 0):.1f} s" + (f", {speed:,.0f} env steps/s" if speed else ""),
    }
    for title, text in facts.items():
        if text:
            out.print(Text.assemble((f"{title:<8}", "bold"), text), soft_wrap=True)
    name, tail = result["run"].split("-", 2)[-1], f" --store {store}" if store else ""
    for title, command in (("next", "watch"), ("", "runs show")):
        out.print(Text(f"{title:<8}agonist {command} {name}{tail}", style="dim"), soft_wrap=True)


def picture_curve(out: Console, series: Mapping[str, Any]) -> None:
    """The learning curve, where there are two evaluations or more."""
    if "eval/return" not in series:
        return
    steps, _, values = series["eval/return"]
    bands = [list(series[name][2]) if name in series and len(series[name][2]) == len(values) else None for name in BANDS]
    lines = curve(list(steps), list(values), *bands, width=min(out.width, 80), plain=output.is_plain(sys.stdout))
    for line in lines:
        out.print(line, no_wrap=True)
    if lines:
        out.print()


def _picture_many(out: Console, runs: Sequence[Run], summary: Mapping[str, Any]) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("run", "seed", "return", "policy"):
        table.add_column(column, justify="right" if column == "seed" else "left", no_wrap=True)
    for run in runs:
        result = run.result
        table.add_row(run.id, str(run.spec["seed"]), output.interval(result["eval/return"], *result["eval/interval"]), result["policy"])
    out.print(table)
    out.print(f"mean {output.interval(summary['mean'], *summary['interval'])} over {summary['n']} seeds")

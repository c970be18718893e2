"""`agonist train`: keys -> a run, with a live panel on stderr and the result on stdout."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist import devices
from agonist.cli import machines, output, words
from agonist.cli.machines import Machines, ready
from agonist.cli.panel import progress
from agonist.cli.plot import curve
from agonist.cli.sweep import How, Jobs, go_on, train_many
from agonist.options import read_file, rows, swept

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
    jobs: Jobs = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run, to --steps in all, to the bit; or a sweep.")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="A TOML file of keys; words override it.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print all keys as such a file, and stop.")] = False,
    greedy: words.Greedy = None,
    allow_code: words.AllowCode = False,
    store: words.StoreUrl = None,
    used: machines.Devices = None,
    coordinator: machines.Coordinator = None,
    hosts: machines.Hosts = None,
    host: machines.Host = None,
    wait: machines.Wait = 60.0,
    dry_run: words.DryRun = False,
    as_json: words.Json = False,
) -> None:
    """Train a policy.

    ENV is family:scenario, as in `agonist envs`; ALGO is one of `agonist algos`.
    Either may be a function in a file of your own: ./my_env.py:make.
    `agonist algos ppo` lists every KEY of an algorithm and of training.

    # until the agents forage well: about ten seconds
    agonist train ppo lbf:2s-8x8-2p-2f-coop --steps 4e5 --seed 1

    # other keys; a list is written without spaces
    agonist train mappo lbf:15x15-4p-3f lr=3e-4 hidden=[64,64] env.sight=2

    # several values and seeds: a sweep, and its table (see agonist sweep)
    agonist train ppo matrix:climbing lr=1e-3,3e-3 --seeds 5

    # a random partner, and one role alone with its rate
    agonist train ppo lighthouse:3x2 players.keeper=random roles.ship.lr=1e-3

    # go on with a run; say again with a file
    agonist train --resume latest --steps 2e6
    agonist train ppo lbf:8x8-2p-2f-coop --print-config > run.toml
    agonist train --config run.toml lr=1e-3

    # one run on two hosts: the same on the other with --host 1
    agonist train ppo matrix:rps --coordinator node1:4567 --hosts 2 --host 0

    Ctrl-C saves the run and says how to go on (exit code 130);
    a second one stops at once.
    """
    names, keys = words.split(names_and_keys or [])
    options = {"steps": steps, "seed": seed, "sampled": words.sampled(greedy)}
    options = {key: value for key, value in options.items() if value is not None}
    where = machines.read(used, coordinator, hosts, host, wait, store, jobs)
    if resume is not None:
        _resume(resume, [*names, *keys], options, store, seeds, (config, print_config, dry_run), jobs, where, as_json)
        return
    given = {**(read_file(config) if config else {}), **words.named(names), **keys, **options}
    for key in NOT_KEYS:
        if key in given:
            raise ValueError(f"{key} is an option and no key: write --{key}")
    if print_config or dry_run:
        devices.use(used)
        devices.prepare(words.shards(given))
    else:
        ready(where, {**given, "--seeds": seeds or 1}, lambda: words.shards(given))
    several = seeds is not None or bool(swept(given)[1])
    if several and not print_config:
        train_many(given, How(seeds, jobs=jobs if where.alone else 1), store, dry_run, as_json)
    elif print_config:
        _print_config(given, as_json)
    elif dry_run:
        _dry_run(given, store, as_json)
    else:
        _run(given, store, as_json)


NOT_KEYS = ("store", "resume", "seeds", "json", "config", "greedy", "devices", "hosts", "host", "coordinator")  # options, no keys


def _run(given: Mapping[str, Any], store: str | None, as_json: bool) -> None:
    title = [str(given[key]) for key in ("algo", "env") if given.get(key)]
    with output.working(as_json), words.says_store(store), progress(title, given.get("seed", 0), None) as told:
        from agonist import api, specs

        specs.resolve(given)  # words that are no keys are refused before they could be taken for arguments
        run = api.train(store=store, on_progress=told, **given)
    output.show(run.result, as_json, lambda out: _picture_one(out, run, store))


def _resume(
    run: str,
    extra: Sequence[str],
    options: Mapping[str, Any],
    store: str | None,
    seeds: Any,
    others: Any,
    jobs: int | None,
    where: Machines,
    as_json: bool,
) -> None:
    refused = [*extra, *(f"--{key}" for key in options if key != "steps"), *["--seeds"] * (seeds is not None)]
    refused += [name for name, value in zip(("--config", "--print-config", "--dry-run"), others, strict=True) if value]
    if refused:
        raise ValueError(f"a resumed run keeps its own keys: give --steps and nothing else, not {', '.join(refused)}")
    from agonist.runs import find_run, open_store
    from agonist.runs.folder import read_head

    def shards() -> int:
        opened = open_store(store)
        return words.shards(read_head(opened, find_run(opened, run))["spec"])

    ready(where, {"--resume": run, **options}, shards)
    opened = open_store(store)
    run_id = find_run(opened, run)
    head = read_head(opened, run_id)
    if head["kind"] == "sweep":
        go_on(run_id, store, jobs if where.alone else 1, as_json, refused=["--steps"] * ("steps" in options))
        return
    spec = head["spec"]
    title = [str(spec[key]) for key in ("algo", "env") if key in spec]
    with output.working(as_json), words.says_store(store), progress(title, spec.get("seed"), None) as told:
        from agonist import api

        done = api.train(resume=run_id, store=opened, on_progress=told, **options)
    output.show(done.result, as_json, lambda out: _picture_one(out, done, store))


def _print_config(given: Mapping[str, Any], as_json: bool) -> None:
    """The resolved keys as a TOML file, each with what it means."""
    from agonist import specs

    spec = specs.resolve(given)
    if as_json:
        output.show(spec.flat(), True, lambda out: None)
        return
    helps = {row["key"]: row for part in (type(spec.config), type(spec.train), type(spec.log)) for row in rows(part)}
    lines = specs.to_toml(spec).splitlines()
    width = max(map(len, lines))
    for line in lines:
        row = helps.get(line.partition(" = ")[0])
        comment = f"{row['help']}{' [' + row['unit'] + ']' if row['unit'] else ''}" if row else ""
        print(f"{line:<{width}}  # {comment}" if comment else line)


def _dry_run(given: Mapping[str, Any], store: str | None, as_json: bool) -> None:
    with output.working(as_json, "checking"):
        from agonist import api

        plan = api.plan(given, store)
    output.show(plan | {"runs": 1}, as_json, lambda out: _picture_plan(out, plan))


# pictures


def _picture_plan(out: Console, plan: Mapping[str, Any]) -> None:
    spec = plan["spec"]
    out.print(f"would train {spec['algo']} on {spec['env']}: {spec['steps']:,} environment steps")
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

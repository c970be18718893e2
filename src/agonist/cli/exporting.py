"""`agonist runs export`: runs carried elsewhere, whole or as a table of what they measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import output, words
from agonist.cli.marking import RUNS, Where


def export(
    out: Annotated[str, typer.Option(metavar="FILE", help="x.zip, x.tar.gz, x.csv, x.parquet or x.json.")],
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help=RUNS)] = None,
    where: Where = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Write runs to a file: all of them, or their metrics as a table.

    .zip and .tar.gz hold the whole folders, which `agonist runs import`
    takes back. .csv and .parquet hold a row a metric point: run, algo, env,
    seed, the other keys that differ, step, time, name, value. .json holds
    what is known of each run, with its metrics. A sweep takes its runs
    along. The final evaluation stands in a table as final/eval/return.

    agonist runs export calm-heron --out calm-heron.zip
    agonist runs export --where 'tag:paper' --out paper.parquet
    agonist runs export latest --out curves.csv --force
    """
    import os

    from agonist.runs import find_runs, list_runs, open_store, removal
    from agonist.runs.export import TABLES, kind_of
    from agonist.runs.export import export as write

    kind = kind_of(out)
    if os.path.exists(out) and not force:
        raise ValueError(f"{out} is there already; say --force to replace it, or another --out")
    opened = open_store(store)
    asked = find_runs(opened, runs or [], where)
    every = list_runs(opened)
    kinds = {str(summary["id"]): summary.get("kind") for summary in every}
    goes = removal.family(every, asked)
    ids = [one for one in goes if kind not in TABLES or kinds.get(one) not in removal.TAKES_ALONG]
    if not dry_run:
        with output.counting(len(ids), "writing") as on_run:
            write(opened, ids, out, on_run)
    size = os.path.getsize(out) if not dry_run else None
    result = {
        "out": out,
        "kind": kind.removeprefix("."),
        "bytes": size,
        "runs": ids,
        "along": sum(goes[one] is not None for one in ids),
        "dry_run": dry_run,
    }
    output.show(result, as_json, lambda screen: _picture(screen, result))


def _picture(out: Console, result: Mapping[str, Any]) -> None:
    many = "1 run" if len(result["runs"]) == 1 else f"{len(result['runs']):,} runs"
    many += f", {result['along']:,} of them part of a sweep" if result["along"] else ""
    if result["dry_run"]:
        out.print(f"would write {many} to {result['out']}; nothing was written", soft_wrap=True)
    else:
        out.print(Text.assemble((result["out"], "bold"), f"  {many}, {output.size(result['bytes'])}"), soft_wrap=True)

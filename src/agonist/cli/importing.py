"""`agonist runs import`: other people's results, and archives, as runs of this store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from agonist.cli import output, words
from agonist.options import nearest

KEYS = ("algo", "env", "seed", "step", "return")


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE... [KEY=VALUE]...", help="Files, and keys that they do not tell themselves.")],
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="What to call the algorithm.")] = None,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Bring other people's results in as runs, and exported runs back.

    marl-eval's JSON (a run an algorithm, task and seed), TensorBoard's event
    files or a folder of them, CSV and Parquet (a row a step, a column a
    metric), and archives of `agonist runs export`. What is not ours becomes a
    run of kind foreign, which lists, compares and plots like others. The same
    content is never imported twice.

    # what Mava wrote
    agonist runs import results/metrics.json

    # a table tells no names: say them, and which column is the return
    agonist runs import qmix.csv --as qmix env=rware:tiny-4ag return=reward

    # every run below a folder of TensorBoard's; an archive
    agonist runs import logs/ --as sac env=gymnasium:CartPole-v1
    agonist runs import paper.tar.gz --store /data/runs
    """
    from pathlib import Path

    from agonist.importers import bring
    from agonist.runs import open_store

    paths, keys = words.split(files)
    for key in keys:
        if key not in KEYS:
            raise ValueError(f"an import has no key {key!r}{nearest(key, KEYS)}")
    if not paths:
        raise ValueError("need a file to import, such as results/metrics.json")
    opened = open_store(store)
    rows = [one._asdict() for path in paths for one in bring(opened, Path(path), name, keys, dry_run)]
    result = {"imported": [row for row in rows if row["new"]], "known": [row for row in rows if not row["new"]], "dry_run": dry_run}
    output.show(result, as_json, lambda out: _picture(out, result, opened.url))


def _picture(out: Console, result: Mapping[str, Any], url: str) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("run", "algo", "env", "seed", "steps", "points", ""):
        table.add_column(column, justify="right" if column in ("seed", "steps", "points") else "left", no_wrap=True, overflow="ellipsis")
    new = "would be new" if result["dry_run"] else "new"
    for mark, rows in ((new, result["imported"]), ("there already", result["known"])):
        for row in rows:
            spec = [str(row["spec"].get(key, "-")) for key in ("algo", "env", "seed")]
            table.add_row(row["run"] or "-", *spec, f"{row['steps']:,}", "-" if row["points"] is None else f"{row['points']:,}", mark)
    out.print(table)
    out.print(_sum(result["imported"], result["known"], new, url), style="dim", soft_wrap=True)


def _sum(imported: Sequence[Any], there: Sequence[Any], new: str, url: str) -> str:
    return f"{len(imported)} {new}, {len(there)} there already in {url}"

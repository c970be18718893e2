"""`agonist bench`: the measurements of `agonist.bench`, by name."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from agonist import devices
from agonist.cli import output, words


def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="What to measure; without it, what there is.", show_default=False)
    ] = None,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Keys of the measurement.", show_default=False)] = None,
    as_json: words.Json = False,
) -> None:
    """Measure speed, with the machine written beside the figures.

    # what can be measured
    agonist bench

    # training on this machine, as JSON
    agonist bench train --json
    """
    from agonist import bench as measurements

    if name is None:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for known, about in measurements.NAMES.items():
            table.add_row(f"[bold]{known}[/bold]", about)
        output.show({"benches": dict(measurements.NAMES)}, as_json, lambda out: out.print(table))
        return
    if name not in ("start", "kills", "listing"):  # its processes are as a user's: they prepare themselves
        devices.prepare()
    with output.working(as_json):
        result = measurements.run(name, list(keys or []))
    output.show(result, as_json, lambda out: out.print_json(data=output.plain(result)))

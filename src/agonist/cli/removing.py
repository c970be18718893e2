"""`agonist runs delete`, `restore`, `purge`: runs removed, with time to change one's mind."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import output, words
from agonist.cli.marking import RUNS, Where

if TYPE_CHECKING:
    from agonist.runs import Store

Runs = Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help=RUNS)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; needed where nobody can be asked.")]


def delete(
    runs: Runs = None,
    where: Where = None,
    undo_time: Annotated[
        str, typer.Option(metavar="TIME", envvar="AGONIST_UNDO_TIME", help="How long `runs restore` can bring them back: 90s, 12h, 30d.")
    ] = "7d",
    at_once: Annotated[bool, typer.Option("--now", help="Remove them for good, at once.")] = False,
    yes: Yes = False,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Delete runs; they can be restored for 7 days.

    After that a later delete or purge removes them.

    A sweep takes its runs along. A run that is being written is refused.

    agonist runs delete calm-heron
    agonist runs delete --where 'status = failed and age > 30d' --dry-run
    agonist runs restore calm-heron

    # for good, at once, without being asked
    agonist runs delete calm-heron --now --yes
    """
    from agonist.runs import find_runs, open_store, removal
    from agonist.runs.matching import span

    try:
        undo = span(undo_time)
    except ValueError as error:
        raise ValueError(f"--undo-time needs {error}, got {undo_time!r}") from None
    opened = open_store(store)
    deletion = removal.plan(opened, find_runs(opened, runs or [], where))
    expired = [] if at_once else removal.over(opened)
    if not dry_run and at_once:
        _ask(len(deletion.runs), yes, as_json)
        _purge(opened, [*deletion.runs], as_json)
    elif not dry_run:
        removal.delete(opened, deletion, undo)
        _purge(opened, expired, as_json)
    result = {
        "deleted": [{"run": run_id, "along_with": along} for run_id, along in deletion.runs.items()],
        "stay": [{"run": child, "parent": run_id} for run_id, children in deletion.orphans.items() for child in children],
        "purged": expired if not at_once else [*deletion.runs],
        "restorable_seconds": 0 if at_once else undo,
        "dry_run": dry_run,
    }
    output.show(result, as_json, lambda out: _picture_deleted(out, result, undo_time, store))


def restore(
    runs: Runs = None,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Bring deleted runs back; without a name, list those that can be.

    agonist runs restore
    agonist runs restore calm-heron
    """
    from agonist.runs import find_runs, open_store, removal

    opened = open_store(store)
    if not runs:
        waiting = _waiting(opened)
        output.show({"deleted": waiting}, as_json, lambda out: _picture_waiting(out, waiting, opened.url))
        return
    ids = find_runs(opened, runs, deleted=True)
    kept = [run_id for run_id in ids if run_id not in {row["run"] for row in _waiting(opened)}]
    if kept:
        raise ValueError(f"run {kept[0]} is not deleted; agonist runs restore, without a name, lists those that are")
    back = list(dict.fromkeys(one for run_id in ids for one in removal.restore(opened, run_id, dry_run)))
    result = {"restored": back, "dry_run": dry_run}
    output.show(result, as_json, lambda out: _picture_names(out, back, "would be restored" if dry_run else "restored"))


def purge(
    yes: Yes = False,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Remove for good the deleted runs whose time to be restored is over.

    agonist runs purge --dry-run
    agonist runs purge --yes
    """
    from agonist.runs import open_store, removal

    opened = open_store(store)
    gone = removal.over(opened)
    if gone and not dry_run:
        _ask(len(gone), yes, as_json)
        _purge(opened, gone, as_json)
    result = {"purged": gone, "dry_run": dry_run}
    output.show(result, as_json, lambda out: _picture_names(out, gone, "would be removed" if dry_run else "removed for good"))


def _ask(count: int, yes: bool, as_json: bool) -> None:
    import sys

    if yes:
        return
    many = "1 run" if count == 1 else f"{count:,} runs"
    if as_json or not sys.stdin.isatty():
        raise ValueError(f"this removes {many} for good; say --yes, or see --dry-run")
    if not typer.confirm(f"Remove {many} for good?", err=True):
        raise typer.Abort


def _purge(store: Store, run_ids: Sequence[str], as_json: bool) -> None:
    from agonist.runs import removal

    with output.counting(len(run_ids), "removing") as on_run:
        removal.purge(store, run_ids, on_run)


def _waiting(store: Store) -> list[dict[str, Any]]:
    """Deleted runs, and for how many seconds each can still be restored."""
    from agonist.runs import list_runs
    from agonist.runs.rows import brief_of

    found = []
    for summary in list_runs(store, deleted=True):
        mark = (summary.get("marks") or {}).get("deleted")
        if mark:
            row = {key: value for key, value in brief_of(summary).items() if key in ("run", "kind", "algo", "env", "seed", "status")}
            found.append(
                {**row, "deleted": mark["time"], "by": mark.get("by"), "restorable_seconds": max(0.0, mark["until"] - time.time())}
            )
    return found


def _picture_deleted(out: Console, result: Mapping[str, Any], undo_time: str, store: str | None) -> None:
    would = "would be " if result["dry_run"] else ""
    verb = f"{would}deleted" if result["restorable_seconds"] else f"{would}removed for good"
    for row in result["deleted"]:
        along = f", with {row['along_with']}" if row["along_with"] else ""
        out.print(Text.assemble((row["run"], "bold"), f"  {verb}{along}"), soft_wrap=True)
    for row in result["stay"]:
        out.print(Text.assemble((row["run"], "bold"), f"  stays; {row['parent']} was its parent"), soft_wrap=True)
    if result["restorable_seconds"]:
        if result["purged"]:
            out.print(f"{len(result['purged'])} whose time was over {would or 'were '}removed for good")
        many = "it comes" if len(result["deleted"]) == 1 else "they come"
        how = f"agonist runs restore {result['deleted'][0]['run']}{f' --store {store}' if store else ''}"
        out.print(Text(f"for {undo_time} {many} back with: {how}", style="dim"), soft_wrap=True)
    if result["dry_run"]:
        out.print("nothing was changed")


def _picture_waiting(out: Console, waiting: Sequence[Mapping[str, Any]], url: str) -> None:
    for row in waiting:
        left = output.age(row["restorable_seconds"]) if row["restorable_seconds"] else "no time"
        about = "  ".join(str(row[key]) for key in ("algo", "env", "seed") if row.get(key) is not None)
        out.print(Text.assemble((row["run"], "bold"), f"  {about}  ", (f"{left} left", "dim")), soft_wrap=True)
    if not waiting:
        out.print(f"no run of {url} is deleted", soft_wrap=True)


def _picture_names(out: Console, names: Sequence[str], verb: str) -> None:
    for name in names:
        out.print(Text.assemble((name, "bold"), f"  {verb}"), soft_wrap=True)
    if not names:
        out.print(f"nothing {verb}")

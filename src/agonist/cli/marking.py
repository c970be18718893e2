"""`agonist runs tag`, `note`, `archive`: what people write on runs, also while they are being written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import output, words

if TYPE_CHECKING:
    from agonist.runs.marks import Marks

Where = Annotated[str | None, typer.Option(metavar="FILTER", help="All runs that meet this, as in agonist runs list.")]
RUNS = "Runs, by id, beginning or words; several with spaces or commas between."


def tag(
    words_: Annotated[
        list[str], typer.Argument(metavar="RUN[,RUN...] NAME...", help="A run or several, then tags; with --where tags alone.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Take these tags away.")] = False,
    where: Where = None,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Tag runs, or take tags away. `agonist runs list tag:NAME` finds them.

    agonist runs tag calm-heron paper figure-2
    agonist runs tag calm-heron figure-2 --remove
    agonist runs tag --where 'algo = ppo and env ~ lbf' baseline
    """
    from agonist.runs import marks

    runs, names = ([], words_) if where is not None else (words_[:1], words_[1:])
    if not names:
        raise ValueError("which tag? say the run and then its tags, as in: agonist runs tag calm-heron paper")
    if not remove:
        edit = marks.tag(*map(marks.check_tag, names))
        _apply(runs, where, edit, dry_run, store, as_json, f"tagged {' '.join(names)}")
        return
    refuse = None if where is not None else lambda before, run_id: marks.unknown_tags(names, before, run_id)
    _apply(runs, where, marks.untag(*names), dry_run, store, as_json, f"no longer tagged {' '.join(names)}", refuse)


def note(
    words_: Annotated[
        list[str], typer.Argument(metavar="RUN[,RUN...] TEXT", help="A run or several, then the note; with --where it alone.")
    ],
    where: Where = None,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Write a note on runs.

    `agonist runs show` has them all; `runs list 'note ~ WORD'` finds the newest.

    agonist runs note calm-heron 'reward scaled by 10, see figure 2'
    agonist runs note --where 'status = failed' 'disk was full'
    """
    from agonist.runs import marks

    runs, text = ([], words_) if where is not None else (words_[:1], words_[1:])
    said = " ".join(text).strip()
    if not said:
        raise ValueError("what is the note? as in: agonist runs note calm-heron 'reward scaled by 10'")
    _apply(runs, where, marks.note(said), dry_run, store, as_json, "noted")


def archive(
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help=RUNS)] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let them be listed again.")] = False,
    where: Where = None,
    dry_run: words.DryRun = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Put runs out of sight: `runs list` shows them with --all only.

    A sweep takes its runs along.

    agonist runs archive calm-heron brave-otter
    agonist runs archive --where 'age > 30d and not tag:paper' --dry-run
    agonist runs archive calm-heron --undo
    """
    from agonist.runs import marks

    if undo and where is not None and "archived" not in where:
        where = f"({where}) and archived = true"
    edit, done = (marks.unarchive(), "listed again") if undo else (marks.archive(), "archived")
    _apply(runs or [], where, edit, dry_run, store, as_json, done, along=True)


def _apply(
    runs: Sequence[str],
    where: str | None,
    edit: Callable[[Marks], Marks],
    dry_run: bool,
    store: str | None,
    as_json: bool,
    done: str,
    refuse: Callable[[Marks, str], None] | None = None,
    along: bool = False,
) -> None:
    """Make the change on each run, and say on which it was one. `along`: on the runs of sweeps among them as well."""
    from agonist.runs import find_runs, list_runs, marks, open_store, removal

    opened = open_store(store)
    asked = find_runs(opened, runs, where)
    goes = removal.family(list_runs(opened), asked) if along else dict.fromkeys(asked)
    ids = [*goes]
    before = {run_id: marks.read(opened, run_id) for run_id in ids}
    for run_id in ids if refuse else ():
        refuse(before[run_id], run_id)  # type: ignore[misc]
    after = {run_id: edit(before[run_id]) if dry_run else marks.change(opened, run_id, edit) for run_id in ids}
    rows = [{"run": run_id, **after[run_id].summary(), "changed": after[run_id] != before[run_id]} for run_id in ids]
    rows = [{**row, "along_with": goes[row["run"]]} for row in rows] if along else rows
    result = {"runs": [{key: value for key, value in row.items() if key != "deleted"} for row in rows], "dry_run": dry_run}
    output.show(result, as_json, lambda out: _picture(out, result, done))


def _picture(out: Console, result: Mapping[str, Any], done: str) -> None:
    for row in result["runs"]:
        tags = f"  ({' '.join(row['tags'])})" if row["tags"] else ""
        said = (done if row["changed"] else "as it was") + (f", with {row['along_with']}" if row.get("along_with") else "")
        out.print(Text.assemble((row["run"], "bold"), f"  {said}", (tags, "dim")), soft_wrap=True)
    if result["dry_run"]:
        out.print("nothing was written")

"""`agonist new env|algo NAME`: a package of one's own, with its tests, ready to run.

What is written is one of our examples, `examples/plugin-env` or `examples/plugin-algo`, with another name: they are shipped within the
package, and installed and trained by our own tests.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist.cli import help, output, words

app = typer.Typer(
    help="Write a package of your own: an environment or an algorithm, with its tests.",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=help.Group,
)
EXAMPLES = {"env": "seesaw", "algo": "reinforce"}  # what they add is called so in every form, and no other word there is
GROUPS = {"env": "agonist.envs", "algo": "agonist.algos"}

Name = Annotated[str, typer.Argument(metavar="NAME", help="How it will be called: small letters, digits and _.")]
To = Annotated[str | None, typer.Option("--to", metavar="FOLDER", help="Where to write (else agonist-NAME here).")]


@app.command(cls=help.Command)
def env(name: Name, to: To = None, dry_run: words.DryRun = False, as_json: words.Json = False) -> None:
    """Write a package that adds an environment.

    It is a small game for two, with its drawing, its options and its
    tests: change it into yours.

    agonist new env pond
    agonist new env pond --to ~/games/pond --dry-run
    """
    _new("env", name, to, dry_run, as_json)


@app.command(cls=help.Command)
def algo(name: Name, to: To = None, dry_run: words.DryRun = False, as_json: words.Json = False) -> None:
    """Write a package that adds an algorithm.

    It is a policy gradient with a baseline, with its keys, its metrics and
    its tests: change it into yours.

    agonist new algo mine
    agonist new algo mine --to ~/algos/mine --dry-run
    """
    _new("algo", name, to, dry_run, as_json)


def template(kind: str) -> Path:
    """The example that is copied: within the installed package, or in the source tree."""
    shipped = Path(__file__).parents[1] / "templates" / kind
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "examples" / f"plugin-{kind}"


def files(kind: str, name: str) -> dict[str, str]:
    """Path -> text of the package of that name."""
    root = template(kind)
    found = sorted(path for path in root.rglob("*") if path.is_file() and not _is_made(path.relative_to(root)))
    return {renamed(kind, name, path.relative_to(root).as_posix()): renamed(kind, name, path.read_text(encoding="utf8")) for path in found}


def renamed(kind: str, name: str, text: str) -> str:
    """With the new name in every form: `tug_of_war`, in a package's name `tug-of-war`, in a class's `TugOfWar`."""
    old = EXAMPLES[kind]
    text = text.replace(f"agonist-{old}", f"agonist-{name.replace('_', '-')}").replace(
        f"plugin-{kind}", f"agonist-{name.replace('_', '-')}"
    )
    text = text.replace(old.title(), "".join(part.title() for part in name.split("_")))
    return text.replace(old, name)


def _is_made(path: Path) -> bool:
    """By Python or a build, not by hand."""
    return any(part.startswith(("__pycache__", ".")) or part.endswith(".egg-info") or part in ("dist", "build") for part in path.parts)


def _new(kind: str, name: str, to: str | None, dry_run: bool, as_json: bool) -> None:
    _check(kind, name)
    folder = Path(to).expanduser() if to else Path(f"agonist-{name.replace('_', '-')}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already: name another folder with --to")
    written = files(kind, name)
    if not dry_run:
        for path, text in written.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf8", newline="\n")
    result = {"kind": kind, "name": name, "folder": str(folder), "files": list(written), "written": not dry_run}
    output.show(result, as_json, lambda out: _picture(out, result))


def _check(kind: str, name: str) -> None:
    """Refuse a name under which it could not be imported, or not be found."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        near = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
        hint = f", such as {near}" if re.fullmatch(r"[a-z][a-z0-9_]*", near) else ""
        raise ValueError(f"{name!r} cannot be the name of a Python module: small letters, digits and _, a letter first{hint}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise ValueError(f"{name} is a word of Python's: take another name")
    from agonist import plugins

    for offer in plugins.installed(GROUPS[kind]):
        if offer.name == name:
            what = "an environment" if kind == "env" else "an algorithm"
            raise ValueError(f"there is {what} {name} of {offer.package or 'agonist'}: take another name")


def _picture(out: Console, result: dict[str, Any]) -> None:
    folder = result["folder"]
    out.print(Text(f"{'wrote' if result['written'] else 'would write'} {folder}", style="bold"), soft_wrap=True)
    for path in result["files"]:
        out.print(Text(f"  {path}", style="dim"), soft_wrap=True)
    if not result["written"]:
        return
    use = f"train ppo {result['name']}:4" if result["kind"] == "env" else f"train {result['name']} matrix:climbing"
    for line in (f"cd {folder}", "pip install -e '.[test]'", "pytest", "agonist plugins", f"agonist {use} --steps 1e5"):
        out.print(Text(f"    {line}", style="green"), soft_wrap=True)

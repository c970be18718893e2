"""Write those parts of the documentation that the code knows: keys, metrics, help pages, environments, files, decisions; and by the
modules beside this one, the Python API (`declared.py`) and measurements (`measured.py`).

A page holds such a part between two marks, and everything around them is written by hand:

    <!-- made by docs/generate.py: ppo-keys -->
    ...
    <!-- end -->

`python docs/generate.py` writes all pages anew; `--pictures` also trains the two foragers of the quickstart, films them
and draws the environments. The tests make sure that running it
changes nothing.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import declared
import measured
from tables import table

ROOT = Path(__file__).resolve().parent.parent
PICTURES = {"lbf": "2s-8x8-2p-2f-coop", "lighthouse": "3x2", "matrix": "climbing"}  # family -> the scenario that is drawn
PART = re.compile(r"<!-- made by docs/generate.py: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """A page's text with every part made anew."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!-- made by docs/generate.py: {name} -->\n\n{PARTS[name]().strip()}\n\n<!-- end -->"

    return PART.sub(part, text)


# keys, metrics


def keys(part: type[Any]) -> str:
    from agonist.options import rows

    def row(told: Mapping[str, Any]) -> list[str]:
        notes = [told["help"], f"({', '.join(map(str, told['choices']))})" if told["choices"] else "", *_bounds(told["span"])]
        unit = f" {told['unit']}" if told["unit"] else ""
        return [f"`{told['key']}`", told["type"], f"`{_plain(told['default'])}`{unit}", " ".join(filter(None, notes)), told["source"]]

    return table(("key", "type", "default", "meaning", "where the default comes from"), map(row, rows(part)))


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    return {True: "true", False: "false", None: "none"}.get(value, str(value)) if isinstance(value, bool | None) else str(value)


def _bounds(span: tuple[float | None, float | None] | None) -> list[str]:
    low, high = span or (None, None)
    if low is None and high is None:
        return []
    return [f"({low} to {high})" if None not in (low, high) else f"({low} or more)" if high is None else f"({high} or less)"]


def ppo_keys() -> str:
    from agonist.algos.ppo import PPOConfig

    return keys(PPOConfig)


def ppo_marks() -> str:
    """What each of the two marks on a key means, and which keys bear it."""
    from agonist.algos.ppo import PPOConfig
    from agonist.options import rows

    told = rows(PPOConfig)
    lists = {mark: ", ".join(f"`{row['key']}`" for row in told if row[mark]) for mark in ("traced", "acts")}
    return (
        f"Numbers that are data in the compiled program, so that changing them compiles nothing: {lists['traced']}.\n\n"
        f"Keys that shape how a policy acts, and so are part of its name: {lists['acts']}."
    )


def ppo_about() -> str:
    """The algorithm's own words, up to its metrics."""
    from agonist.algos import ppo

    return inspect.cleandoc(ppo.__doc__ or "").partition("\n\nBatch [T, B, N]")[0]


def ppo_metrics() -> str:
    from agonist.algos import ppo

    return table(("metric", "meaning"), [[", ".join(f"`{name}`" for name in names), text] for names, text in metrics_of(ppo.__doc__ or "")])


def metrics_of(docstring: str) -> list[tuple[list[str], str]]:
    """The indented list of metrics in an algorithm's docstring."""
    name = r"[a-z_]+/[a-z_]+"
    found: list[tuple[list[str], str]] = []
    for line in inspect.cleandoc(docstring).splitlines():
        if row := re.match(rf"    ({name}(?:, {name})*)\s+(.+)", line):
            found.append((row[1].split(", "), row[2]))
        elif found and line.startswith("     "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def algos() -> str:
    from agonist import algos, plugins

    rows = []
    for name in sorted(name for name, entry in plugins.offers(algos.GROUP).items() if plugins.package(entry) is None):
        card = algos.card(name)
        rows.append([f"`{name}`", card.about, ", ".join(f"`{key}={value}`" for key, value in card.fixed.items()) or "-", card.source])
    return table(("name", "what it is", "keys that the name settles", "source"), rows)


def training_keys() -> str:
    from agonist.loop import TrainConfig

    return keys(TrainConfig)


def log_keys() -> str:
    from agonist.sinks import LogConfig

    return keys(LogConfig)


def kinds_of_keys() -> str:
    """The table at the top of `agonist.specs`."""
    from agonist import specs

    return f"```text\n{inspect.cleandoc(_indented(specs.__doc__ or ''))}\n```"


def _indented(docstring: str) -> str:
    return "\n".join(line for line in docstring.splitlines() if line.startswith("    "))


# the command line


def cli() -> str:
    out = []
    for words in _commands():
        out.append(f"## {' '.join(('agonist', *words))}\n\n```text\n{help_of(words)}\n```")
    return "\n\n".join(out)


def help_of(words: Sequence[str]) -> str:
    """A help page as a terminal of 80 columns shows it."""
    from agonist.cli import main

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with redirect_stdout(io.StringIO()) as out:
            main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _commands() -> list[tuple[str, ...]]:
    import typer

    from agonist.cli import app

    def below(command: Any, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [words, *(found for name, child in getattr(command, "commands", {}).items() for found in below(child, (*words, name)))]

    return below(typer.main.get_command(app), ())


# environments


def environments() -> str:
    from agonist import envs

    return "\n\n".join(_family(row) for row in envs.families() if row["package"] is None)


def _family(row: Mapping[str, Any]) -> str:
    from agonist import envs

    family = row["family"]
    out = [f"## {family}", f"{row['about']} {row['source']}.".replace("..", ".")]
    if family in PICTURES:
        out.append(f"![{family}:{PICTURES[family]}](../pictures/{family}.png)")
    if row["install"]:
        return "\n\n".join([*out, f"Not installed here: `{row['install']}`."])
    told = [envs.describe(name) for name in row["scenarios"]]
    roles = [[f"`{each['name']}`" if i == 0 else "", *_role(role, each)] for each in told for i, role in enumerate(each["roles"])]
    out.append(table(("name", "role", "agents", "sees", "does", "rewards", "steps at most"), roles))
    options = [[f"`env.{o['key']}`", o["type"], f"`{_plain(o['default'])}`", o["help"]] for o in told[0]["options"]]
    return "\n\n".join([*out, "Options:", table(("key", "type", "default", "meaning"), options)])


def _role(role: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    low, high = role["reward_range"]
    pays = "" if None in (low, high) else f", {low:g} to {high:g}"
    shape = re.sub(r".*shape=\((.*?),?\).*", r"[\1]", role["obs"])
    does = re.sub(r"Discrete\(n=(\d+)\)", r"one of \1", role["action"])
    does = re.sub(r"Box\(low=(.*?), high=(.*?), shape=\((.*?),?\).*", r"[\3] numbers, \1 to \2", does)
    return [role["name"], role["agents"], shape, does, f"{role['rewards']}{pays}", told["time_limit"] or "none"]


# pictures


def quickstart_curve() -> str:
    return _quickstart(lambda line: not re.match(r"\w", line))


def quickstart_result() -> str:
    return _quickstart(lambda line: bool(re.match(r"[a-z]+ {2}", line)))


def _quickstart(keep: Callable[[str], bool]) -> str:
    """Lines of what training said when the pictures were made."""
    lines = (ROOT / "docs" / "pictures" / "quickstart.txt").read_text(encoding="utf8").rstrip().splitlines()
    text = "\n".join(line for line in lines if keep(line)).rstrip()
    return f"```text\n{text}\n```"


def film() -> None:
    """What `make quickstart` does, with a film that is small enough for a page."""
    from agonist.cli import main

    said = io.TextIOWrapper(io.BytesIO(), encoding="utf8", newline="")  # a stream that can show a curve in braille
    with tempfile.TemporaryDirectory() as store, redirect_stdout(said):
        told = main(["train", "ppo", f"lbf:{PICTURES['lbf']}", "--steps", "4e5", "--seed", "1", "--store", store])
        out = str(ROOT / "docs" / "pictures" / "quickstart.gif")
        for seed in range(100):
            main(["watch", "latest", "--episodes", "2", "--fps", "4", "--seed", str(seed), "--out", out, "--store", store])
            if Path(out).stat().st_size < 280_000:
                break
    assert told == 0
    said.seek(0)
    lines = [line.rstrip() for line in said.read().partition("seed 0:")[0].splitlines() if "agonist " not in line]
    (ROOT / "docs" / "pictures" / "quickstart.txt").write_text("\n".join(lines) + "\n", encoding="utf8")


def draw() -> None:
    """A moment of each of our environments, as it draws itself, some steps into an episode."""
    import jax
    from PIL import Image

    import agonist
    from agonist.testing.envs import random_actions

    for family, scenario in PICTURES.items():
        env = agonist.make(f"{family}:{scenario}")
        reset, step = jax.jit(env.reset), jax.jit(env.step)
        state, timestep = reset(jax.random.split(jax.random.key(3), 1))
        for t in range(3):
            rng = importlib.import_module("numpy").random.default_rng(t)
            state, timestep = step(state, random_actions(env.spec, timestep, rng))
        Image.fromarray(env.render(state, 0)).quantize(64).save(ROOT / "docs" / "pictures" / f"{family}.png", optimize=True)


# who may write what


def suites() -> str:
    rows = [[f"`{module}.{kind.__name__}`", len(declared.rules(kind)), _sentence(kind.__doc__)] for module, kind in declared.every_suite()]
    return table(("suite", "rules", "for"), rows)


def _sentence(docstring: str | None) -> str:
    return " ".join((docstring or "").split("\n\n")[0].split())


def rooms() -> str:
    """The layers of `pyproject.toml`, top first, and the first sentence of each room."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    layers = next(c for c in config["tool"]["importlinter"]["contracts"] if c["type"] == "layers")["layers"]
    named = [(number, room.strip(" ()")) for number, layer in enumerate(layers, 1) for room in layer.split("|")]
    return table(("layer", "room", "what it does"), [[number, f"`{room}`", _first_sentence(room)] for number, room in named])


def _first_sentence(room: str) -> str:
    if room == "__main__":
        return "`python -m agonist`."
    text = " ".join((importlib.import_module(f"agonist.{room}").__doc__ or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0].rstrip(":")


def decisions() -> str:
    found = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    titles = [page.read_text(encoding="utf8").partition("\n")[0].removeprefix("# ").partition(". ") for page in found]
    return table(("", "decision"), [[number, f"[{title}]({page.name})"] for page, (number, _, title) in zip(found, titles, strict=True)])


# files

FILES = {  # what lies in a store -> the module whose docstring says how
    "The store": "runs.store",
    "A run's folder": "runs.folder",
    "How it is written": "runs.writer",
    "Whose a run is": "runs.claim",
    "Metrics": "runs.segments",
    "Policies and tensors": "checkpoints",
    "States": "trees",
}


def files() -> str:
    return "\n\n".join(f"## {title}\n\n{words_of(f'agonist.{module}')}" for title, module in FILES.items())


def words_of(module: str) -> str:
    """A module's docstring as a page's text."""
    return re.sub(r"```\n(.*?)```", r"```text\n\1```", inspect.cleandoc(importlib.import_module(module).__doc__ or ""), flags=re.DOTALL)


def files_examples() -> str:
    """The newest store that is kept for the tests, as it was written."""
    run = next(max((ROOT / "tests" / "golden").glob("store.v*")).glob("runs/*"))
    shown = [f"`{name}`\n\n```json\n{(run / name).read_text(encoding='utf8').strip()}\n```" for name in ("run.json", "summary.json")]
    lines = [(path, path.read_text(encoding="utf8").splitlines()[-1]) for path in (run / "ledger.jsonl", *run.glob("events/*.jsonl"))]
    return "\n\n".join([*shown, *(f"a line of `{path.relative_to(run).as_posix()}`\n\n```json\n{line}\n```" for path, line in lines)])


PARTS: dict[str, Callable[[], str]] = {
    "quickstart-curve": quickstart_curve,
    "quickstart-result": quickstart_result,
    "ppo-about": ppo_about,
    "ppo-keys": ppo_keys,
    "ppo-marks": ppo_marks,
    "ppo-metrics": ppo_metrics,
    "algos": algos,
    "training-keys": training_keys,
    "log-keys": log_keys,
    "kinds-of-keys": kinds_of_keys,
    "filter": lambda: words_of("agonist.runs.filter").partition("\n\nIn: ")[0],
    "cli": cli,
    "environments": environments,
    "suites": suites,
    "rooms": rooms,
    "decisions": decisions,
    "files": files,
    "files-examples": files_examples,
    **{f"python-{name}": part for name, part in declared.PARTS.items()},
    **measured.PARTS,
}


def main(words: Sequence[str]) -> int:
    if "--pictures" in words:
        film()
        draw()
    for page in pages():
        before = page.read_text(encoding="utf8")
        after = filled(before)
        if after != before:
            page.write_text(after, encoding="utf8")
            print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Write those parts of the documentation that the code knows: keys, metrics, help pages, environments, suites, measurements.

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
import json
import os
import pkgutil
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

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


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


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
    import agonist.testing

    rows = []
    for found in pkgutil.iter_modules(agonist.testing.__path__, "agonist.testing."):
        module = importlib.import_module(found.name)
        for name, kind in vars(module).items():
            if name.endswith("Suite") and kind.__module__ == found.name:
                rules = sum(rule.startswith("test_") for rule in dir(kind))
                rows.append([f"`{found.name}.{name}`", rules, " ".join((kind.__doc__ or "").split("\n\n")[0].split())])
    return table(("suite", "rules", "for"), rows)


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


# measurements


def measured(name: str, picture: Callable[[Mapping[str, Any]], str], command: str) -> Callable[[], str]:
    """What `bench/<name>.json` holds, or that there is none."""

    def part() -> str:
        path = ROOT / "bench" / f"{name}.json"
        if not path.is_file():
            return f"Not measured yet: `{command}`." if command else "Not measured yet."
        found = json.loads(path.read_text(encoding="utf8"))
        return f"{picture(found)}\n\n{_where(found, path)}"

    return part


def _where(found: Mapping[str, Any], path: Path) -> str:
    machine = found.get("machine") or {}
    places = [
        ", ".join(map(str, found["devices"])) if "devices" in found else "",
        str(found.get("device", "")),
        str(machine.get("cpu", "")),
    ]
    cores = f"{machine['cores']} cores" if "cores" in machine else ""
    commit = f"commit {str(found['commit'])[:10]}" if found.get("commit") else ""
    told = [text for text in (*places, cores, commit, str(found.get("date", ""))) if text]
    return f"[`bench/{path.name}`](../bench/{path.name}): {', '.join(told)}."


def _training(found: Mapping[str, Any]) -> str:
    rows = [["ours", _steps(found["median"]), _range(found["env_steps_per_second"])]]
    if "limit_env_steps_per_second" in found:
        limits = found["limit_env_steps_per_second"]
        rows.append(["the update's matrix products alone", _steps(sorted(limits)[len(limits) // 2]), _range(limits)])
    theirs = found.get("beside_env_steps_per_second")
    if theirs:
        rows.append(["the program beside it", _steps(sorted(theirs)[len(theirs) // 2]), _range(theirs)])
    said = [f"Fraction of the limit reached: **{found['fraction_of_limit']}**." if "fraction_of_limit" in found else ""]
    said.append(f"Ours against the program beside it: **{found['ratio']} x**." if "ratio" in found else "")
    shown = table((f"environment steps a second, {found.get('env', '')}", "median", "from - to"), rows)
    return "\n\n".join([shown, " ".join(filter(None, said))]).strip()


def _start(found: Mapping[str, Any]) -> str:
    names = {
        "cold_seconds_median": f"seconds to a return of {found.get('good')}, nothing compiled yet",
        "warm_seconds_median": f"seconds to a return of {found.get('good')}, programs compiled before",
        "peak_memory_mb": "peak memory, MB",
        "folder_kb_beside_checkpoints_1e6_steps": "a run's folder for 1e6 steps beside its checkpoints, kB",
        "import_seconds": "`import agonist`, seconds",
        "help_seconds": "`agonist --help`, seconds",
        "bare_python_seconds": "Python itself, seconds",
    }
    return table(("what", "measured"), [[text, found[name]] for name, text in names.items() if name in found])


def _scale(found: Mapping[str, Any]) -> str:
    rows = [
        [f"{row['envs']:,}", _steps(row["median"]), _range(row["all"]), row.get("compile_seconds", "-"), row.get("peak_mb", "-")]
        for row in found["rows"]
    ]
    return table(("environments", "steps a second", "from - to", "seconds to compile", "peak MB"), rows)


def _sweep(found: Mapping[str, Any]) -> str:
    rows = [[p["lr"], p["gamma"], p["mean"], _interval(p["interval"]), _steps_of(p["first_good_step"])] for p in found["points"]]
    return table(("lr", "gamma", "last evaluations' mean", "interval", f"first step of {found['good']}, by seed"), rows)


def _learning(found: Mapping[str, Any]) -> str:
    rows = [
        [name, row["algo"], f"`{row['env']}`", _steps(row["steps"]), f"{row['learned']} of {len(row['returns'])} at {row['learned_at']}",
         f"{row['mean']} {_interval(row['interval'])}"]
        for name, row in found["tasks"].items()
    ]  # fmt: skip
    return table(("task", "algorithm", "environment", "steps", "seeds that learned it", "return"), rows)


def _interval(bounds: Sequence[float]) -> str:
    return f"[{bounds[0]}, {bounds[1]}]"


def _steps_of(steps: Sequence[int | None]) -> str:
    return ", ".join("never" if step is None else f"{step:,}" for step in steps)


def _scalars(found: Mapping[str, Any]) -> str:
    known = {key: value for key, value in found.items() if isinstance(value, str | int | float | bool) and key not in ("commit", "date")}
    return table(("what", "measured"), [[key.replace("_", " "), value] for key, value in known.items()])


def _steps(value: float) -> str:
    return f"{value:,.0f}"


def _range(values: Sequence[float]) -> str:
    return f"{_steps(min(values))} - {_steps(max(values))}"


def others() -> str:
    """Every other file of measurements."""
    known = {name.removeprefix("bench-") for name in PARTS}
    found = [path for path in sorted((ROOT / "bench").glob("*.json")) if path.stem not in known]
    parts = [f"### {path.stem}\n\n{measured(path.stem, _scalars, '')()}" for path in found]
    return "\n\n".join(parts) or "None yet."


PARTS: dict[str, Callable[[], str]] = {
    "quickstart-curve": quickstart_curve,
    "quickstart-result": quickstart_result,
    "ppo-about": ppo_about,
    "ppo-keys": ppo_keys,
    "ppo-marks": ppo_marks,
    "ppo-metrics": ppo_metrics,
    "algos": algos,
    "training-keys": training_keys,
    "kinds-of-keys": kinds_of_keys,
    "cli": cli,
    "environments": environments,
    "suites": suites,
    "rooms": rooms,
    "bench-train": measured("train", _training, "agonist bench train"),
    "bench-train-recurrent": measured("train-recurrent", _training, "agonist bench train recurrent=true out=bench/train-recurrent.json"),
    "bench-start": measured("start", _start, "agonist bench start"),
    "bench-scale": measured("scale", _scale, "agonist bench scale"),
    "bench-scale-h200": measured("scale-h200", _scale, "agonist bench scale out=bench/scale-h200.json"),
    "bench-kills": measured("kills", _scalars, "make campaign kills"),
    "bench-sweep": measured("sweep", _sweep, "make campaign sweep"),
    "bench-learning": measured("learning", _learning, "make campaign learning"),
    "bench-others": others,
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

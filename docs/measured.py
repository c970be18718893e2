"""Tables of what was measured, from the JSON files in `bench/`, each with the machine and commit that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tables import table

ROOT = Path(__file__).resolve().parent.parent


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
        "resume_seconds_median": "seconds from the start of a process that resumes a run to its first updates",
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


def _together(found: Mapping[str, Any]) -> str:
    rows = [
        [_steps(each["one"]), _steps(each["together"]), f"{each['ratio']:.2f}", each["seconds_one"], each["seconds_together"]]
        for each in found["rounds"]
    ]
    head = ("one seed, steps/s", f"{found['seeds']} seeds, steps/s in all", "ratio", "seconds, one", f"seconds, {found['seeds']}")
    compiled = f"Compilations of the training program for a sweep over four rates: **{found['compilations_for_four_rates']}**."
    return f"{table(head, rows)}\n\nMedian ratio: **{found['ratio']:.2f}**. {compiled}"


def _sinks(found: Mapping[str, Any]) -> str:
    clocks = {"wall": "by the clock", "cpu": "by CPU time"}
    costs = {clock: {row["sink"]: row["cost"] for row in found[clock]["rows"]} for clock in clocks}
    rows = [[name, *(f"{100 * costs[clock][name]:+.1f} %" for clock in clocks)] for name in costs["cpu"]]
    rows.append(["two runs without any", *(f"{100 * found[clock]['noise']:.1f} % apart" for clock in clocks)])
    return table(("sink, median cost", *clocks.values()), rows)


def _listing(found: Mapping[str, Any]) -> str:
    names = {
        "newest_20": "the newest 20, as JSON",
        "filter": f"`{found['filter']}`",
        "best_20": "the best 20",
        "all_drawn": "all, drawn",
        "all_json": "all, as JSON",
        "cold": "the newest 20, nothing of the disk in memory",
        "empty_command": "a command that does nothing",
    }
    rows = [[text, found[f"{name}_seconds"]["median"], found[f"{name}_seconds"]["least"]] for name, text in names.items()]
    return table((f"seconds, {found['runs']:,} runs", "median", "least"), rows)


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
    "bench-train": measured("train", _training, "agonist bench train"),
    "bench-train-recurrent": measured("train-recurrent", _training, "agonist bench train recurrent=true out=bench/train-recurrent.json"),
    "bench-start": measured("start", _start, "agonist bench start"),
    "bench-scale": measured("scale", _scale, "agonist bench scale"),
    "bench-scale-h200": measured("scale-h200", _scale, "agonist bench scale out=bench/scale-h200.json"),
    "bench-kills": measured("kills", _scalars, "make campaign kills"),
    "bench-sweep": measured("sweep", _sweep, "make campaign sweep"),
    "bench-learning": measured("learning", _learning, "make campaign learning"),
    "bench-together": measured("together", _together, "agonist bench together"),
    "bench-together-h200": measured("together-h200", _together, "agonist bench together out=bench/together-h200.json"),
    "bench-sinks": measured("sinks", _sinks, "agonist bench sinks"),
    "bench-listing": measured("listing", _listing, "agonist bench listing"),
    "bench-kills_sweep": measured("kills_sweep", _scalars, "make campaign kills_sweep"),
    "bench-others": others,
}

"""One run as another program wrote it down, and how each kind of file is told from the others."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agonist.sinks import Point

LARGEST = 1 << 30  # bytes of a file that is read
MOST_NAMES = 10_000  # metrics of a run
MOST_STEPS = 1 << 62
RENAMED = {"mean_episode_return": "eval/return", "steps_per_second": "perf/env_steps_per_second", "win_rate": "eval/win_rate"}
FINAL = "absolute/return"  # as our own sinks call the absolute metric
FINALS = "final/"  # what the final figures' names begin with in a table of `agonist runs export`


@dataclass(frozen=True)
class Foreign:
    """A run to be."""

    name: str  # where in the file it stands
    spec: Mapping[str, Any]  # algo, env, seed as far as they are known
    rows: Sequence[Point]  # by step
    sha256: str  # of its content, whatever else the file holds
    final: Mapping[str, Any] = field(default_factory=dict)  # as in summary.json
    seconds: float | None = None  # that it took

    @property
    def points(self) -> int:
        return sum(len(row.values) for row in self.rows)


def read(path: Path, keys: Mapping[str, str]) -> list[Foreign]:
    """The runs in a file, or in a folder of event files. `keys`: algo, env, seed that it does not tell; step and return name columns."""
    return [
        replace(one, name=clean(one.name), spec={clean(key): _cleaned(value) for key, value in one.spec.items()})
        for one in _read(path, keys)
    ]


def _read(path: Path, keys: Mapping[str, str]) -> list[Foreign]:
    from agonist.importers import marl_eval, scalars, tables

    if path.is_dir():
        return scalars.read_folder(path, keys)
    begin = head_of(path)
    if "tfevents" in path.name:
        return [scalars.read_files([path], keys)]
    if begin == b"PAR1":
        return tables.read_parquet(path, keys)
    if begin.lstrip()[:1] == b"{":
        return marl_eval.read(path, keys)
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return tables.read_csv(path, keys)
    raise ValueError(
        f"{path} is nothing that can be imported: marl-eval's .json, TensorBoard's *tfevents* (or a folder of them), .csv, .parquet, "
        "or an archive of `agonist runs export` (.zip, .tar.gz)"
    )


def head_of(path: Path) -> bytes:
    """How a file begins. Raises a sentence where it cannot be read, or is too large."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes; at most {LARGEST:,} are read")
        with open(path, "rb") as file:
            return file.read(4)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None


def spec_of(path: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    """What is known of a run whose file tells only figures."""
    spec: dict[str, Any] = {"algo": path.stem, **{key: value for key, value in keys.items() if key not in ("step", "return")}}
    return spec | ({"seed": whole(spec["seed"], "seed")} if "seed" in spec else {})


def renamed(name: str, keys: Mapping[str, str]) -> str:
    """The metric's name here: `return=COLUMN` and well-known ones have their own. What is not printable is taken out."""
    if name == keys.get("return"):
        return "eval/return"
    return RENAMED.get(name.lower(), clean(name).strip() or "unnamed")


def clean(text: str) -> str:
    """Without what a terminal would obey."""
    return "".join(c if c.isprintable() else "_" for c in text)


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def digest(*parts: bytes) -> str:
    sum_ = hashlib.sha256()
    for part in parts:
        sum_.update(part)
    return sum_.hexdigest()


def whole(value: Any, what: str) -> int:
    try:
        exact = isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal())
        number = int(value) if exact else float(value)  # pandas and wandb write 1000.0
        if not 0 <= number < MOST_STEPS or number != int(number):
            raise ValueError
        return int(number)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} needs a whole number of 0 or more, got {str(value)[:40]!r}") from None


def number(value: Any) -> float | None:
    """A finite or infinite number; None for nothing, nan, or what is none."""
    try:
        found = float(value) if not isinstance(value, bool) else float(int(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(found) else found


def finite(value: Any) -> float | None:
    """A time or a duration; None for what is none."""
    found = number(value)
    return found if found is not None and math.isfinite(found) else None


def merged(rows: Sequence[Point], keys: Mapping[str, str], what: str) -> tuple[list[Point], dict[str, Any]]:
    """Sorted by step with the metrics' names here, one row a step; and what is final of them."""
    by_step: dict[int, Point] = {}
    names: set[str] = set()
    final: dict[str, Any] = {}
    for row in sorted(rows, key=lambda row: row.step):
        values = {renamed(name, keys): value for name, value in row.values.items() if name != FINAL and not _is_final(name)}
        if FINAL in row.values:
            final = {"eval/return": row.values[FINAL]}
        final |= {name.removeprefix(FINALS): value for name, value in row.values.items() if _is_final(name)}
        if row.values and not values:  # final figures alone
            continue
        names |= values.keys()
        if len(names) > MOST_NAMES:
            raise ValueError(f"{what} names more than {MOST_NAMES:,} metrics; that is no training run")
        earlier = by_step.get(row.step)
        by_step[row.step] = Point(row.step, row.time, {**(earlier.values if earlier else {}), **values})
    if not names:
        raise ValueError(f"{what} holds no figures")
    ends = final.pop("eval/return_low", None), final.pop("eval/return_high", None)
    return list(by_step.values()), final | ({"eval/interval": [*ends]} if None not in ends else {})


def _is_final(name: str) -> bool:
    return name.startswith(f"{FINALS}eval/")

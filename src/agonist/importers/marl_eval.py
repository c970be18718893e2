"""marl-eval's experiment file (`agonist.sinks.marl_eval` says its form) -> a run a seed.

`mean_episode_return` is eval/return, with the interval of its episodes where they are listed; `absolute_metrics` are final.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agonist.importers.foreign import Foreign, digest, finite, merged, number, renamed, whole
from agonist.sinks import Point
from agonist.stats.intervals import mean_interval

MOST_RUNS = 100_000
NO_METRICS = ("step_count", "elapsed_time")


def read(path: Path, keys: Mapping[str, str]) -> list[Foreign]:
    if odd := [key for key in keys if key not in ("algo", "env", "seed")]:
        raise ValueError(f"{path}: marl-eval's file names its columns itself; {odd[0]}= is for tables")
    try:
        tree = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    moment = path.stat().st_mtime
    found = [_run(f"{path.name}: {' > '.join(place)}", place, run, moment, keys) for place, run in _runs(tree, path)]
    if not found:
        raise ValueError(f"{path} holds no run")
    return found


def _runs(tree: Any, path: Path) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """((environment, task, algorithm, run), its steps)"""
    level: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    for kind in ("environment", "task", "algorithm", "run"):
        level = [((*place, name), item) for place, items in level for name, item in _mapping(items, place, path, kind).items()]
        if len(level) > MOST_RUNS:
            raise ValueError(f"{path} holds more than {MOST_RUNS:,} runs")
    for place, run in level:
        yield place, _mapping(run, place, path, "step_<k>")


def _mapping(value: Any, place: tuple[str, ...], path: Path, kind: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    where = " > ".join(place) or "its beginning"
    raise ValueError(f"{path} is not marl-eval's: at {where} a mapping of {kind} belongs, not a {type(value).__name__}")


def _run(what: str, place: tuple[str, ...], run: Mapping[str, Any], moment: float, keys: Mapping[str, str]) -> Foreign:
    rows, final, took = [], {}, [0.0]
    for key, values in run.items():
        if not isinstance(values, Mapping):
            raise ValueError(f"{what} > {key} is a {type(values).__name__}; a mapping of metrics belongs there")
        values = {name.lower(): value for name, value in values.items()}
        told = {
            name: found for name, value in values.items() if name not in NO_METRICS for found in [_list(value, f"{what} > {key}")] if found
        }
        if "absolute" in key.lower():
            final = _final(told)
            continue
        elapsed = finite(_first(values.get("elapsed_time"))) or 0.0
        took.append(elapsed)
        rows.append(Point(whole(values.get("step_count"), f"{what} > {key} > step_count"), elapsed, _points(told)))
    rows = [Point(row.step, moment - max(took) + row.time, row.values) for row in rows]
    env, task, algo, name = place
    number_ = re.search(r"\d+$", name)
    spec = {"algo": algo, "env": env if env == task else f"{env}:{task}", "seed": int(number_[0][-9:]) if number_ else name, **keys}
    sha256 = digest(json.dumps([place, run], sort_keys=True).encode())
    return Foreign(what, spec, merged(rows, {}, what)[0], sha256, final, max(took) or None)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _list(value: Any, what: str) -> list[float]:
    listed = value if isinstance(value, list) else [value]
    found = [number(one) for one in listed]
    if any(one is None and not isinstance(raw, int | float | None) for one, raw in zip(found, listed, strict=True)):
        raise ValueError(f"{what} holds {str(value)[:60]!r}; a number or a list of numbers belongs there")
    return [one for one in found if one is not None]


def _points(told: Mapping[str, list[float]]) -> dict[str, float]:
    out = {}
    for name, values in told.items():
        with np.errstate(all="ignore"):  # infinite ones have no interval, nor a mean where they are of both signs
            mean, low, high = mean_interval(values)
        if math.isnan(mean):
            continue
        out[renamed(name, {})] = mean
        if renamed(name, {}) == "eval/return" and len(values) > 1 and math.isfinite(high - low):
            out |= {"eval/return_low": low, "eval/return_high": high}
    return out


def _final(told: Mapping[str, list[float]]) -> dict[str, Any]:
    points = _points(told)
    interval = [points.pop(name) for name in ("eval/return_low", "eval/return_high") if name in points]
    episodes = len(told.get("mean_episode_return", ()))
    return {**points, **({"eval/interval": interval, "eval/episodes": episodes} if interval else {})}

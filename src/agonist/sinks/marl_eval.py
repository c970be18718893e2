"""marl-eval's experiment file (Gorsane et al. 2022, arXiv:2209.10485), which Mava writes and marl-eval reads:

    environment > task > algorithm > seed_<n> > step_<k> | absolute_metrics

A step holds `step_count`, `elapsed_time` and, as lists, `steps_per_second`, `win_rate` (where the environment knows one) and
`mean_episode_return`: a value an evaluation episode, so ten times as many in `absolute_metrics`. Every step has the same keys, as that
reader asks; a speed that is not known yet is 0.

Many runs share one `metrics.json`: each owns its seed's part and merges it, under a lock, into what the file holds at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agonist.sinks.config import LogConfig
from agonist.sinks.paths import locked, write_whole
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink, SinkError

FILE = "metrics.json"
ABSOLUTE = "absolute_metrics"
STEP = "step_"
KNOWN = {"perf/env_steps_per_second": "steps_per_second", "eval/win_rate": "win_rate", "eval/return": "mean_episode_return"}
LARGEST = 1 << 30  # bytes of a file that is still read: far more than any study
PATIENCE = 2.0  # seconds that a write waits for others; it is tried again at the next flush
LAST_PATIENCE = 10.0

Run = dict[str, Any]  # step_<k> -> values


def address(beginning: Beginning) -> tuple[str, str, str, str]:
    """environment, task, algorithm, run. marl-eval allows no comma in an algorithm's name."""
    env, _, task = str(beginning.spec.get("env", "unknown")).partition(":")
    algorithm = " ".join(filter(None, (str(beginning.spec.get("algo", "unknown")), beginning.label)))
    return env, task or env, algorithm.replace(",", ";"), f"seed_{beginning.spec.get('seed', 0)}"


def open_json(beginning: Beginning, config: LogConfig) -> Sink:
    path, place = Path(config.base_exp_path) / FILE, address(beginning)
    began = beginning.time - beginning.seconds
    run = before(part_of(read(path), place), beginning.step) if beginning.step else {}
    newest = {"steps_per_second": 0.0}

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        newest.update({KNOWN[name]: value for name, value in values.items() if name in KNOWN and name != "eval/return"})

    def evaluation(found: Evaluation) -> None:
        key = ABSOLUTE if found.absolute else place_of(run, found.step)
        count = {} if found.absolute else {"step_count": found.step}
        returns = found.returns[beginning.role or next(iter(found.returns))]
        listed = {name: [value] for name, value in newest.items()}
        run[key] = {**count, "elapsed_time": found.time - began, **listed, "mean_episode_return": list(returns)}

    def write(patience: float) -> bool:
        with locked(path, patience) as got:
            if got and run:
                write_whole(path, merged(read(path), place, run))
            return got

    def close(ending: Ending) -> None:
        if not write(LAST_PATIENCE):
            raise SinkError(f"{path} was locked by others for {LAST_PATIENCE:.0f} s")

    return Sink(metrics, evaluation, lambda: write(PATIENCE), close)


def place_of(run: Run, step: int) -> str:
    """The step_<k> of that step count: the one that is there, else the next."""
    for key, values in run.items():
        if key != ABSOLUTE and values.get("step_count") == step:
            return key
    return f"{STEP}{sum(key != ABSOLUTE for key in run)}"


def before(run: Any, step: int) -> Run:
    """What stays of a run that goes on from `step`, counted anew."""
    counts = [values for key, values in run.items() if key != ABSOLUTE and isinstance(values, Mapping)] if isinstance(run, Mapping) else []
    kept = sorted((values for values in counts if _count(values) <= step), key=_count)
    return {f"{STEP}{k}": dict(values) for k, values in enumerate(kept)}


def _count(values: Mapping[str, Any]) -> float:
    count = values.get("step_count")
    return count if isinstance(count, int | float) else float("inf")


def part_of(tree: Any, place: tuple[str, ...]) -> Any:
    for name in place:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def merged(tree: dict[str, Any], place: tuple[str, ...], run: Run) -> bytes:
    """The file with this run's part in place of the one it had."""
    at = tree
    for name in place[:-1]:
        at = at.setdefault(name, {})
        if not isinstance(at, dict):
            raise SinkError(f"{FILE} holds no mapping at {name!r}: it is not marl-eval's; move it away")
    at[place[-1]] = run
    return json.dumps(tree).encode()


def read(path: Path) -> dict[str, Any]:
    """The whole file; {} where there is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise SinkError(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}; begin another with base_exp_path")
        tree = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise SinkError(f"{path} is no JSON ({error}); it is left as it is: move it away, or use another base_exp_path") from None
    if not isinstance(tree, dict):
        raise SinkError(f"{path} holds a {type(tree).__name__} where marl-eval's file has a mapping; it is left as it is")
    return tree

"""marl-eval's experiment file (Gorsane et al. 2022, arXiv:2209.10485), which Mava writes and marl-eval reads:

    environment > task > algorithm > seed_<n> > step_<k> | absolute_metrics

A step holds `step_count`, `elapsed_time` and, as lists, `steps_per_second`, `win_rate` (where the environment knows one) and
`mean_episode_return`: a value an evaluation episode, so ten times as many in `absolute_metrics`. Every step has the same keys, as that
reader asks; a speed that is not known yet is 0.

Many runs share one `metrics.json`: each owns its seed's part and merges it, under a lock, into what the file holds at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agonist.sinks.config import LogConfig
from agonist.sinks.paths import locked, write_whole
from agonist.sinks.records import Beginning, Ending, Evaluation, Past, Sink, SinkError

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
    run: Run = {}
    newest = {"steps_per_second": 0.0}

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        newest.update({KNOWN[name]: value for name, value in values.items() if name in KNOWN and name != "eval/return"})

    def add(found: Evaluation, elapsed: float) -> None:
        key = ABSOLUTE if found.absolute else f"{STEP}{sum(key != ABSOLUTE for key in run)}"
        count = {} if found.absolute else {"step_count": found.step}
        returns = found.returns[beginning.role or next(iter(found.returns))]
        listed = {name: [value] for name, value in newest.items()}
        run[key] = {**count, "elapsed_time": elapsed, **listed, "mean_episode_return": list(returns)}

    def write(patience: float) -> bool:
        with locked(path, patience) as got:
            if got and run:
                write_whole(path, merged(read(path), place, run))
            return got

    def close(ending: Ending) -> None:
        if not write(LAST_PATIENCE):
            raise SinkError(f"{path} was locked by others for {LAST_PATIENCE:.0f} s")

    if beginning.past:
        retell(beginning.past(), elapsed_in(part_of(read(path), place)), beginning.seconds, metrics, add)
    began = beginning.time - beginning.seconds
    return Sink(metrics, lambda found: add(found, found.time - began), lambda: write(PATIENCE), close)


def retell(
    past: Past, known: Mapping[int, float], seconds: float, metrics: Callable[..., None], add: Callable[[Evaluation, float], None]
) -> None:
    """What a run that goes on measured before. Its evaluations' elapsed times are those `known`, else reckoned back from its `seconds`."""
    end = past.points[-1].time if past.points else 0.0
    waiting = list(reversed(past.points))
    last = 0.0
    for found in past.evaluations:
        while waiting and waiting[-1].step <= found.step:
            metrics(*waiting.pop())
        last = max(last, known.get(found.step, seconds - (end - found.time)))
        add(found, last)


def elapsed_in(run: Any) -> dict[int, float]:
    """step count -> elapsed time, as far as a run's part of the file tells it."""
    steps = run.values() if isinstance(run, Mapping) else ()
    pairs = [(step.get("step_count"), step.get("elapsed_time")) for step in steps if isinstance(step, Mapping)]
    return {count: float(elapsed) for count, elapsed in pairs if isinstance(count, int) and isinstance(elapsed, int | float)}


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

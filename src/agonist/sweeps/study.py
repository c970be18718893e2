"""A study: several algorithms on several environments with several seeds, written in one TOML file.

    title = "Does it help that the critic sees the state?"
    seeds = 5
    steps = 2e5                     # this and any other key: for all runs

    [algos.ippo]
    [algos.mappo]                   # keys of one algorithm alone
    gamma = 0.99
    [algos.wide]                    # a variant, by a name of your own
    algo = "mappo"
    hidden = [256, 256]

    [envs."lbf:2s-8x8-2p-2f-coop"]
    [envs."matrix:climbing"]        # keys of one environment alone
    steps = 1e5

    [sweep]                         # and every combination of these
    lr = [1e-3, 3e-3]

`read(path)` -> `Plan`. Its `source` is a hash of what the file says, by which a study that was begun is found again.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agonist import specs
from agonist.checkpoints import NAME_DIGITS, canonical_json, digest
from agonist.options import dotted
from agonist.sweeps.plan import Plan, complete


def read(path: str) -> Plan:
    try:
        told = tomllib.loads(Path(path).read_text(encoding="utf8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}") from None
    try:
        return plan_of_study(told)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of_study(told: Mapping[str, Any]) -> Plan:
    told = dict(told)
    title, count, first = str(told.pop("title", "")), specs.whole(told.pop("seeds", 1), "seeds"), specs.whole(told.pop("seed", 0), "seed")
    if not count:
        raise ValueError("seeds needs a whole number of 1 or more, got 0")
    algos, envs = (_tables(told.pop(name, None), name) for name in ("algos", "envs"))
    over = told.pop("sweep", {})
    if not isinstance(over, dict):
        raise ValueError(f"sweep is a table, such as [sweep] with lr = [1e-3, 3e-3], got {over!r}")
    for place, key in [(f"[algos.{name}]", key) for name, own in algos.items() for key in own] + [("[sweep]", key) for key in over]:
        if key in ("seed", "seeds", "env") or (key == "algo" and place == "[sweep]"):
            raise ValueError(f"{key} has no place in {place}: seeds = N and [algos.NAME], [envs.NAME] stand at the top")
    for key, values in over.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"[sweep] {key} needs a list of values, such as [1e-3, 3e-3], got {values!r}")
    points = []
    for (algo, own), (env, there), values in itertools.product(algos.items(), envs.items(), itertools.product(*over.values())):
        clash = sorted(set(own) & set(there) | (set(own) | set(there)) & set(over))
        if clash:
            raise ValueError(f"{clash[0]} is told twice, for {algo} and for {env} or in [sweep]: which one holds?")
        points.append(({"algo": algo, "env": env, **dict(zip(over, values, strict=True))}, {"algo": algo, **own, **there}))
    plan = complete(dotted(told), points, range(first, first + count), title=title)
    source = digest(canonical_json(plan.document()))
    return Plan(**{**vars(plan), "source": source[:NAME_DIGITS]})


def _tables(found: Any, name: str) -> dict[str, dict[str, Any]]:
    """name -> the keys of its own."""
    example = {"algos": "[algos.ppo]", "envs": '[envs."lbf:2s-8x8-2p-2f-coop"]'}[name]
    if not isinstance(found, dict) or not found or not all(isinstance(keys, dict) for keys in found.values()):
        raise ValueError(f"need a table for each of {name}, such as {example}")
    return {key: dotted(keys) for key, keys in found.items()}

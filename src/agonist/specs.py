"""What a run is told to do: flat keys, checked and completed with defaults.

    algo, env, steps, seed      what, where, how long (environment steps in all), from which randomness
    lr, gamma, ...              keys of the algorithm
    envs, shards, ...           keys of training
    use_json, ...               what is written elsewhere too
    env.KEY                     options of the environment
    roles.ROLE.KEY              an algorithm's key for one role alone
    players.ROLE[.SEAT]         who plays: `trainee`, `random`, `action:K`, a policy, or a list of policies to be met in turn

The same keys are words of the command line, lines of a TOML file and arguments in Python; the resolved ones stand in run.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from agonist import algos, envs, own
from agonist.loop import TrainConfig
from agonist.options import fill, nearest
from agonist.sinks import LogConfig

TRAINEE = "trainee"
MOST = 2**32 - 1  # of a seed: jax's random keys take 32 bits


@dataclass(frozen=True)
class Spec:
    algo: str
    env: str
    steps: int
    seed: int
    config: Any  # the algorithm's
    train: TrainConfig
    log: LogConfig
    options: Mapping[str, Any]  # the environment's, as given
    roles: Mapping[str, Mapping[str, Any]]  # role -> keys that differ there
    players: Mapping[str, Any]  # role or role.seat -> who

    def flat(self) -> dict[str, Any]:
        """As keys: what run.json and --print-config hold, and `resolve` takes back. Of logging only what is asked for: it is no part of
        the experiment."""
        out: dict[str, Any] = {"algo": self.algo, "env": self.env, "steps": self.steps, "seed": self.seed}
        out |= {key: value for part in (self.config, self.train) for key, value in asdict(part).items() if value is not None}
        usual = asdict(LogConfig())
        out |= {key: value for key, value in asdict(self.log).items() if value != usual[key]}
        out |= {f"env.{key}": value for key, value in self.options.items()}
        out |= {f"roles.{role}.{key}": value for role, keys in self.roles.items() for key, value in keys.items()}
        out |= {f"players.{seat}": who for seat, who in self.players.items()}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in out.items()}


def resolve(given: Mapping[str, Any]) -> Spec:
    """Flat keys -> a spec with every default in it."""
    given = lasting(given)
    for key, example in (("algo", "ppo"), ("env", "lbf:2s-8x8-2p-2f-coop")):
        if not given.get(key):
            raise ValueError(f"need {key}, such as {example}")
    algo, env = given.pop("algo"), given.pop("env")
    steps, seed = whole(given.pop("steps", 1_000_000), "steps"), whole(given.pop("seed", 0), "seed")
    if seed > MOST:
        raise ValueError(f"seed needs a number up to {MOST:,}, got {seed}: no more of it would be used")
    options, players, roles = (_under(given, prefix) for prefix in ("env.", "players.", "roles."))
    train_keys = {field.name for field in fields(TrainConfig)}
    algo_keys = {field.name for field in fields(algos.config_type(algo))}
    log_keys = {field.name for field in fields(LogConfig)}
    known = train_keys | algo_keys | log_keys
    for key in given:
        if key not in known:
            raise ValueError(f"{own.short(algo)} has no key {key!r}{nearest(key, known | {'steps', 'seed', 'env', 'algo'})}")
    by_role: dict[str, dict[str, Any]] = {}
    for path, value in roles.items():
        role, _, key = path.partition(".")
        if not key:
            raise ValueError(f"roles.{path} names no key: write roles.ROLE.KEY=VALUE, as in roles.prey.lr=1e-3")
        by_role.setdefault(role, {})[key] = value
    by_role = {role: _lasting(algo, keys) for role, keys in by_role.items()}
    by_role = {role: _typed(str(keys.get("algo", algo)), role, keys) for role, keys in by_role.items()}
    config = algos.configure(algo, {key: value for key, value in given.items() if key in algo_keys})
    train = fill(TrainConfig, {key: value for key, value in given.items() if key in train_keys}, "training")
    log = fill(LogConfig, {key: value for key, value in given.items() if key in log_keys}, "logging")
    return Spec(algo, env, steps, seed, config, train, log, options, by_role, {seat: who(player) for seat, player in players.items()})


def _typed(algo: str, role: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """A role's own keys as values: `1e-3` and `0.001` are one."""
    typed = fill(algos.config_type(algo), {key: value for key, value in keys.items() if key != "algo"}, f"roles.{role}: {own.short(algo)}")
    return {key: value if key == "algo" else getattr(typed, key) for key, value in keys.items()}


def lasting(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same keys, own code (a file's function, or the function or environment itself) by the name that keeps its meaning."""
    out = {key: own.named(value) if own.is_code(value) else value for key, value in given.items()}
    for key, named in (("algo", algos.named), ("env", envs.named)):
        if out.get(key):
            out[key] = named(out[key])
    return out


def _lasting(algo: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """A role's keys, own code by its lasting name."""
    named = {"algo": algos.named(keys["algo"])} if "algo" in keys else {}
    return algos.lasting(named.get("algo", algo), {**keys, **named})


def for_role(spec: Spec, role: str) -> tuple[str, Any]:
    """The algorithm of a role and its config, with the keys that are this role's own."""
    own = dict(spec.roles.get(role, {}))
    algo = str(own.pop("algo", spec.algo))
    shared = {field.name for field in fields(algos.config_type(algo))}
    if algo != spec.algo:  # what one of the two names settles is not carried over
        shared -= {*algos.card(algo).fixed, *algos.card(spec.algo).fixed}
    base = {key: value for key, value in asdict(spec.config).items() if value is not None and key in shared}
    return algo, algos.configure(algo, base | own) if own or algo != spec.algo else spec.config


def _under(given: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key[len(prefix) :]: given.pop(key) for key in [key for key in given if key.startswith(prefix)]}


def who(text: Any) -> Any:
    """A player, or the list of those met in turn."""
    if isinstance(text, str) and text.startswith("[") and text.endswith("]"):
        return [part.strip() for part in text[1:-1].split(",") if part.strip()]
    return list(text) if isinstance(text, list | tuple) else str(text)


def whole(value: Any, key: str) -> int:
    """A count of 0 or more, also as 1e6."""
    try:
        number = float(value)
        if isinstance(value, bool) or number != int(number) or number < 0:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{key} needs a whole number of 0 or more such as 400000 or 4e5, got {value!r}") from None
    exact = isinstance(value, int) or (isinstance(value, str) and value.strip().isdigit())
    return int(value) if exact else int(number)


def to_toml(spec: Spec) -> str:
    """The spec as a file that `--config` takes."""

    def text(value: Any) -> str:  # JSON's strings are TOML's, but for one sign
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    return "".join(f"{key if '.' not in key else text(key)} = {text(value)}\n" for key, value in spec.flat().items())

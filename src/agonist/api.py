"""The use-cases as plain functions: where the rooms are put together. The command line and every other way in call these.

run = agonist.train("ppo", "lbf:2s-8x8-2p-2f-coop", steps=4e5)
policy = run.policy()
agonist.evaluate(policy, episodes=320)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agonist import assembly, envs, own, policies, rollout, specs, sweeps, training
from agonist.checkpoints import PolicyContent, read_policy
from agonist.loop import NO_LIMIT, ROUNDS, evaluated
from agonist.rollout import Episodes, Frame
from agonist.runs import folder
from agonist.runs.find import find_policy, find_run, run_policies
from agonist.runs.store import Missing, Store, open_store
from agonist.stats.intervals import mean_interval
from agonist.training import OnMetrics, OnProgress
from agonist.trees import flatten
from agonist.types import Env, Group, HostEnv, Policy, Role


@dataclass(frozen=True)
class Run:
    """A run in a store: what it was told, what came of it, its policies and curves."""

    id: str
    store: Store

    @property
    def spec(self) -> dict[str, Any]:
        return dict(folder.read_head(self.store, self.id)["spec"])

    @property
    def summary(self) -> dict[str, Any]:
        return dict(folder.read_run(self.store, self.id)["summary"])

    @property
    def result(self) -> dict[str, Any]:
        """The JSON object of a run: what `--json` prints."""
        return training.result(self.summary)

    def metrics(self, *names: str) -> Mapping[str, Any]:
        """name -> (steps, times, values); all of them where none is named."""
        return folder.read_metrics(self.store, self.id, names or None)

    def policy(self, which: str = "best", role: str | None = None, allow_code: bool = False) -> Policy:
        """`best`, `last` or the one of a step; of the first trained role unless another is named."""
        held = run_policies(self.store, self.id, which)
        name = role or next(iter(held))
        if name not in held:
            raise ValueError(f"run {self.id} has policies for {', '.join(held)}, not for {name!r}")
        with code_of(self.store, allow_code):
            return policies.load(held[name])


def make(name: str, **options: Any) -> Env | HostEnv:
    """An environment by name, such as `lbf:2s-8x8-2p-2f-coop`, or of own code, `./my_env.py:make`."""
    return envs.make(name, **options)


def train(
    algo: Any = None,
    env: Any = None,
    *,
    steps: float | None = None,
    seed: int = 0,
    resume: str | Run | None = None,
    store: str | Store | None = None,
    on_metrics: OnMetrics | None = None,
    on_progress: OnProgress | None = None,
    allow_code: bool = False,
    **keys: Any,
) -> Run:
    """Train, or go on with a run (`resume`, to `steps` in all), and return the run. Keys with dots go in as `**{"env.sight": 2}`.

    `algo` and `env` are names, files of own code (`./my_algo.py:make_mine`), or the functions or the environment themselves. A run of
    such objects goes on in another process only where they are given again: `train(resume=run, env=obj)`.
    """
    opened = resume.store if isinstance(resume, Run) else as_store(store)
    watch = training.Watch(on_metrics, on_progress)
    if resume is not None:
        run_id = resume.id if isinstance(resume, Run) else find_run(opened, resume)
        with code_of(opened, allow_code):
            _check_resumed(Run(run_id, opened).spec, {**keys, **({"seed": seed} if seed else {})}, algo, env)
            return Run(training.resume(opened, run_id, steps, watch), opened)
    given = {"algo": algo, "env": env, "seed": seed, **({} if steps is None else {"steps": steps}), **keys}
    with code_of(opened, allow_code):
        spec = specs.resolve(given)
        [ended] = training.train(opened, [training.Job(spec)], watch)
    return Run(ended.whole(), opened)


def _check_resumed(spec: Mapping[str, Any], keys: Mapping[str, Any], algo: Any, env: Any) -> None:
    """What is given with `resume` is the run's own code once more, or it is refused."""
    if isinstance(algo, str) or isinstance(env, str) or any(not own.is_code(value) for value in keys.values()):
        raise ValueError("a resumed run keeps its own keys: give steps, and nothing else")
    for key, value in {"algo": algo, "env": env, **keys}.items():
        if value is not None and (name := own.named(value)) != spec.get(key):
            raise ValueError(f"the run was trained with {key}={spec.get(key)}; what is given now is {name}, and so other code")


def code_of(store: str | Store | None, allow_code: bool) -> AbstractContextManager[None]:
    """Within, own code that files name may be run where it is allowed; its source is looked for in the runs of the store as well."""

    def copy(run: str, file: str) -> bytes | None:
        try:
            return as_store(store).get(folder.at(run, "code", file))
        except (Missing, ValueError):  # a policy's provenance may name any run
            return None

    return own.allowing(allow_code, copy)


def plan(given: Mapping[str, Any], store: str | Store | None = None) -> dict[str, Any]:
    """What `train` would do with these keys, checked as far as it can be without doing it."""
    spec = specs.resolve(given)
    made = assembly.assemble(spec, lambda text: find_content(text, store))
    steps = training.whole_updates(spec.steps, made.program.steps)
    return {
        "spec": {**spec.flat(), "steps": steps},
        "updates": steps // made.program.steps,
        "steps_an_update": made.program.steps,
        "evaluations": 1 + steps // made.program.steps // spec.train.eval_every,
        "trains": [group.name for group in made.line_up if group.trains],
        "plays": [group.name for group in made.line_up if not group.trains],
    }


@dataclass(frozen=True)
class Sweep:
    """Many runs as one whole: `report` says what came of it, with a line for each point."""

    id: str
    store: Store

    @property
    def report(self) -> dict[str, Any]:
        """The JSON object of a sweep: what `--json` prints."""
        return sweeps.report(self.store, self.id)

    @property
    def runs(self) -> list[Run]:
        """Those that have begun."""
        return [Run(told["run"], self.store) for told in self.report["runs"] if told["status"] != "waiting"]


def sweep(
    algo: Any = None,
    env: Any = None,
    *,
    over: Mapping[str, Sequence[Any] | str] | None = None,
    seeds: int | None = None,
    method: str | None = None,
    trials: int = 16,
    eta: int = 4,
    jobs: int | None = None,
    resume: str | Sweep | None = None,
    store: str | Store | None = None,
    on_progress: OnProgress | None = None,
    allow_code: bool = False,
    **keys: Any,
) -> Sweep:
    """Train every point of `over` (key -> values, or a range such as "1e-4..1e-2") with so many seeds.

    `grid` trains all combinations, `random` draws `trials` points (that is what is done where there is a range), `halving` draws them and
    goes on with one in `eta`, again and again. `jobs` is the number of processes; by itself it is what the cores allow. `resume` goes on
    with one that was stopped; of own code only where that is allowed.
    """
    opened = as_store(store)
    if resume is not None:
        if algo or env or keys or over or seeds or method:
            raise ValueError("a resumed sweep keeps its own keys: give nothing else")
        sweep_id = sweeps.sweep_of(opened, resume.id if isinstance(resume, Sweep) else find_run(opened, resume))
        with code_of(opened, allow_code):
            return Sweep(sweeps.go_on(opened, sweep_id, on_progress, jobs), opened)
    named = {key: value for key, value in (("algo", algo), ("env", env)) if value is not None}
    plan = sweeps.make_plan({**named, **keys}, over or {}, seeds, method, trials, eta)
    return Sweep(sweeps.begin(opened, plan, on_progress, jobs), opened)


def study(
    file: str,
    *,
    jobs: int | None = None,
    store: str | Store | None = None,
    on_progress: OnProgress | None = None,
    allow_code: bool = False,
) -> Sweep:
    """Train the algorithms x environments x seeds of a TOML file (`agonist.sweeps.study`), or go on with that study where it was."""
    opened = as_store(store)
    plan = sweeps.study.read(file)
    there = sweeps.begun(opened, plan)
    if there:
        with code_of(opened, allow_code):
            return Sweep(sweeps.go_on(opened, there, on_progress, jobs), opened)
    return Sweep(sweeps.begin(opened, plan, on_progress, jobs), opened)


def as_store(store: str | Store | None) -> Store:
    return open_store(store) if store is None or isinstance(store, str) else store


def load_policy(path: str, store: str | Store | None = None, allow_code: bool = False) -> Policy:
    """A policy from its folder, or by hash or run out of a store. One of own code is loaded only where that is allowed."""
    with code_of(store, allow_code):
        return policies.load(find_content(path, store))


def find_content(text: str, store: str | Store | None = None) -> PolicyContent:
    """A policy's content by path alone, without a store being made; by hash or run from the store."""
    from pathlib import Path

    if (Path(text) / "spec.json").is_file():
        return read_policy(text)
    return find_policy(as_store(store), text)


@dataclass(frozen=True)
class Match:
    """A policy seated in an environment, ready to be played."""

    env: Env | HostEnv
    seated: assembly.Seated
    named: Mapping[str, str]  # who sits where -> policy, the ones asked for first


def seat(
    who: str | Run | Policy,
    env: Any,
    players: Mapping[str, Any],
    store: str | Store | None,
    sampled: bool | None,
    allow_code: bool = False,
) -> Match:
    """The policy (or all policies of a run) in its own environment or a given one; `players` as in training."""
    with code_of(who.store if isinstance(who, Run) else store, allow_code):
        return _seat(who, env, players, store, sampled)


def _seat(who: str | Run | Policy, env: Any, players: Mapping[str, Any], store: str | Store | None, sampled: bool | None) -> Match:
    held, spec = _held(who, store)
    first = next(iter(held.values()))
    if env is None and not spec.get("env"):
        raise ValueError(f"policy {first.name} does not say where it was trained: name an environment with --env")
    with nullcontext() if env is not None else own.strange(f"policy {first.name}", str(first.provenance.get("run", ""))):
        name = envs.named(env if env is not None else str(spec["env"]))
    options = {key[4:]: value for key, value in {**({} if env else spec), **players}.items() if key.startswith("env.")}
    world = envs.built(name, options)
    others = {key[8:]: specs.who(value) for key, value in {**({} if env else spec), **players}.items() if key.startswith("players.")}
    unknown = [key for key in players if not key.startswith(("env.", "players."))]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no key here: there are env.KEY and players.ROLE[.SEAT]")
    alone = next(iter(held.values())) if len(held) == 1 else None

    def learn(role: Role) -> tuple[Any, Group]:
        found = held.get(role.name) or (alone if len(world.spec.roles) == 1 else None)
        if found is None:
            raise ValueError(f"nobody plays role {role.name!r}: give players.{role.name}=POLICY or random")
        policy = policies.load(found, role)
        return policy, Group(role.name, policy.algorithm, trains=True)

    seated = assembly.seat(world.spec, others, lambda text: find_content(text, store), learn)
    params = tuple(rollout.stacked(config.params) if config else p for config, p in zip(seated.configs, seated.frozen.params, strict=True))
    line_up = evaluated(seated.line_up, sampled)
    named = {group.name: config.name for group, config in zip(seated.line_up, seated.configs, strict=True) if config}
    return Match(world, seated._replace(line_up=line_up, frozen=seated.frozen._replace(params=params)), named)


def _held(who: str | Run | Policy, store: str | Store | None) -> tuple[dict[str, PolicyContent], Mapping[str, Any]]:
    """Policies by role, and the keys of the run that they come from."""
    if isinstance(who, Policy):
        role = who.algorithm.role.name
        return {role: PolicyContent(who.spec, flatten(who.params), who.provenance)}, who.provenance.get("spec", {})
    if isinstance(who, Run):
        return run_policies(who.store, who.id, "best"), who.spec
    try:
        content = find_content(who, store)
    except ValueError as error:
        if "say which" not in str(error):
            raise
        run_text, _, which = who.partition("@")
        opened = as_store(store)
        run_id = find_run(opened, run_text)
        return run_policies(opened, run_id, which or "best"), Run(run_id, opened).spec
    told = content.provenance.get("spec", {})  # anybody may have written it: it says where to play, never with whom or by which code
    return {content.spec["role"]["name"]: content}, {
        key: value for key, value in told.items() if not key.startswith("players.") and key != "env.settings"
    }


def evaluate(
    who: str | Run | Policy,
    *,
    env: Any = None,
    episodes: int = 320,
    seed: int = 0,
    sampled: bool | None = None,
    store: str | Store | None = None,
    allow_code: bool = False,
    **players: Any,
) -> dict[str, Any]:
    """Play whole episodes and say what came of them: the mean return with its 95 % interval, and which form of play it was."""
    if episodes < 1:
        raise ValueError(f"episodes needs a whole number of 1 or more, got {episodes}")
    match = seat(who, env, players, store, sampled, allow_code)
    played = play(match, jax.random.key(seed), episodes)
    by_group = {group: mean_interval(returns) for group, returns in played.returns.items()}
    mean, low, high = by_group[next(iter(match.named))]
    greedy = next(group.greedy for group in match.seated.line_up if group.name in match.named)
    out = {
        "policy": match.named[next(iter(match.named))],
        "env": match.env.spec.name,
        "episodes": episodes,
        "seed": seed,
        "play": "greedy" if greedy else "sampled",
        "eval/return": mean,
        "eval/interval": [low, high],
        "eval/length": float(np.mean(played.length)),
    }
    if len(by_group) > 1:
        out |= {"policies": dict(match.named)} | {f"eval/return/{group}": interval[0] for group, interval in by_group.items()}
    return out


def play(match: Match, key: Any, episodes: int) -> Episodes:
    line_up, players = match.seated.line_up, match.seated.frozen
    limit = match.env.spec.time_limit or NO_LIMIT
    if isinstance(match.env, Env):
        env = match.env
        compiled = jax.jit(lambda players, key: rollout.evaluate(env, line_up, players, key, episodes, limit))
        played = compiled(jax.tree.map(jnp.asarray, players), key)
    else:
        played = rollout.evaluate_host(rollout.host_play(match.env, line_up), players, key, episodes, limit)
    return jax.tree.map(np.asarray, played)


def watch(
    who: str | Run | Policy,
    *,
    env: Any = None,
    seed: int = 0,
    sampled: bool | None = None,
    store: str | Store | None = None,
    limit: int | None = None,
    allow_code: bool = False,
    **players: Any,
) -> Iterator[Frame]:
    """One episode as pictures, with everybody's rewards and actions."""
    return episode(seat(who, env, players, store, sampled, allow_code), seed, limit)


def episode(match: Match, seed: int = 0, limit: int | None = None) -> Iterator[Frame]:
    """The same of players who sit already: another seed compiles nothing."""
    steps = limit or match.env.spec.time_limit or NO_LIMIT
    return rollout.frames(match.env, match.seated.line_up, match.seated.frozen, jax.random.key(seed), steps)


def list_runs(store: str | Store | None = None) -> list[dict[str, Any]]:
    """Every run's summary, newest last."""
    return folder.list_runs(as_store(store))


def show_run(run: str, store: str | Store | None = None) -> dict[str, Any]:
    """All that is known of one run."""
    opened = as_store(store)
    return folder.read_run(opened, find_run(opened, run))


__all__ = ["ROUNDS", "Run", "Sweep", "evaluate", "list_runs", "load_policy", "make", "show_run", "study", "sweep", "train", "watch"]

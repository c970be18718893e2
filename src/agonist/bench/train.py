"""Training speed: environment steps a second, beside the limit that the update's own matrix products set, and beside another program.

The limit is a program of nothing but the products that an update cannot do without (the same shapes, the same devices, the same run):
for each minibatch and layer one forward, one for the weights' gradient, one for the inputs' (but the first layer's). Rollout,
environment, loss, optimiser and shuffle are all on top of it.

`beside` is a command that prints a line of JSON with `env_steps_per_second` (a list); it is run in turn with ours.
"""

from __future__ import annotations

import itertools
import json
import shlex
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from agonist import assembly, specs
from agonist.bench import say
from agonist.placement import layout
from agonist.types import Discrete, option


@dataclass(frozen=True)
class Options:
    env: str = option("lbf:2s-8x8-2p-2f-coop", "environment")
    recurrent: bool = option(False, "a GRU in actor and critic")
    rounds: int = option(5, "measurements of ours, of the limit and of the other program, in turn", span=(1, None))
    seconds: float = option(3.0, "length of one measurement of ours", span=(0.1, None))
    beside: str = option("", "a command that prints a line of JSON with a list `env_steps_per_second`")


def measure(options: Options) -> dict[str, Any]:
    spec = specs.resolve({"algo": "ppo", "env": options.env, "recurrent": options.recurrent, "eval_every": 16})
    made = assembly.assemble(spec, lambda text: (_ for _ in ()).throw(ValueError(text)))
    ours, theirs = _Ours(made, spec), []
    limit = None if options.recurrent else _limit(made, spec)  # a GRU's products wait for one another: their sum is no limit
    speeds: list[float] = []
    limits: list[float] = []
    for i in range(options.rounds):
        speeds.append(ours.speed(options.seconds))
        if limit:
            limits.append(limit(options.seconds / 4))
        if options.beside:
            theirs.append(_beside(options.beside))
        newest = {"ours": speeds, "limit": limits, "beside": theirs}
        say(f"round {i + 1}, env steps/s: " + ", ".join(f"{name} {values[-1]:,.0f}" for name, values in newest.items() if values))
    out: dict[str, Any] = {
        "env": options.env,
        "settings": {**spec.flat()},
        "devices": [str(device) for device in jax.devices()],
        "env_steps_per_second": [round(speed) for speed in speeds],
        "median": round(statistics.median(speeds)),
    }
    if limits:
        out["limit_env_steps_per_second"] = [round(speed) for speed in limits]
        out["fraction_of_limit"] = round(statistics.median(a / b for a, b in zip(speeds, limits, strict=True)), 3)
    if theirs:
        ratio = statistics.median(a / b for a, b in zip(speeds, theirs, strict=True))
        out |= {"beside": options.beside, "beside_env_steps_per_second": [round(x) for x in theirs], "ratio": round(ratio, 2)}
    return out


class _Ours:
    """A training run that is looked at from outside: whole chunks, no store."""

    def __init__(self, made: assembly.Assembly, spec: specs.Spec) -> None:
        self.made, self.seed, self.chunk = made, jax.random.key(spec.seed), spec.train.eval_every
        self.state = made.program.init(self.seed, made.frozen)
        self.learn(2 * self.chunk)  # compiles

    def learn(self, updates: int) -> float:
        """Seconds that so many updates more take. Nothing is left computing when they are done."""
        began = time.perf_counter()
        until = int(self.state.update) + updates
        for report in self.made.program.learn(self.state, self.made.frozen, self.seed, until):
            self.state = report.state
        jax.block_until_ready(self.state)
        return time.perf_counter() - began

    def speed(self, seconds: float) -> float:
        updates = max(1, round(seconds / self.learn(self.chunk))) * self.chunk
        return updates * self.made.program.steps / self.learn(updates)


def _limit(made: assembly.Assembly, spec: specs.Spec) -> Any:
    """A function of seconds -> env steps/s if an update were its feed-forward networks' products alone."""
    config, role = spec.config, made.line_up[0].role
    lay = layout(spec.train.shards)
    rows = spec.train.envs // spec.train.shards * config.rollout // config.minibatches * role.agents
    inputs = int(np.prod(role.obs.shape)) + (role.agents if config.agent_id and role.agents > 1 else 0)
    assert isinstance(role.action, Discrete)
    widths = [(inputs, *config.hidden, out) for out in (role.action.n, 1)]
    rng = np.random.default_rng(0)
    weights = [[jnp.asarray(rng.normal(size=(o, i)) * 0.05, jnp.float32) for i, o in itertools.pairwise(w)] for w in widths]
    x = jnp.asarray(rng.normal(size=(spec.train.shards, inputs, rows)), jnp.float32)

    def many(weights: Any, x: Any, updates: Any) -> Any:
        def body(_: Any, nets: Any) -> Any:
            return [_products(net, x[0]) for net in nets]

        return jax.tree.map(lambda leaf: leaf[None], jax.lax.fori_loop(0, updates * config.epochs * config.minibatches, body, weights))

    mesh = Mesh(np.asarray(lay.devices), ("devices",))
    whole, split = PartitionSpec(), PartitionSpec("devices")
    compiled = jax.jit(jax.shard_map(many, mesh=mesh, in_specs=(whole, split, whole), out_specs=split, check_vma=False))
    jax.block_until_ready(compiled(weights, x, 1))

    def speed(seconds: float) -> float:
        done, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            jax.block_until_ready(compiled(weights, x, 8))
            done += 8 * made.program.steps
        return done / (time.perf_counter() - began) * len(lay.devices) / spec.train.shards

    return speed


def _products(net: Any, x: Any) -> Any:
    """The products of one gradient of a network [out, in], features first; the change of the weights keeps them from being left out."""
    inputs = [x]
    for w in net:
        inputs.append(w @ inputs[-1])
    gradient, changed = inputs[-1], []
    for i in reversed(range(len(net))):
        changed.append(net[i] - 1e-9 * (gradient @ inputs[i].T))
        if i:
            gradient = net[i].T @ gradient
    return changed[::-1]


def _beside(command: str) -> float:
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    try:
        return statistics.median(json.loads(done.stdout.strip().splitlines()[-1])["env_steps_per_second"])
    except (IndexError, ValueError, KeyError):
        raise ValueError(f"{command!r} printed no line of JSON with env_steps_per_second: {done.stderr[-300:]}") from None

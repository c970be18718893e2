"""Learning: unroll -> add -> sample -> update, many times, with evaluation inside, as one compiled program.

`make_program(env, line_up, settings)` -> `Program`, whose `learn` yields a `Report` a chunk. No I/O: what is learned leaves by return
values. A chunk goes from one evaluation point to the next; how many of its updates are done is data, so the program is the same
whatever the total, and a run that was cut short goes on to the bit.

`shards` splits the environments into parts that roll out and shuffle by themselves and average their gradients. They lie on as many
devices as divide them, or take turns on one, so the result does not depend on the machine beyond float rounding.

All randomness is a function of (seed, purpose, update, shard): no key is carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from agonist import placement, rollout
from agonist.hosts import company
from agonist.placement import SPLIT, WHOLE, Layout
from agonist.rollout import Episodes, Rollout, Worker
from agonist.trees import fetched
from agonist.types import Array, Buffer, Env, HostEnv, LineUp, Players, Tree, option

INIT, START, ROLLOUT, SAMPLE, UPDATE, EVALUATE, ABSOLUTE = range(7)  # purposes of randomness
ROUNDS = 10  # an absolute metric takes so many times an evaluation's episodes
NO_LIMIT = 10_000  # steps after which an evaluation episode of an environment without a time limit is cut


@dataclass(frozen=True)
class TrainConfig:
    envs: int = option(32, "environments that play at once", source="Mava's default, 16 x 2", span=(1, None))
    shards: int = option(
        2, "parts that average their gradients; on devices of their own where there are", source="Mava's update_batch_size", span=(1, None)
    )
    eval_every: int = option(8, "updates between evaluations, counted from the run's beginning", unit="updates", span=(1, None))
    eval_episodes: int = option(
        32, "episodes of an evaluation; the final one takes ten times as many", source="Mava's default", span=(1, None)
    )
    sampled: bool | None = option(None, "evaluate by sampling (true), greedily (false), or as the algorithm does by itself")


class TrainState(NamedTuple):
    learners: tuple[Tree, ...]  # a trainee's state, () for everybody else
    stores: tuple[Tree, ...]  # [shards, ...] their buffers
    workers: Worker  # [shards, ...]
    update: Array  # [] int32: done so far


class Report(NamedTuple):
    """What one chunk has brought."""

    update: int  # updates done in all
    state: TrainState
    metrics: Mapping[str, np.ndarray]  # name -> [updates of this chunk]
    evaluation: Episodes | None  # of exactly the policies of `state`, where the chunk ends at an evaluation point


class Start(NamedTuple):
    """Where a run goes on from, and how far."""

    state: TrainState
    seed: Array
    until: int  # updates in all
    fresh: bool  # the untrained policies are evaluated first


def together(program: Program, frozen: Players, starts: Mapping[int, Start], alive: set[int]) -> Iterator[tuple[int, Report]]:
    """Several runs of one program. Who is taken out of `alive` goes no further.

    On an accelerator, which one run seldom fills, they are one more axis of every array. On a CPU that would be slower: there a chunk
    of each comes in turn, and while one is looked at the others compute.
    """
    if program.many is not None and len(starts) > 1:
        yield from _stacked(program.many, frozen, starts, alive)
        return
    flows = {i: program.learn(start.state, frozen, start.seed, start.until, start.fresh) for i, start in starts.items()}
    while flows:
        for i in list(flows):
            report = next(flows[i], None) if i in alive else None
            if report is None:
                del flows[i]
            else:
                yield i, report


def _stacked(many: Many, frozen: Players, starts: Mapping[int, Start], alive: set[int]) -> Iterator[tuple[int, Report]]:
    """Those that stand at one step together."""
    packs: dict[tuple[int, int, bool], list[int]] = {}
    for i, start in starts.items():
        packs.setdefault((int(start.state.update), start.until, start.fresh), []).append(i)
    for members in packs.values():
        for reports in many([starts[i] for i in members], frozen):
            yield from ((i, report) for i, report in zip(members, reports, strict=True) if i in alive)
            if not alive.intersection(members):
                break


def purpose(seed: Array, update: Array | int, what: Array | int, shard: Array | int = 0, nth: Array | int = 0) -> Array:
    """The key of a use: its purpose and two small numbers packed into one, since each derivation is code to compile."""
    packed = (jnp.uint32(what) << 28) | (jnp.uint32(shard) << 12) | jnp.uint32(nth)
    return jax.random.fold_in(jax.random.fold_in(seed, update), packed)


def trainees(line_up: LineUp) -> tuple[int, ...]:
    return tuple(g for g, group in enumerate(line_up) if group.trains)


def check(line_up: LineUp, config: TrainConfig) -> int:
    """The rollout length that the trainees agree on."""
    lengths = {line_up[g].algorithm.plan.rollout for g in trainees(line_up)}
    if not lengths:
        raise ValueError("nobody in this line-up learns: leave at least one role to a trainee")
    if len(lengths) > 1:
        raise ValueError(f"trainees of one run need one rollout length, got {sorted(lengths)}")
    for name in ("envs", "eval_episodes"):
        if getattr(config, name) % config.shards:
            raise ValueError(f"need shards to divide {name}, got shards={config.shards}, {name}={getattr(config, name)}")
    for plan in (line_up[g].algorithm.plan for g in trainees(line_up)):
        sequences = config.envs // config.shards * plan.sequences
        if sequences % plan.minibatches:
            raise ValueError(
                f"need minibatches to divide a shard's training sequences, got minibatches={plan.minibatches}, sequences={sequences} "
                f"({config.envs} envs / {config.shards} shards x {plan.sequences} sequences a rollout)"
            )
    return lengths.pop()


Many = Callable[[Sequence[Start], Players], Iterator[list[Report]]]


class Program(NamedTuple):
    """A training program: what can be asked of it. `frozen` are those players who do not learn, as data."""

    steps: int  # environment steps an update
    shape: Callable[[Players], TrainState]  # a state's shapes, without computing one
    init: Callable[[Array, Players], TrainState]  # seed -> state
    place: Callable[[TrainState], TrainState]  # a state read from a checkpoint, put where it belongs
    learn: Callable[..., Iterator[Report]]  # state, frozen, seed, updates in all, fresh=True (see `_reports`)
    absolute: Callable[[TrainState, tuple[Tree, ...], Players, Array, int], Episodes]  # of given policies: ten evaluations' episodes
    many: Many | None = None  # several runs at once, as one more axis; None where a chunk of each in turn is faster
    follow: placement.Follow | None = None  # what other hosts do while host 0 calls; None where there are none


def make_program(env: Env, line_up: LineUp, buffers: tuple[Buffer | None, ...], config: TrainConfig, lay: Layout) -> Program:
    """The compiled loop. A trainee of the line-up has a buffer, anybody else None."""
    rollout.check_line_up(env.spec, line_up)
    length = check(line_up, config)
    parts = _Parts(env, line_up, buffers, config, lay, length)
    mesh = lay.mesh
    specs: Any = TrainState(WHOLE, SPLIT, SPLIT, WHOLE)  # type: ignore[arg-type]
    chunk = _chunk(parts)
    if len(lay.devices) > 1:
        given = (specs, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE)
        chunk = jax.shard_map(chunk, mesh=mesh, in_specs=given, out_specs=(specs, WHOLE, PartitionSpec(None, "devices")), check_vma=False)
    compiled = jax.jit(chunk)

    def place(state: TrainState) -> TrainState:
        return TrainState(*[placement.put(part, mesh, spec) for part, spec in zip(state, specs, strict=True)])

    def init(seed: Array, frozen: Players) -> TrainState:
        learners = _begin(line_up, seed)
        worker = rollout.unbegun(env, line_up, _players(line_up, frozen, learners), parts.envs)
        workers = jax.tree.map(lambda leaf: (jnp if isinstance(leaf, jax.Array) else np).stack([leaf] * config.shards), worker)
        return TrainState(learners, tuple(() for _ in line_up), workers, np.int32(0))

    def shape(frozen: Players) -> TrainState:
        return jax.eval_shape(init, jax.random.key(0), frozen)

    def like(frozen: Players) -> tuple[TrainState, tuple[Tree, ...]]:
        state = shape(frozen)
        return state, jax.eval_shape(lambda: _policies(line_up, state.learners))

    def run(state: TrainState, frozen: Players, seed: Array, counts: tuple[int, int, int], given: tuple[Tree, ...] | None) -> Any:
        policies = _policies(line_up, state.learners) if given is None else given
        numbers = [np.int32(count) for count in counts]
        return compiled(place(state), *placement.put((frozen, seed, *numbers, policies, np.bool_(given is not None)), mesh, WHOLE))

    call, follow = placement.shared(run, place, like, mesh)

    def learn(state: TrainState, frozen: Players, seed: Array, until: int, fresh: bool = True) -> Iterator[Report]:
        with placement.slot() as slot:

            def launch(state: TrainState, updates: int, rounds: int) -> Any:
                return call(slot, state, frozen, seed, (updates, EVALUATE, rounds), None)

            with company.losing():
                yield from _reports(launch, config.eval_every, state, until, fresh, ahead=True)

    def absolute(state: TrainState, policies: tuple[Tree, ...], frozen: Players, seed: Array, update: int) -> Episodes:
        state = state._replace(update=jnp.int32(update))
        with placement.slot() as slot, company.losing():
            _, _, episodes, _ = call(slot, state, frozen, seed, (0, ABSOLUTE, ROUNDS), policies)
            return jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1), episodes)

    apart = len(lay.devices) > 1 or lay.devices[0].platform == "cpu"
    many = None if apart else _many(chunk, line_up, config.eval_every)
    return Program(config.envs * length, shape, init, place if follow is None else lambda state: state, learn, absolute, many, follow)


def _many(chunk: Callable[..., Any], line_up: LineUp, every: int) -> Many:
    """The same chunk of several runs at once. What a run learns is its own up to float rounding: products are batched otherwise."""
    compiled = jax.jit(jax.vmap(chunk, in_axes=(0, None, 0, None, None, None, 0, None)))
    policies = jax.jit(jax.vmap(lambda learners: _policies(line_up, learners)))

    def many(starts: Sequence[Start], frozen: Players) -> Iterator[list[Report]]:
        seeds = jnp.stack([start.seed for start in starts])
        state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[start.state for start in starts])

        def launch(state: TrainState, updates: int, rounds: int) -> Any:
            counts = [np.int32(count) for count in (updates, EVALUATE, rounds)]
            state, metrics, episodes = compiled(state, frozen, seeds, *counts, policies(state.learners), np.bool_(False))
            return state, metrics, episodes, state

        for all_of in _reports(launch, every, state, starts[0].until, starts[0].fresh, ahead=True, lead=(len(starts),)):
            held = fetched(all_of.state)
            yield [
                Report(
                    all_of.update,
                    jax.tree.map(lambda leaf, i=i: leaf[i], held),
                    {name: values[i] for name, values in all_of.metrics.items()},
                    jax.tree.map(lambda leaf, i=i: leaf[i], all_of.evaluation),
                )
                for i in range(len(starts))
            ]

    return many


class _Parts(NamedTuple):
    """What the pieces of the compiled loop are made of."""

    env: Any  # an Env; a HostEnv where only learning is compiled
    line_up: LineUp
    buffers: tuple[Buffer | None, ...]
    config: TrainConfig
    lay: Layout
    length: int

    @property
    def envs(self) -> int:
        """Environments of a shard."""
        return self.config.envs // self.config.shards

    def shards(self) -> Array:
        """[local] the numbers of the shards on this device."""
        device = jax.lax.axis_index("devices") if len(self.lay.devices) > 1 else 0
        return device * self.lay.local + jnp.arange(self.lay.local)

    def each(self, f: Callable[..., Any], *args: Tree) -> Any:
        """f for every shard on this device. In turn on a CPU, where a branch not taken costs nothing; at once elsewhere."""
        if self.lay.local == 1:
            out = f(*jax.tree.map(lambda leaf: leaf[0], args))
            return jax.tree.map(lambda leaf: leaf[None], out)
        if self.lay.devices[0].platform == "cpu":
            return jax.lax.map(lambda arg: f(*arg), args)
        return jax.vmap(f)(*args)

    def together(self, f: Callable[..., Any], learner: Tree, *args: Tree) -> Any:
        """f(learner, shard's part of args) -> (learner, rest): one learner for all shards, which average over `lay.axes`."""
        if self.lay.local == 1:
            learner, rest = f(learner, *jax.tree.map(lambda leaf: leaf[0], args))
            return learner, jax.tree.map(lambda leaf: leaf[None], rest)
        return jax.vmap(f, in_axes=(None,) + (0,) * len(args), out_axes=(None, 0), axis_name="shards")(learner, *args)


def _players(line_up: LineUp, frozen: Players, learners: tuple[Tree, ...], policies: tuple[Tree, ...] | None = None) -> Players:
    """Everybody's parameters: the trainees' as actors (or their given policies), the others as they are."""
    params, odds = [], []
    for g, group in enumerate(line_up):
        if group.trains:
            params.append(rollout.stacked(group.algorithm.actor(learners[g]) if policies is None else policies[g]))
            odds.append(np.ones((1,), np.float32))
        else:
            params.append(frozen.params[g])
            odds.append(frozen.odds[g])
    return Players(tuple(params), tuple(odds))


def _policies(line_up: LineUp, learners: tuple[Tree, ...]) -> tuple[Tree, ...]:
    return tuple(group.algorithm.policy(learners[g]) if group.trains else () for g, group in enumerate(line_up))


def _begin(line_up: LineUp, seed: Array) -> tuple[Tree, ...]:
    """The trainees' first states."""
    return tuple(group.algorithm.init(purpose(seed, 0, INIT, nth=g)) if group.trains else () for g, group in enumerate(line_up))


def _chunk(parts: _Parts) -> Callable[..., tuple[TrainState, Mapping[str, Array], Episodes]]:
    """Some updates, then some rounds of evaluation: of the policies that came of them, or of given ones."""

    def chunk(
        state: TrainState, frozen: Players, seed: Array, updates: Array, what: Array, rounds: Array, given: tuple[Tree, ...], use: Array
    ) -> tuple[TrainState, Mapping[str, Array], Episodes]:
        one = jax.jit(lambda state: _one_update(parts, frozen, seed, state))
        told = jax.tree.map(lambda leaf: jnp.full((parts.config.eval_every, *leaf.shape), jnp.nan), jax.eval_shape(one, state)[1])

        def body(i: Array, loop: tuple[TrainState, Any]) -> tuple[TrainState, Any]:
            state, metrics = one(loop[0])
            return state, jax.tree.map(lambda kept, new: kept.at[i].set(new), loop[1], metrics)

        state, told = jax.lax.fori_loop(0, updates, body, (state, told))
        own = _policies(parts.line_up, state.learners)
        policies = jax.tree.map(lambda theirs, ours: jnp.where(use, theirs, ours), given, own)
        return _settled(state), told, _evaluations(parts, frozen, policies, seed, what, rounds, state)

    return chunk


def _settled(state: TrainState) -> TrainState:
    """Without weak types, which an environment's constants leave behind: the next call would compile the program again."""

    def settled(leaf: Array) -> Array:
        return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(settled, state)


def _one_update(parts: _Parts, frozen: Players, seed: Array, state: TrainState) -> tuple[TrainState, Mapping[str, Array]]:
    players = _players(parts.line_up, frozen, state.learners)

    def play(worker: Worker, shard: Array) -> tuple[Worker, Rollout]:
        return rollout.unroll(parts.env, parts.line_up, players, worker, purpose(seed, state.update, ROLLOUT, shard), parts.length)

    workers, rollouts = parts.each(play, state.workers, parts.shards())
    learners, stores, told = list(state.learners), list(state.stores), _played(parts, rollouts)
    alone = len(trainees(parts.line_up)) == 1
    for g in trainees(parts.line_up):
        learners[g], (stores[g], metrics) = _learn(parts, g, seed, state, rollouts)
        told |= {name if alone else f"{name}/{parts.line_up[g].name}": value for name, value in metrics.items()}
    return TrainState(tuple(learners), tuple(stores), workers, state.update + 1), told


def _learn(parts: _Parts, g: int, seed: Array, state: TrainState, rollouts: Rollout) -> Any:
    """A trainee's updates from what each shard has played."""
    algorithm, buffer = parts.line_up[g].algorithm, parts.buffers[g]
    assert algorithm.update is not None
    assert buffer is not None
    update = algorithm.update

    def learn(learner: Tree, store: Tree, played: Rollout, shard: Array) -> tuple[Tree, Any]:
        store = buffer.add(store, rollout.batch_of(played, parts.line_up, g))
        metrics: Mapping[str, Array] = {}
        for u in range(algorithm.plan.updates):
            nth = g * algorithm.plan.updates + u
            batch, indices, _ = buffer.sample(store, purpose(seed, state.update, SAMPLE, shard, nth))
            learner, metrics, priorities = update(learner, batch, purpose(seed, state.update, UPDATE, shard, nth))
            store = buffer.reprioritise(store, indices, priorities)
        return learner, (buffer.retain(store), metrics)

    learner, (store, metrics) = parts.together(learn, state.learners[g], state.stores[g], rollouts, parts.shards())
    return learner, (store, {name: value[0] for name, value in metrics.items()})


def _played(parts: _Parts, rollouts: Rollout) -> dict[str, Array]:
    """Means over the episodes that ended in this rollout, on all shards; nan where none did."""
    sums = {name: value.sum() for name, value in rollouts.finished.items()}
    if len(parts.lay.devices) > 1:
        sums = jax.lax.psum(sums, "devices")
    return told_of(parts.line_up, sums)


def told_of(line_up: LineUp, sums: Mapping[str, Array]) -> dict[str, Array]:
    episodes = sums["episodes"]
    count = jnp.where(episodes > 0, episodes, jnp.nan)
    names = {f"train/return/{group.name}": f"return/{group.name}" for group in line_up} if len(line_up) > 1 else {}
    names |= {"train/return": f"return/{line_up[trainees(line_up)[0]].name}", "train/length": "length"}
    return {"train/episodes": episodes.astype(jnp.float32)} | {name: sums[source] / count for name, source in names.items()}


def _evaluations(
    parts: _Parts, frozen: Players, policies: tuple[Tree, ...], seed: Array, what: Array, rounds: Array, state: TrainState
) -> Episodes:
    """[ROUNDS, local, episodes a shard]; nan in rounds that were not asked for."""
    line_up = evaluated(parts.line_up, parts.config.sampled)
    players = _players(parts.line_up, frozen, (), policies)
    each = parts.config.eval_episodes // parts.config.shards
    limit = parts.env.spec.time_limit or NO_LIMIT

    def one(shard: Array, r: Array) -> Episodes:
        return rollout.evaluate(parts.env, line_up, players, purpose(seed, state.update, what, shard, r), each, limit)

    def body(r: Array, out: Episodes) -> Episodes:
        played = parts.each(lambda shard: one(shard, r), parts.shards())
        return jax.tree.map(lambda kept, new: kept.at[r].set(new), out, played)

    blank = jnp.full((ROUNDS, parts.lay.local, each), jnp.nan)
    return jax.lax.fori_loop(0, rounds, body, Episodes({group.name: blank for group in parts.line_up}, blank))


def evaluated(line_up: LineUp, sampled: bool | None) -> LineUp:
    """The same line-up as it is evaluated: its trainees sampled or greedy, no extras kept."""
    return tuple(
        group._replace(trains=False, greedy=not (group.algorithm.stochastic if sampled is None else sampled)) if group.trains else group
        for group in line_up
    )


def _reports(
    launch: Callable[[TrainState, int, int], Any],
    every: int,
    state: TrainState,
    until: int,
    fresh: bool,
    ahead: bool,
    lead: tuple[int, ...] = (),
) -> Iterator[Report]:
    """Chunks from evaluation point to evaluation point. `fresh`: the untrained policies are evaluated first. `ahead`: the next
    chunk computes while the last is looked at. `lead`: axes before all others, as of several runs."""

    def fly(state: TrainState, done: int) -> tuple[int, int, int, Any]:
        point = done + every - done % every
        updates = min(point, until) - done
        rounds = int(done + updates == point)
        return done + updates, updates, rounds, launch(state, updates, rounds)

    done = int(np.asarray(state.update).reshape(-1)[0])
    flying = (0, 0, 1, launch(state, 0, 1)) if fresh and done == 0 else None
    while flying or done < until:
        done, updates, rounds, (state, metrics, episodes, seen) = flying or fly(state, done)
        flying = fly(state, done) if ahead and done < until else None
        kept = {name: np.asarray(value)[..., :updates] for name, value in metrics.items()}
        evaluation = (
            jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*lead, leaf.shape[len(lead)], -1)[..., 0, :], episodes) if rounds else None
        )
        yield Report(done, seen, kept, evaluation)


def make_host_program(env: HostEnv, env_eval: HostEnv, line_up: LineUp, buffers: tuple[Buffer | None, ...], config: TrainConfig) -> Program:
    """The stepped loop: the same `act` and `update`, an environment that is stepped from the host. Its episodes are not part of a
    state: a run that is resumed has its learners exactly and begins new episodes."""
    rollout.check_line_up(env.spec, line_up)
    length = check(line_up, config)
    play, play_eval = rollout.host_play(env, line_up), rollout.host_play(env_eval, evaluated(line_up, config.sampled))
    lay = Layout(tuple(jax.devices()[:1]), config.shards)
    parts = _Parts(env, line_up, buffers, config, lay, length)
    learn = {g: jax.jit(lambda state, seed, rollouts, g=g: _learn(parts, g, seed, state, rollouts)) for g in trainees(line_up)}
    worker: list[Worker] = []

    def init(seed: Array, frozen: Players) -> TrainState:
        worker.clear()  # of another run
        return TrainState(_begin(line_up, seed), tuple(() for _ in line_up), (), jnp.int32(0))  # type: ignore[arg-type]

    def place(state: TrainState) -> TrainState:
        worker.clear()
        return jax.tree.map(jnp.asarray, state)

    def one_update(state: TrainState, frozen: Players, seed: Array) -> tuple[TrainState, Mapping[str, Array]]:
        update = int(state.update)
        players = _players(line_up, frozen, state.learners)
        if not worker:
            worker.append(rollout.start_host(play, players, purpose(seed, update, START), config.envs))
        worker[0], played = rollout.unroll_host(play, players, worker[0], purpose(seed, update, ROLLOUT), length)
        told = told_of(line_up, played.finished)
        rollouts = _split(played, config.shards)
        learners, alone = list(state.learners), len(learn) == 1
        for g, update_g in learn.items():
            learners[g], (_, metrics) = update_g(state, seed, rollouts)
            told |= {name if alone else f"{name}/{line_up[g].name}": value for name, value in metrics.items()}
        return state._replace(learners=tuple(learners), update=state.update + 1), told

    def evaluation(policies: tuple[Tree, ...], frozen: Players, key: Array, episodes: int) -> Episodes:
        players = _players(line_up, frozen, (), policies)
        return rollout.evaluate_host(play_eval, players, key, episodes, env.spec.time_limit or NO_LIMIT)

    def reports(state: TrainState, frozen: Players, seed: Array, until: int, fresh: bool = True) -> Iterator[Report]:
        def launch(state: TrainState, updates: int, rounds: int) -> Any:
            told = []
            for _ in range(updates):
                state, metrics = one_update(state, frozen, seed)
                told.append(metrics)
            stacked = {name: np.stack([metrics[name] for metrics in told]) for name in (told[0] if told else ())}
            if not rounds:
                return state, stacked, None, state
            key = purpose(seed, state.update, EVALUATE)
            episodes = evaluation(_policies(line_up, state.learners), frozen, key, config.eval_episodes)
            return state, stacked, jax.tree.map(lambda leaf: np.asarray(leaf)[None], episodes), state

        return _reports(launch, config.eval_every, state, until, fresh, ahead=False)

    return Program(
        steps=config.envs * length,
        shape=lambda frozen: jax.eval_shape(init, jax.random.key(0), frozen),
        init=init,
        place=place,
        learn=reports,
        absolute=lambda state, policies, frozen, seed, update: evaluation(
            policies, frozen, purpose(seed, update, ABSOLUTE), ROUNDS * config.eval_episodes
        ),
    )


def _split(played: Rollout, shards: int) -> Rollout:
    """A rollout of all environments [T, B, ...] as that of each shard [S, T, B / S, ...], for learning from."""

    def of(leaf: Any, axis: int) -> Any:
        return np.moveaxis(np.asarray(leaf).reshape(*leaf.shape[:axis], shards, -1, *leaf.shape[axis + 1 :]), axis, 0)

    carries = jax.tree.map(lambda leaf: of(leaf, 0), played.carries)
    return Rollout(jax.tree.map(lambda leaf: of(leaf, 1), played.transition), carries, {})

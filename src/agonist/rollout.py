"""Playing: the only callers of an environment's step.

`unroll` gathers experience for training, `evaluate` plays whole episodes, `frames` shows one. Who plays is a line-up: groups of
seats, each with an algorithm's functions (static) and its parameters (data), so a trainee, frozen policies of other
architectures and scripts play together in one compiled program and changing an opponent never recompiles. A group may hold K
sets of parameters; which of them an environment meets is drawn where an episode begins and kept until it ends.

Compiled environments (`Env`) and host environments (`HostEnv`) are played with the same `act`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from agonist.types import Array, Batch, Env, EnvSpec, Group, HostArray, HostEnv, LineUp, Players, Role, TimeStep, Transition, Tree

Record = TypeVar("Record", TimeStep, Transition)


class Worker(NamedTuple):
    """The acting side of a batch of environments: what one rollout hands to the next. Where `timestep.last`, the environment is
    begun anew before anybody acts, so a worker of zeros with `last` everywhere (`unbegun`) is a beginning."""

    env: Tree
    timestep: TimeStep
    carries: tuple[Tree, ...]  # a group's memory
    drawn: tuple[Array, ...]  # [B] which of a group's K sets of parameters plays
    returns: Mapping[str, Array]  # group -> [B] so far in this episode
    length: Array  # [B]


class Rollout(NamedTuple):
    transition: Transition  # [T, B, ...]
    carries: tuple[Tree, ...]  # with which the first step was acted
    finished: Mapping[str, Array]  # sums over the episodes that ended: `episodes`, `length`, `return/<group>`


class Episodes(NamedTuple):
    returns: Mapping[str, Array]  # group -> [B]
    length: Array  # [B]


def check_line_up(spec: EnvSpec, line_up: LineUp) -> None:
    """Every seat of every role is held exactly once."""
    held = sorted((group.role.name, seat) for group in line_up for seat in group.role.seats)
    wanted = sorted((role.name, seat) for role in spec.roles for seat in range(role.agents))
    if held != wanted:
        raise ValueError(f"{spec.name} has the seats {wanted}; this line-up holds {held}")
    for group in line_up:
        role = spec.role(group.role.name)
        if (group.role.obs.shape, group.role.action, group.role.agents) != (role.obs.shape, role.action, role.agents):
            raise ValueError(f"{group.name} plays {_shape(group.role)}; {spec.name} asks for {_shape(role)}")


def _shape(role: Role) -> str:
    return f"{role.name!r} x {role.agents}, observations {role.obs.shape}, actions {role.action}"


def seats_of(record: Record, group: Group) -> Record:
    """A group's own view: plain arrays of its seats in place of the mappings by role."""
    axis = 1 if isinstance(record, TimeStep) else 2
    role = group.role
    whole = role.seats == tuple(range(role.agents))

    def pick(value: Any) -> Any:
        value = value[role.name]
        return value if whole or value is None else value.take(np.asarray(role.seats), axis=axis)

    fields = {name: value for name, value in record._asdict().items() if isinstance(value, Mapping) and name != "extras"}
    view = record._replace(**{name: pick(value) for name, value in fields.items()})
    return view._replace(extras=view.extras[group.name]) if isinstance(view, Transition) else view


def batch_of(rollout: Rollout, line_up: LineUp, which: int) -> Batch:
    """What a group's learner is given of a rollout."""
    return Batch(seats_of(rollout.transition, line_up[which]), rollout.carries[which])


def team_reward(role: Role, reward: Array) -> Array:
    """[B, N] of the seats held -> [B]: the shared reward itself, or the seats' sum."""
    return reward[:, 0] if role.rewards == "shared" else reward.sum(axis=1)


def first_of(params: Tree) -> Tree:
    return jax.tree.map(lambda leaf: leaf[0], params)


def stacked(params: Tree) -> Tree:
    """One set of parameters as a group's [K=1, ...]."""
    return jax.tree.map(lambda leaf: leaf[None], params)


def act(
    line_up: LineUp, players: Players, timestep: TimeStep, carries: tuple[Tree, ...], drawn: tuple[Array, ...], keys: Array
) -> tuple[Mapping[str, Array], Mapping[str, Tree], tuple[Tree, ...]]:
    """Everybody acts, each group with a key of its own [G]: role -> actions [B, N, ...], each trainee's extras, the new memories."""
    parts: dict[str, list[tuple[tuple[int, ...], Array]]] = {}
    extras, after = {}, []
    for g, group in enumerate(line_up):
        view, params = seats_of(timestep, group), players.params[g]
        if players.odds[g].shape[0] == 1:
            actions, extra, carry = _act_one(group, first_of(params), view, carries[g], keys[g])
        else:
            chosen = jax.tree.map(lambda leaf, i=drawn[g]: leaf[i], params)
            actions, extra, carry = _act_each(group, chosen, view, carries[g], keys[g])
        parts.setdefault(group.role.name, []).append((group.role.seats, actions))
        after.append(carry)
        if group.trains:
            extras[group.name] = extra
    return {role: _seated(held) for role, held in parts.items()}, extras, tuple(after)


def _act_one(group: Group, params: Tree, view: TimeStep, carry: Tree, key: Array) -> tuple[Array, Tree, Tree]:
    if group.greedy:
        actions, after = group.algorithm.greedy(params, view, carry)
        return actions, (), after
    return group.algorithm.act(params, view, carry, key)


def _act_each(group: Group, params: Tree, view: TimeStep, carry: Tree, key: Array) -> tuple[Array, Tree, Tree]:
    """Every environment with its own parameters [B, ...]."""

    def one(params: Tree, view: TimeStep, carry: Tree, key: Array) -> Tree:
        single = jax.tree.map(lambda leaf: leaf[None], (view, carry))
        return jax.tree.map(lambda leaf: leaf[0], _act_one(group, params, single[0], single[1], key))

    out: tuple[Array, Tree, Tree] = jax.vmap(one)(params, view, carry, jax.random.split(key, view.last.shape[0]))
    return out


def _seated(held: list[tuple[tuple[int, ...], Array]]) -> Array:
    """Actions of the groups of one role, put back in the order of the seats."""
    if len(held) == 1:
        return held[0][1]
    order = np.argsort([seat for seats, _ in held for seat in seats])
    return jnp.concatenate([actions for _, actions in held], axis=1).take(order, axis=1)


def start(env: Env, line_up: LineUp, players: Players, key: Array, batch: int) -> Worker:
    """A batch of environments at their first step."""
    keys = jax.random.split(key, batch + 1)
    state, timestep = env.reset(keys[:batch])
    return _seat(line_up, players, state, timestep, keys[batch])


def unbegun(env: Env, line_up: LineUp, players: Players, batch: int) -> Worker:
    """A worker whose environments all wait to be begun: nothing is computed for it."""

    def blank(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            data = jax.eval_shape(jax.random.key_data, leaf)
            return jax.random.wrap_key_data(jnp.zeros(data.shape, data.dtype))
        return np.zeros(leaf.shape, leaf.dtype)

    worker: Worker = jax.tree.map(blank, jax.eval_shape(lambda p: start(env, line_up, p, jax.random.key(0), batch), players))
    return worker._replace(timestep=worker.timestep._replace(last=np.ones((batch,), bool)))


def _seat(line_up: LineUp, players: Players, state: Tree, timestep: TimeStep, key: Array) -> Worker:
    batch = timestep.last.shape[0]
    carries = tuple(group.algorithm.carry(batch) for group in line_up)
    nothing = jnp.zeros((batch,), jnp.float32)
    returns = {group.name: nothing for group in line_up}
    return Worker(state, timestep, carries, _draw(players, key, batch), returns, jnp.zeros((batch,), jnp.int32))


def _draw(players: Players, key: Array, batch: int) -> tuple[Array, ...]:
    """Whom each environment meets: an index [B] a group."""

    def one(g: int, odds: Array) -> Array:
        if odds.shape[0] == 1:
            return jnp.zeros((batch,), jnp.int32)
        return jax.random.categorical(jax.random.fold_in(key, g), jnp.log(odds), shape=(batch,)).astype(jnp.int32)

    return tuple(one(g, odds) for g, odds in enumerate(players.odds))


def unroll(env: Env, line_up: LineUp, players: Players, worker: Worker, key: Array, length: int) -> tuple[Worker, Rollout]:
    """`length` steps of every environment, with resets, in one scan.

    An episode that has ended is closed (the value of its last moment, where it was cut) and followed by a new one in one branch at
    the next step's beginning: where nothing ended it costs nothing, and an accelerator waits for one decision a step.
    """

    def step(worker: Worker, keys: Array) -> tuple[Worker, Any]:
        (state, timestep), closing = jax.lax.cond(
            worker.timestep.last.any(),
            lambda w: (_restart(env, w, keys[-1]), _next_values(line_up, players, w)),
            lambda w: ((w.env, w.timestep), jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda: _next_values(line_up, players, w)))),
            worker,
        )
        worker = _reseat(line_up, players, worker, state, timestep, keys[-1])
        actions, extras, carries = act(line_up, players, worker.timestep, worker.carries, worker.drawn, keys)
        state, after = env.step(worker.env, actions)
        told = _tally(line_up, worker._replace(env=state, carries=carries), after)
        told = told._replace(timestep=after)
        return told, (transition(worker.timestep, actions, extras, after), closing, (told.returns, told.length))

    last, (transitions, closings, tallies) = jax.lax.scan(step, worker, jax.random.split(key, (length, len(line_up) + 1)))
    ends = _values(line_up, players, last)
    next_values = jax.tree.map(lambda closed, end: jnp.concatenate([closed[1:], end[None]]), closings, ends)
    extras = {name: extra | next_values.get(name, {}) for name, extra in transitions.extras.items()}
    fresh = tuple(group.algorithm.carry(worker.length.shape[0]) for group in line_up)
    carries = select(worker.timestep.last, fresh, worker.carries)
    return last, Rollout(transitions._replace(extras=extras), carries, _finished(tallies[0], tallies[1], transitions.last))


def transition(before: TimeStep, actions: Mapping[str, Array], extras: Mapping[str, Tree], after: TimeStep) -> Transition:
    return Transition(
        obs=before.obs, legal=before.legal, state=before.state, actions=actions, extras=extras, reward=after.reward,
        discount=after.discount, last=after.last, alive=before.alive, next_obs=after.obs, next_legal=after.legal, next_state=after.state,
    )  # fmt: skip


def is_cut(after: TimeStep) -> Array:
    """[B] the sequence ends here although value goes on: a time limit."""
    goes_on = reduce(or_, [(discount > 0).any(axis=1) for discount in after.discount.values()])
    return after.last & goes_on


def _values(line_up: LineUp, players: Players, worker: Worker) -> Mapping[str, Tree]:
    """`next_value` of each learner that bootstraps: the value of a moment that no act follows, from what it remembers there."""
    out = {}
    for g, group in enumerate(line_up):
        if group.trains and group.algorithm.value is not None:
            params = first_of(players.params[g])
            out[group.name] = {"next_value": group.algorithm.value(params, seats_of(worker.timestep, group), worker.carries[g])}
    return out


def _next_values(line_up: LineUp, players: Players, worker: Worker) -> Mapping[str, Tree]:
    """The same where an episode was cut; zeros, and not computed, where none was."""
    none = jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda: _values(line_up, players, worker)))
    return jax.lax.cond(is_cut(worker.timestep).any(), lambda w: _values(line_up, players, w), lambda w: none, worker)


def _keys(line_up: LineUp, key: Array, t: Array | int) -> Array:
    """[G] everybody's keys at a step."""
    key = jax.random.fold_in(key, t)
    return key[None] if len(line_up) == 1 else jax.random.split(key, len(line_up))


def _tally(line_up: LineUp, worker: Worker, after: TimeStep) -> Worker:
    gained = {group.name: team_reward(group.role, seats_of(after, group).reward) for group in line_up}
    returns = {name: worker.returns[name] + reward for name, reward in gained.items()}
    return worker._replace(returns=returns, length=worker.length + 1)


def _finished(returns: Mapping[str, Array], length: Array, last: Array) -> Mapping[str, Array]:
    """Sums over the episodes that ended, of any axes."""
    sums = {f"return/{role}": (last * value).sum() for role, value in returns.items()}
    return sums | {"episodes": last.sum(), "length": (last * length).sum()}


def select(mask: Array, new: Any, old: Any, axis: int = 0) -> Any:
    """Per environment, `new` where the mask [B] says so. The environment index stands at `axis` (0 or -1)."""

    def one(a: Array, b: Array) -> Array:
        ahead = a.ndim - 1
        where = np.where if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else jnp.where
        return where(mask.reshape((-1,) + (1,) * ahead if axis == 0 else (1,) * ahead + (-1,)), a, b)

    return jax.tree.map(one, new, old)


def _restart(env: Env, worker: Worker, key: Array) -> tuple[Tree, TimeStep]:
    """A new episode's beginning where the last one has ended."""
    last = worker.timestep.last
    state, timestep = env.reset(jax.random.split(key, last.shape[0]))
    return select(last, state, worker.env, env.batch_axis), select(last, timestep, worker.timestep)


def _reseat(line_up: LineUp, players: Players, worker: Worker, state: Tree, timestep: TimeStep, key: Array) -> Worker:
    """What goes with a new episode: no memory, a clean tally, opponents drawn anew."""
    fresh = _seat(line_up, players, state, timestep, jax.random.fold_in(key, 1))
    last = worker.timestep.last
    again: Worker = select(last, fresh._replace(env=()), worker._replace(env=(), timestep=timestep))
    return again._replace(env=state, timestep=timestep)


def evaluate(env: Env, line_up: LineUp, players: Players, key: Array, episodes: int, limit: int) -> Episodes:
    """One whole episode in each of `episodes` environments: the first ones, so short episodes are not favoured. An episode still
    running after `limit` steps counts as it stands."""
    key_start, key_act = jax.random.split(key)
    begin = start(env, line_up, players, key_start, episodes)

    def goes_on(loop: tuple[Worker, Array, Array]) -> Array:
        _, over, t = loop
        return ~over.all() & (t < limit)

    def step(loop: tuple[Worker, Array, Array]) -> tuple[Worker, Array, Array]:
        worker, over, t = loop
        actions, _, carries = act(line_up, players, worker.timestep, worker.carries, worker.drawn, _keys(line_up, key_act, t))
        state, after = env.step(worker.env, actions)
        told = _tally(line_up, worker, after)
        returns, steps = select(over, (worker.returns, worker.length), (told.returns, told.length))
        return Worker(state, after, carries, worker.drawn, returns, steps), over | after.last, t + 1

    end, _, _ = jax.lax.while_loop(goes_on, step, (begin, jnp.zeros((episodes,), bool), jnp.int32(0)))
    return Episodes(end.returns, end.length)


class HostPlay(NamedTuple):
    """A host environment and a line-up, with what is compiled for them once."""

    env: HostEnv
    line_up: LineUp
    act: Callable[..., Any]
    values: Callable[..., Any]


def host_play(env: HostEnv, line_up: LineUp) -> HostPlay:
    return HostPlay(env, line_up, jax.jit(partial(act, line_up)), jax.jit(partial(_values, line_up)))


def start_host(play: HostPlay, players: Players, key: Array, batch: int) -> Worker:
    key_seeds, key_draw = jax.random.split(key)
    seeds = np.asarray(jax.random.randint(key_seeds, (batch,), 0, 2**31 - 1))
    return _seat_host(play, players, play.env.reset(seeds), key_draw)


def _seat_host(play: HostPlay, players: Players, timestep: TimeStep, key: Array) -> Worker:
    """Tallies in numpy: what is not compiled is dear in jax."""
    worker = _seat(play.line_up, players, (), timestep, key)
    return worker._replace(returns=_to_host(worker.returns), length=np.asarray(worker.length))


def _to_host(actions: Mapping[str, Array]) -> Mapping[str, HostArray]:
    return {role: np.asarray(value) for role, value in actions.items()}


def unroll_host(play: HostPlay, players: Players, worker: Worker, key: Array, length: int) -> tuple[Worker, Rollout]:
    """`unroll` for an environment that is stepped from the host and resets by itself."""
    first, steps, sums = worker.carries, [], []
    nothing = jax.tree.map(np.zeros_like, play.values(players, worker))
    for t, keys in enumerate(jax.random.split(key, (length, len(play.line_up) + 1))):
        actions, extras, carries = play.act(players, worker.timestep, worker.carries, worker.drawn, keys)
        begins, after = play.env.step(_to_host(actions))
        told = _tally(play.line_up, worker._replace(carries=carries), after)
        closes = t == length - 1 or bool(is_cut(after).any())
        closing = play.values(players, told._replace(timestep=after)) if closes else nothing
        extras = {name: extra | closing.get(name, {}) for name, extra in extras.items()}
        steps.append(transition(worker.timestep, actions, extras, after))
        sums.append(_finished(told.returns, told.length, after.last))
        worker = told._replace(timestep=begins)
        if after.last.any():
            worker = select(after.last, _seat_host(play, players, begins, keys[-1]), worker)
    stack = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *steps)
    return worker, Rollout(stack, first, jax.tree.map(lambda *leaves: np.sum(leaves, axis=0), *sums))


def evaluate_host(play: HostPlay, players: Players, key: Array, episodes: int, limit: int) -> Episodes:
    """`evaluate` for a host environment."""
    key_start, key_act = jax.random.split(key)
    worker = start_host(play, players, key_start, episodes)
    over = np.zeros((episodes,), bool)
    for t in range(limit):
        keys = _keys(play.line_up, key_act, t)
        actions, _, carries = play.act(players, worker.timestep, worker.carries, worker.drawn, keys)
        begins, after = play.env.step(_to_host(actions))
        told = _tally(play.line_up, worker, after)
        returns, steps = select(over, (worker.returns, worker.length), (told.returns, told.length))
        worker = Worker((), begins, carries, worker.drawn, returns, steps)
        over = over | np.asarray(after.last)
        if over.all():
            break
    return Episodes(worker.returns, worker.length)


class Frame(NamedTuple):
    """A moment of an episode, and what led to it; nothing had been done at the first."""

    image: HostArray  # [H, W, 3] uint8
    returns: Mapping[str, float]  # group -> so far
    last: bool
    rewards: Mapping[str, HostArray]  # role -> [N]
    actions: Mapping[str, HostArray] | None  # role -> [N, ...]; None at the first moment
    alive: Mapping[str, HostArray]  # role -> [N] bool


def frames(env: Env | HostEnv, line_up: LineUp, players: Players, key: Array, limit: int) -> Iterator[Frame]:
    """One episode as pictures, from its first moment to its last; a host environment has begun anew by then and shows the one before."""
    key_start, key_act = jax.random.split(key)
    if isinstance(env, Env):
        worker, step = _start_once(env, line_up, players, key_start, 1), jax.jit(env.step)
    else:
        worker = start_host(host_play(env, line_up), players, key_start, 1)
    image = draw(env, worker)
    yield _frame(image, worker, None)
    for t in range(limit):
        keys = _keys(line_up, key_act, t)
        actions, _, carries = _act_once(line_up, players, worker.timestep, worker.carries, worker.drawn, keys)
        if isinstance(env, Env):
            state, after = step(worker.env, actions)
        else:
            state, (_, after) = (), env.step(_to_host(actions))
        worker = _tally(line_up, worker._replace(env=state, timestep=after, carries=carries), after)
        image = image if after.last[0] and not isinstance(env, Env) else draw(env, worker)
        yield _frame(image, worker, _to_host(actions))
        if after.last[0]:
            return


_start_once = jax.jit(start, static_argnums=(0, 1, 4))  # a second episode compiles nothing
_act_once = jax.jit(act, static_argnums=0)


def draw(env: Env | HostEnv, worker: Worker) -> HostArray:
    """The first environment of the batch as an image [H, W, 3] uint8."""
    try:
        image = np.asarray(env.render(worker.env, 0) if isinstance(env, Env) else env.render(0))
    except NotImplementedError:
        raise ValueError(f"{env.spec.name} draws no pictures") from None
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"{env.spec.name} draws no picture that can be shown: an image is [H, W, 3] uint8, got {_kind(image)}")
    return image


def _kind(image: HostArray) -> str:
    return f"{list(image.shape)} {image.dtype}" if image.ndim else "none"


def _frame(image: HostArray, worker: Worker, actions: Mapping[str, HostArray] | None) -> Frame:
    now = worker.timestep
    returns = {group: float(value[0]) for group, value in worker.returns.items()}
    rewards, alive = ({role: np.array(value[0]) for role, value in of.items()} for of in (now.reward, now.alive))
    did = None if actions is None else {role: value[0] for role, value in actions.items()}
    return Frame(image, returns, bool(now.last[0]), rewards, did, alive)

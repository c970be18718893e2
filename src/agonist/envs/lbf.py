"""Level-Based Foraging: foragers of different strength collect food that may be too heavy for one of them.

Albrecht & Ramamoorthy (2013), "A Game-Theoretic Model and Best-Response Learning Method for Ad Hoc Coordination"; scenario
names and observations as in Christianos et al. (2020), "Shared Experience Actor-Critic". The rules, rewards, masks and
observations are those of Jumanji's LevelBasedForaging, step by step, and so is the distribution of first states: in
particular no forager starts in a row whose number is the row or the column of a food.

A scenario is `[Ks-]SxS-Pp-Ff[-coop]`: how far one sees, the grid's side, foragers, food, and whether every food needs the
three weakest foragers together. Actions are stay, up, down, left, right, load.

Inside, the environment index is the last axis: every operation then runs over contiguous environments, and the small axes
(foragers, food) cost nothing. What leaves is [B, N, ...].
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.envs import draw
from agonist.envs.families import lbf as card
from agonist.options import nearest
from agonist.types import Box, Discrete, Env, EnvSpec, Role, TimeStep, option

if TYPE_CHECKING:
    from agonist.types import Array, HostArray

STAY, UP, DOWN, LEFT, RIGHT, LOAD = range(6)
GONE = -10_000  # the row of a food that is eaten: next to nothing, seen by nobody

_GRAMMAR = re.compile(r"(?:(?P<sight>\d+)s-)?(?P<size>\d+)x(?P<width>\d+)-(?P<agents>\d+)p-(?P<food>\d+)f(?P<coop>-coop)?")


@dataclass(frozen=True)
class Options:
    """What a scenario's name leaves open, or says and may be overruled here."""

    sight: int | None = option(
        None, "how far a forager sees in each direction; by the scenario's `Ks-`, else the whole grid", unit="cells", span=(1, None)
    )
    coop: bool | None = option(None, "every food needs the three weakest foragers together; by the scenario's `-coop`")
    max_level: int = option(2, "the strongest level of a forager", span=(2, None))
    penalty: float = option(0.0, "what a vain attempt to load costs every forager", span=(0, None))
    grid: bool = option(False, "observe three planes around the forager (foragers, food, free cells) rather than a list of what it sees")
    normalize_reward: bool = option(True, "divide rewards so that all food together is worth 1")
    shared_reward: bool = option(True, "give each forager the team's reward, not its own share")
    time_limit: int = option(100, "an episode is cut here", unit="steps", span=(1, None))


class Rules(NamedTuple):
    """A scenario and its options, checked."""

    size: int
    agents: int
    food: int
    sight: int
    coop: bool
    options: Options


class Foraging(NamedTuple):
    """A batch of grids. The environment index is the last axis."""

    row: Array  # [N, B]
    col: Array  # [N, B]
    level: Array  # [N, B]
    loading: Array  # [N, B] bool: tried to load in the last step
    food_row: Array  # [F, B]; GONE once eaten
    food_col: Array  # [F, B]
    food_level: Array  # [F, B]
    time: Array  # [B]


def make(scenario: str, options: Options) -> Env:
    """The environment `lbf:<scenario>`."""
    rules = read(scenario, options)
    return Env(
        spec=_spec(scenario, rules),
        reset=lambda keys: _reset(rules, keys),
        step=lambda state, actions: _step(rules, state, actions["agents"].T),
        render=lambda state, b: _render(rules, state, b),
        batch_axis=-1,
    )


def read(scenario: str, options: Options) -> Rules:
    """A scenario's name and options -> its rules; a ValueError that says what is wrong with them."""
    found = _GRAMMAR.fullmatch(scenario)
    if found is None or found["size"] != found["width"]:
        raise ValueError(f"lbf:{scenario} is not of the form [Ks-]SxS-Pp-Ff[-coop]{nearest(scenario, card.scenarios)}")
    size, agents, food = int(found["size"]), int(found["agents"]), int(found["food"])
    sight = options.sight if options.sight is not None else int(found["sight"] or size)
    coop = options.coop if options.coop is not None else found["coop"] is not None
    if size < 5 or agents < 1 or food < 1:
        raise ValueError(f"lbf:{scenario} needs a grid of 5x5 or more, a forager and a food")
    if not 1 <= sight <= size:
        raise ValueError(f"lbf:{scenario}: sight is 1 to {size}, got {sight}")
    open_rows = size - min(2 * food, size - 2)  # at the least: see `_place_foragers`
    if agents > open_rows * size:
        raise ValueError(f"lbf:{scenario}: at most {open_rows * size} foragers fit {size}x{size} beside {food} food, got {agents}")
    most = max(((size - 2) ** 2 - agents - 1) // 5, 0)
    if food > most:
        raise ValueError(f"lbf:{scenario}: {food} food and {agents} foragers do not fit {size}x{size}; at most {most} food would")
    return Rules(size, agents, food, sight, coop, options)


def _spec(scenario: str, rules: Rules) -> EnvSpec:
    options, heaviest = rules.options, min(3, rules.agents) * rules.options.max_level
    shape: tuple[int, ...] = (3 * (rules.food + rules.agents),)
    if options.grid:
        shape = (3, 2 * rules.sight + 1, 2 * rules.sight + 1)
    top = 1.0 if options.normalize_reward else float(rules.food * heaviest * options.max_level)
    if options.shared_reward and not options.normalize_reward:
        top *= min(4, rules.agents)
    low = 0.0 - options.penalty * rules.food * (rules.agents if options.shared_reward else 1)
    state_shape = (rules.agents * int(np.prod(shape)),)
    role = Role(
        name="agents",
        agents=rules.agents,
        obs=Box(0.0 if options.grid else -1.0, float(max(heaviest, rules.size)), shape),
        action=Discrete(6),
        rewards="shared" if options.shared_reward else "individual",
        reward_range=(low, top),
        state_shape=state_shape,
        action_names=("stay", "up", "down", "left", "right", "load"),
    )
    return EnvSpec(
        name=f"lbf:{scenario}",
        roles=(role,),
        time_limit=options.time_limit,
        state_shape=state_shape,
        about=f"{rules.agents} foragers of levels 1 to {options.max_level} gather {rules.food} food on a {rules.size}x{rules.size} grid.",
        source="Albrecht & Ramamoorthy 2013; Christianos et al. 2020; rules as in Jumanji 1.1",
    )


# --- the first state


def _reset(rules: Rules, keys: Array) -> tuple[Foraging, TimeStep]:
    agents, food = rules.agents, rules.food
    bits = jax.vmap(lambda key: jax.random.bits(key, (2 * (agents + food),)))(keys).T
    chance = (bits >> 8).astype(jnp.float32) * 2.0**-24  # [2(N+F), B] in [0, 1): exact, so a draw below n never rounds up to n
    food_row, food_col = _place_food(rules, chance[:food])
    row, col = _place_foragers(rules, chance[food : food + agents], food_row, food_col)
    level = 1 + _below(rules.options.max_level, chance[food + agents : food + 2 * agents])
    heaviest = _sum_of_three_least(level)
    state = Foraging(
        row=row,
        col=col,
        level=level,
        loading=jnp.zeros(level.shape, bool),
        food_row=food_row,
        food_col=food_col,
        food_level=jnp.broadcast_to(heaviest, food_row.shape) if rules.coop else 1 + _below(heaviest, chance[food + 2 * agents :]),
        time=jnp.zeros(keys.shape, jnp.int32),
    )
    return state, _look(rules, state, jnp.zeros(row.shape))


def _below(n: Array | int, chance: Array) -> Array:
    return jnp.floor(chance * n).astype(jnp.int32)


def _place_food(rules: Rules, chance: Array) -> tuple[Array, Array]:
    """[F, B] rows and columns: one after another, anywhere within the grid's edge but on or next to an earlier one."""
    side = np.arange(1, rules.size - 1)  # the edge holds none
    rows: list[Array] = []
    cols: list[Array] = []

    def free(at: Array) -> Array:  # rows [...] -> [..., R, B]: which of their cells may be taken
        apart = jnp.ones((*at.shape[:-1], side.size, chance.shape[1]), bool)
        for row, col in zip(rows, cols, strict=True):
            apart &= jnp.abs(at - row)[..., None, :] + jnp.abs(side[:, None] - col) > 1
        return apart

    for luck in chance:
        counts = jnp.sum(free(side[:, None]), axis=1, dtype=jnp.int32)  # [R, B]
        upto = _running(counts)
        nth = _below(upto[-1], luck)
        row = jnp.sum(upto <= nth, axis=0, dtype=jnp.int32)
        nth = nth - jnp.max(jnp.where(upto <= nth, upto, 0), axis=0)  # its place among the free cells of its row
        col = jnp.sum(_running(free(1 + row)) <= nth, axis=0, dtype=jnp.int32)
        rows.append(1 + row)
        cols.append(1 + col)
    return jnp.stack(rows), jnp.stack(cols)


def _place_foragers(rules: Rules, chance: Array, food_row: Array, food_col: Array) -> tuple[Array, Array]:
    """[N, B] rows and columns: anywhere but on each other and in the rows numbered as a food's row or column."""
    size = rules.size
    barred = jnp.concatenate([food_row, food_col])
    upto = _running(jnp.all(np.arange(size)[:, None, None] != barred, axis=1))  # [S, B]
    taken: list[Array] = []  # cells, numbered over the open rows, in order
    cells = []
    for n, luck in enumerate(chance):
        cell = _below(upto[-1] * size - n, luck)
        for other in taken:
            cell = cell + (cell >= other)
        cells.append(cell)
        for i, other in enumerate(taken):
            taken[i], cell = jnp.minimum(other, cell), jnp.maximum(other, cell)
        taken.append(cell)
    cell = jnp.stack(cells)
    rank = jax.lax.div(cell, size)
    return jnp.sum(upto <= rank[:, None], axis=1, dtype=jnp.int32), cell - rank * size


def _running(counts: Array) -> Array:
    """[R, B] -> [R, B]: sums up to and with each row. R x R integers in one pass: a cumulative sum would be many kernels."""
    upto = np.tril(np.ones((counts.shape[0],) * 2, bool))
    return jnp.sum(jnp.where(upto[:, :, None], counts, 0), axis=1, dtype=jnp.int32)


def _sum_of_three_least(level: Array) -> Array:
    if level.shape[0] <= 3:
        return jnp.sum(level, axis=0)
    least = [level[0], jnp.full_like(level[0], 1 << 20), jnp.full_like(level[0], 1 << 20)]
    for value in level[1:]:
        for i in range(3):
            least[i], value = jnp.minimum(least[i], value), jnp.maximum(least[i], value)
    return least[0] + least[1] + least[2]


# --- a step


def _step(rules: Rules, state: Foraging, action: Array) -> tuple[Foraging, TimeStep]:
    row, col = _move(rules, state, action)
    loading = action == LOAD
    near = jnp.abs(row[:, None] - state.food_row) + jnp.abs(col[:, None] - state.food_col) == 1  # [N, F, B]
    lifts = jnp.where(near & loading[:, None], state.level[:, None], 0)
    lifted = jnp.sum(lifts, axis=0)  # [F, B]
    eaten = lifted >= state.food_level
    gain = lifts * jnp.where(eaten, state.food_level, 0) - jnp.where(
        (lifted > 0) & ~eaten, np.float32(rules.options.penalty), 0.0
    )  # [N, F, B]
    if rules.options.normalize_reward:
        gain = gain / jnp.maximum(lifted * jnp.sum(state.food_level, axis=0), 1)
    state = state._replace(row=row, col=col, loading=loading, food_row=jnp.where(eaten, GONE, state.food_row), time=state.time + 1)
    return state, _look(rules, state, sum(gain[:, f] for f in range(rules.food)))


def _cell(rules: Rules, row: Array, col: Array) -> Array:
    return row * (rules.size + 2) + col  # one number a cell, also one step outside the grid


def _move(rules: Rules, state: Foraging, action: Array) -> tuple[Array, Array]:
    """Where the foragers stand next [N, B]. Who would enter an occupied cell, or one that another enters, stays."""
    row = state.row + (action == DOWN) - (action == UP)
    col = state.col + (action == RIGHT) - (action == LEFT)
    target = _cell(rules, row, col)
    stands = _cell(rules, state.row, state.col)
    other = ~np.eye(rules.agents, dtype=bool)[:, :, None]
    blocked = jnp.any((target[:, None] == stands) & other, axis=1)
    blocked |= jnp.any(target[:, None] == _cell(rules, state.food_row, state.food_col), axis=1)
    blocked |= (row < 0) | (row >= rules.size) | (col < 0) | (col >= rules.size)
    target = jnp.where(blocked, stands, target)
    blocked |= jnp.any((target[:, None] == target) & other, axis=1)
    return jnp.where(blocked, state.row, row), jnp.where(blocked, state.col, col)


def _look(rules: Rules, state: Foraging, reward: Array) -> TimeStep:
    """What leaves: everything [B, N, ...]."""
    agents, batch = state.row.shape
    if rules.options.shared_reward:
        reward = jnp.broadcast_to(sum(reward), reward.shape)
    done = jnp.all(state.food_row == GONE, axis=0)
    see = _planes if rules.options.grid else _list
    obs = jnp.moveaxis(see(rules, state), -1, 0).astype(jnp.float32)
    ones = jnp.ones((batch, agents), bool)
    return TimeStep(
        obs={"agents": obs},
        reward={"agents": reward.T},
        discount={"agents": jnp.broadcast_to((~done).astype(jnp.float32)[:, None], ones.shape)},
        last=done | (state.time >= rules.options.time_limit),
        legal={"agents": jnp.moveaxis(_legal(rules, state), -1, 0)},
        alive={"agents": ones},
        state=obs.reshape(batch, -1),
    )


def _legal(rules: Rules, state: Foraging) -> Array:
    """[N, 6, B]: a step is legal into a free cell of the grid, loading next to a food."""
    stride, edge = rules.size + 2, rules.size - 1
    stands = _cell(rules, state.row, state.col)
    food = _cell(rules, state.food_row, state.food_col)
    way = jnp.concatenate([stands, food]) - stands[:, None]  # [N, N+F, B]
    to_food = jnp.abs(way[:, rules.agents :])
    legal = {
        STAY: jnp.ones(stands.shape, bool),
        UP: (state.row > 0) & ~jnp.any(way == -stride, axis=1),
        DOWN: (state.row < edge) & ~jnp.any(way == stride, axis=1),
        LEFT: (state.col > 0) & ~jnp.any(way == -1, axis=1),
        RIGHT: (state.col < edge) & ~jnp.any(way == 1, axis=1),
        LOAD: jnp.any((to_food == 1) | (to_food == stride), axis=1),
    }
    return jnp.stack([legal[action] for action in range(6)], axis=1)


def _list(rules: Rules, state: Foraging) -> Array:
    """[N, 3(F+N), B]: (row, column, level) of each food, oneself, the others; (-1, -1, 0) of what is out of sight.

    Places count from the corner of what one sees. Who stands where is chosen by masks known beforehand, which compiles to
    half the time of joining slices.
    """
    food = jnp.stack([state.food_row, state.food_col, state.food_level], axis=1)  # [F, 3, B]
    mine = jnp.stack([state.row, state.col, state.level], axis=1)  # [N, 3, B]
    things = jnp.concatenate([food, mine])
    who, place = np.arange(rules.agents)[:, None, None, None], np.arange(rules.food + rules.agents)[:, None, None]
    before = (place > rules.food) & (place <= rules.food + who)  # those who come before oneself stand one place later
    listed = jnp.where(before, jnp.roll(things, 1, axis=0), things)  # [N, F+N, 3, B]
    listed = jnp.where(place == rules.food, mine[:, None], listed)
    far = jnp.abs(listed[:, :, :2] - mine[:, None, :2]) > rules.sight
    is_place = np.array([[1], [1], [0]])
    corner = jnp.maximum(mine - rules.sight, 0)[:, None] * is_place
    seen = jnp.where(jnp.any(far, axis=2, keepdims=True), -is_place, listed - corner)
    return seen.reshape(rules.agents, -1, state.row.shape[-1])


def _planes(rules: Rules, state: Foraging) -> Array:
    """[N, 3, 2K+1, 2K+1, B]: levels of foragers, levels of food, free cells, with oneself in the middle."""
    steps = jnp.arange(-rules.sight, rules.sight + 1)
    rows = state.row[:, None] + steps[:, None]  # [N, V, B]
    cols = state.col[:, None] + steps[:, None]

    def plane(row: Array, col: Array, level: Array) -> Array:  # [M, B] -> [N, V, V, B]
        at = (rows[:, :, None, None] == row) & (cols[:, None, :, None] == col)
        return jnp.sum(jnp.where(at, level, 0), axis=3)

    foragers = plane(state.row, state.col, state.level)
    food = plane(state.food_row, state.food_col, state.food_level)
    on_rows, on_cols = (rows >= 0) & (rows < rules.size), (cols >= 0) & (cols < rules.size)
    free = on_rows[:, :, None] & on_cols[:, None] & (foragers + food == 0)
    return jnp.stack([foragers, food, free.astype(foragers.dtype)], axis=1)


def _render(rules: Rules, state: Foraging, b: int) -> HostArray:
    """The field: foragers are discs, food is apples, each with its level; who tried to load has a golden rim."""
    one = Foraging(*(np.asarray(part[..., b]) for part in state))
    side, foot = 44, 10
    field = draw.canvas(rules.size * side + foot, rules.size * side, "#dfe8d2")
    for row in range(rules.size):
        for col in range(rules.size):
            corners = (row * side + 1, col * side + 1, (row + 1) * side - 1, (col + 1) * side - 1)
            draw.box(field, corners, "#eef3e4" if (row + col) % 2 else "#e8efdb", 5)
    for row, col, level in zip(one.food_row, one.food_col, one.food_level, strict=True):
        if row >= 0:
            _draw_apple(field, ((row + 0.5) * side, (col + 0.5) * side), side, int(level))
    for i, (row, col, level) in enumerate(zip(one.row, one.col, one.level, strict=True)):
        at, colour = ((row + 0.5) * side, (col + 0.5) * side), draw.PLAYERS[i % len(draw.PLAYERS)]
        draw.disc(field, (at[0] + 2, at[1] + 1), side * 0.37, draw.INK, 0.18)
        draw.disc(field, at, side * 0.36, colour)
        draw.disc(field, (at[0] - side * 0.1, at[1] - side * 0.1), side * 0.18, "#ffffff", 0.16)
        draw.ring(field, at, side * 0.36, 2.5, draw.GOLD if one.loading[i] else draw.PAPER)
        if one.loading[i]:
            draw.ring(field, at, side * 0.43, 3, draw.GOLD, 0.55)
        draw.text(field, at, str(level), side * 0.34, "#ffffff")
    _draw_clock(field, foot, int(one.time) / rules.options.time_limit)
    return draw.image(field)


def _draw_apple(field: HostArray, at: tuple[float, float], side: int, level: int) -> None:
    y, x = at
    draw.disc(field, (y + side * 0.08, x + 1), side * 0.32, draw.INK, 0.15)
    for lean in (-0.11, 0.11):
        draw.disc(field, (y + side * 0.03, x + lean * side), side * 0.24, draw.RED)
        draw.disc(field, (y + side * 0.12, x + lean * 0.7 * side), side * 0.22, draw.RED)
    draw.disc(field, (y - side * 0.06, x - side * 0.18), side * 0.07, "#ffffff", 0.3)
    draw.line(field, (y - side * 0.16, x), (y - side * 0.34, x + side * 0.05), 3, "#7a5230")
    draw.line(field, (y - side * 0.28, x + side * 0.08), (y - side * 0.34, x + side * 0.19), side * 0.1, draw.GREEN)
    draw.text(field, (y + side * 0.07, x), str(level), side * 0.3, "#ffffff")


def _draw_clock(field: HostArray, foot: int, gone: float) -> None:
    height, width = field.shape[:2]
    draw.box(field, (height - foot + 3, 4, height - 3, width - 4), "#c9d4b8", 2)
    draw.box(field, (height - foot + 3, 4, height - 3, 4 + max(4.0, gone * (width - 8))), "#8fa57a", 2)

"""Repeated matrix games: all players act at once and the payoff table says what each gets, round after round.

Climbing and penalty games are of Claus & Boutilier (1998), "The Dynamics of Reinforcement Learning in Cooperative Multiagent
Systems"; 25 rounds as in Papoudakis et al. (2021), "Benchmarking Multi-Agent Deep RL Algorithms in Cooperative Tasks".

`matrix:rps`, `matrix:penalty-100`, ... or `matrix:./payoff.json` (.toml, .csv), a file of this form:

    {"payoffs": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]], "actions": [["stay silent", "talk"], ["stay silent", "talk"]]}

`payoffs[a][b]` holds a number for each player, nested once more for each further player. With `"kind"` it holds one number:
`"common"` (all get it), `"zero-sum"` (the second of two gets its opposite) or `"symmetric"` (the second gets the first's with
the seats swapped). `actions`, the names a picture shows, may be left out. A .csv has a line a row and in each cell one number that
both get, or two with a space between.

A game in which all get the same, or that is the same from every seat, has one role `agents`; another has a role a player. A
player sees nothing but a constant, so it plays a fixed strategy; with `memory=true` it sees the last joint action, its own first.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agonist.envs import draw, lift
from agonist.envs.families import matrix as card
from agonist.options import nearest
from agonist.types import Box, Discrete, Env, EnvSpec, Role, TimeStep, option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agonist.types import Array, HostArray


@dataclass(frozen=True)
class Options:
    """How a game is repeated."""

    rounds: int = option(25, "rounds of an episode; it is cut there, and value goes on", source="Papoudakis et al. 2021", span=(1, None))
    memory: bool = option(False, "players see the last joint action, and not a constant")


@dataclass(frozen=True)
class Game:
    """A payoff table and the names of what can be done."""

    payoffs: HostArray  # [actions of player 0, of player 1, ..., players]
    actions: tuple[tuple[str, ...], ...]
    about: str

    @property
    def players(self) -> int:
        return int(self.payoffs.ndim) - 1


class Round(NamedTuple):
    joint: Array  # [players] what was done last; -1 before the first round
    time: Array


PENALTY = re.compile(r"penalty-(\d+(?:\.\d+)?)")
_TWO = {
    "climbing": ("common", "abc", [[11, -30, 0], [-30, 7, 6], [0, 0, 5]], "the best joint action stands beside the worst"),
    "coordination": ("common", "ab", [[1, 0], [0, 1]], "do the same"),
    "rps": (
        "symmetric",
        ("rock", "paper", "scissors"),
        [[0, -1, 1], [1, 0, -1], [-1, 1, 0]],
        "rock, paper, scissors; Nash is a third each",
    ),
    "chicken": ("symmetric", ("dare", "swerve"), [[0, 7], [2, 6]], "two dare, both crash"),
    "prisoners-dilemma": ("symmetric", ("cooperate", "defect"), [[3, 0], [5, 1]], "each does better to defect, both do worse"),
    "stag-hunt": ("symmetric", ("stag", "hare"), [[4, 0], [3, 2]], "the stag takes two, the hare is safe"),
    "matching-pennies": ("zero-sum", ("heads", "tails"), [[1, -1], [-1, 1]], "the first wants a match, the second none"),
}


def make(scenario: str, options: Options) -> Env:
    """The environment `matrix:<scenario>`."""
    game = read(scenario)
    table = jnp.asarray(game.payoffs, jnp.float32)
    one = Env(
        spec=_spec(scenario, game, options),
        reset=lambda key: _reset(game, options, key),
        step=partial(_step, game, options, table),
        render=lambda state, _: render(game, np.asarray(state.joint)),
    )
    return lift(one)


def read(scenario: str) -> Game:
    """A named game, or one from a file."""
    if Path(scenario).suffix.lower() in _READERS:
        return _read_file(Path(scenario))
    if penalty := PENALTY.fullmatch(scenario):
        k = -float(penalty[1])
        return table([[k, 0, 10], [0, 2, 0], [10, 0, k]], "common", (tuple("abc"),) * 2, f"miscoordination costs {-k:g}")
    if scenario not in _TWO:
        raise ValueError(f"matrix:{scenario} is no game and no .json, .toml or .csv file{nearest(scenario, card.scenarios)}")
    kind, actions, payoffs, about = _TWO[scenario]
    return table(payoffs, kind, (tuple(actions),) * 2, about)


def table(payoffs: Any, kind: str | None, actions: tuple[tuple[str, ...], ...] | None = None, about: str = "") -> Game:
    """A game from nested lists; ValueError where they are no payoff table."""
    try:
        values = np.asarray(payoffs, np.float64)
    except (TypeError, ValueError):
        raise ValueError("payoffs need nested lists of numbers, all rows of one length") from None
    if not values.size or not np.all(np.isfinite(values)):
        raise ValueError("payoffs need to be finite numbers, and some")
    if kind in ("zero-sum", "symmetric") and (values.ndim != 2 or (kind == "symmetric" and values.shape[0] != values.shape[1])):
        raise ValueError(f"a {kind} game needs a {'square ' * (kind == 'symmetric')}table of two players, got the shape {values.shape}")
    if kind == "common":
        values = np.stack([values] * values.ndim, axis=-1)
    elif kind == "zero-sum":
        values = np.stack([values, -values], axis=-1)
    elif kind == "symmetric":
        values = np.stack([values, values.T], axis=-1)
    elif kind is not None:
        raise ValueError(f"kind is common, zero-sum or symmetric, got {kind!r}{nearest(str(kind), ('common', 'zero-sum', 'symmetric'))}")
    if values.ndim < 3 or values.shape[-1] != values.ndim - 1:
        raise ValueError(
            f"payoffs of {values.ndim - 1} players need {values.ndim - 1} numbers in each cell, got the shape {values.shape}; "
            "where a cell holds one number, `kind` says whose it is"
        )
    if actions is None:
        actions = tuple(tuple(str(a) for a in range(n)) for n in values.shape[:-1])
    if tuple(len(names) for names in actions) != values.shape[:-1]:
        raise ValueError(f"actions name {[len(names) for names in actions]} choices, payoffs have {list(values.shape[:-1])}")
    return Game(values, actions, about)


def _read_file(path: Path) -> Game:
    try:
        told = _READERS[path.suffix.lower()](path.read_text(encoding="utf8"))
        if not isinstance(told, dict) or "payoffs" not in told:
            raise ValueError("it needs an entry `payoffs`")
        unknown = set(told) - {"payoffs", "kind", "actions", "about"}
        if unknown:
            raise ValueError(f"there is no entry {min(unknown)!r}{nearest(min(unknown), ('payoffs', 'kind', 'actions', 'about'))}")
        names = told.get("actions")
        actions = tuple(tuple(str(name) for name in player) for player in names) if names is not None else None
        return table(told["payoffs"], told.get("kind"), actions, str(told.get("about", "")))
    except OSError as error:
        raise ValueError(f"matrix:{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError) as error:  # also what is no JSON, TOML or UTF-8
        raise ValueError(f"matrix:{path} is no game: {error}") from None


def _read_csv(text: str) -> Mapping[str, Any]:
    cells = [[[float(number) for number in cell.split()] for cell in row] for row in csv.reader(text.splitlines()) if row]
    sizes = {len(cell) for row in cells for cell in row}
    if sizes not in ({1}, {2}):
        raise ValueError(f"each cell needs one number, or each needs two, got {sorted(sizes)}")
    return {"payoffs": cells} if sizes == {2} else {"payoffs": [[cell[0] for cell in row] for row in cells], "kind": "common"}


_READERS: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads, ".csv": _read_csv}


# --- roles


def is_common(game: Game) -> bool:
    return bool(np.all(game.payoffs == game.payoffs[..., :1])) and len(set(game.payoffs.shape[:-1])) == 1


def is_symmetric(game: Game) -> bool:
    """The same from every seat: permuting the players permutes what they get."""
    if len(set(game.payoffs.shape[:-1])) != 1:
        return False
    seats = range(game.players)
    return all(
        np.array_equal(game.payoffs, np.transpose(game.payoffs, (*order, game.players))[..., list(order)])
        for order in itertools.permutations(seats)
    )


def role_names(game: Game) -> tuple[str, ...]:
    if is_common(game) or is_symmetric(game):
        return ("agents",)
    return ("row", "column") if game.players == 2 else tuple(f"player_{i}" for i in range(game.players))


def _spec(scenario: str, game: Game, options: Options) -> EnvSpec:
    width = sum(game.payoffs.shape[:-1]) if options.memory else 1
    names = role_names(game)

    def role(i: int) -> Role:
        own = game.payoffs if len(names) == 1 else game.payoffs[..., i]
        return Role(
            name=names[i],
            agents=game.players if len(names) == 1 else 1,
            obs=Box(0.0, 1.0, (width,)),
            action=Discrete(game.payoffs.shape[i]),
            rewards="shared" if len(names) == 1 and is_common(game) else "individual",
            reward_range=(float(own.min()), float(own.max())),
            state_shape=(width,),
            action_names=game.actions[i] if len(names) > 1 or len(set(game.actions)) == 1 else (),
        )

    return EnvSpec(
        name=f"matrix:{scenario}",
        roles=tuple(role(i) for i in range(len(names))),
        time_limit=options.rounds,
        state_shape=(width,),
        about=f"{game.about or 'a payoff table'}; {options.rounds} rounds".lstrip("; "),
        source=card.source,
    )


# --- one stream of play


def _reset(game: Game, options: Options, key: Array) -> tuple[Round, TimeStep]:
    del key  # nothing is left to chance
    state = Round(jnp.full((game.players,), -1, jnp.int32), jnp.zeros((), jnp.int32))
    return state, _look(game, options, state, jnp.zeros((game.players,)))


def _step(game: Game, options: Options, payoffs: Array, state: Round, actions: Mapping[str, Array]) -> tuple[Round, TimeStep]:
    joint = jnp.concatenate([actions[name] for name in role_names(game)])  # [players]
    state = Round(joint, state.time + 1)
    return state, _look(game, options, state, payoffs[tuple(joint)])


def _look(game: Game, options: Options, state: Round, reward: Array) -> TimeStep:
    seen = jnp.ones((game.players, 1))
    whole = jnp.ones((1,))
    if options.memory:
        last = [jax.nn.one_hot(state.joint[i], n) for i, n in enumerate(game.payoffs.shape[:-1])]
        whole = jnp.concatenate(last)
        seen = jnp.stack([jnp.concatenate([last[i], *last[:i], *last[i + 1 :]]) for i in range(game.players)])
    names = role_names(game)

    def each(value: Array) -> dict[str, Array]:  # [players, ...] -> role -> [N, ...]
        return {"agents": value} if len(names) == 1 else {name: value[i : i + 1] for i, name in enumerate(names)}

    legal = {name: jnp.ones((game.players if len(names) == 1 else 1, game.payoffs.shape[i]), bool) for i, name in enumerate(names)}
    return TimeStep(
        obs=each(seen),
        reward=each(reward),
        discount=each(jnp.ones((game.players,))),
        last=state.time >= options.rounds,
        legal=legal,
        alive=each(jnp.ones((game.players,), bool)),
        state=whole,
    )


def render(game: Game, joint: HostArray) -> HostArray:
    """The payoff table with the last joint action lit. Of more than two players, the slice that the others chose."""
    others = tuple(int(a) for a in np.maximum(joint[2:], 0))
    shown = game.payoffs[(slice(None), slice(None), *others)]
    wide, high, edge, head = 92, 56, 96, 40
    board = draw.canvas(head + high * shown.shape[0] + 12, edge + wide * shown.shape[1] + 12)
    spread = max(float(np.abs(game.payoffs).max()), 1e-9)
    for col, name in enumerate(game.actions[1]):
        size = draw.fitting(name, 12, wide - 10)
        draw.text(board, (head / 2 + 2, edge + (col + 0.5) * wide), name, size, draw.PLAYERS[1] if joint[1] == col else draw.INK)
    for row, name in enumerate(game.actions[0]):
        size = draw.fitting(name, 12, edge - 14)
        draw.text(board, (head + (row + 0.5) * high, edge / 2), name, size, draw.PLAYERS[0] if joint[0] == row else draw.INK)
    for row, col in np.ndindex(*shown.shape[:2]):
        top, left = head + row * high, edge + col * wide
        corners = (top + 3, left + 3, top + high - 3, left + wide - 3)
        lit = (row, col) == (joint[0], joint[1])
        if lit:
            draw.box(board, (top - 1, left - 1, top + high + 1, left + wide + 1), draw.GOLD, 9)
        good = float(shown[row, col].mean()) / spread
        draw.box(board, corners, "#ffffff", 6)
        draw.box(board, corners, draw.GREEN if good > 0 else draw.RED if good < 0 else draw.INK, 6, 0.05 + 0.3 * abs(good))
        _draw_payoffs(board, (top + high / 2, left + wide / 2), shown[row, col], is_common(game), wide - 20)
    return draw.image(board)


def _draw_payoffs(board: HostArray, at: tuple[float, float], gains: HostArray, common: bool, width: float) -> None:
    if common:
        draw.text(board, at, f"{gains[0]:g}", draw.fitting(f"{gains[0]:g}", 18, width))
        return
    step = width / len(gains)
    for i, gain in enumerate(gains):
        words = f"{gain:g}"
        place = (at[0], at[1] + (i - (len(gains) - 1) / 2) * step)
        draw.text(board, place, words, draw.fitting(words, 16, step - 6), draw.PLAYERS[i % len(draw.PLAYERS)])

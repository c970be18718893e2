"""The records and interfaces that cross rooms. Nothing here computes, and jax is imported for type checkers only.

Axes are T (time), B (environments of a batch), N (agents of a role), in that order. Whatever is per agent is a mapping
role name -> array; `last` and `state` belong to the environment. A one-role algorithm sees the same records with plain
arrays in place of the mappings (`rollout.seats_of` makes that view).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from agonist.policies import Player

HostArray = Any  # a numpy array
Array = Any  # a jax or a numpy array: the same code plays compiled and host environments
Tree = Any  # a pytree of arrays whose structure only its owner knows
Roles = Any  # role name -> Array; in a group's own view, the Array itself


@dataclass(frozen=True)
class Discrete:
    """One choice out of `n`."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once; `legal` is the choices' masks side by side."""

    ns: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.ns),)


@dataclass(frozen=True)
class Box:
    """Real (or integer, by dtype) numbers between two bounds that hold for every entry."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: str = "float32"


Space = Discrete | MultiDiscrete | Box


@dataclass(frozen=True)
class Role:
    """A part to be played: `agents` seats that observe and act alike. `seats` are those that a player of it holds."""

    name: str
    agents: int
    obs: Box
    action: Space
    rewards: Literal["shared", "individual"] = "individual"
    reward_range: tuple[float, float] = (float("-inf"), float("inf"))
    seats: tuple[int, ...] = ()
    state_shape: tuple[int, ...] = ()  # of `TimeStep.state`, for a critic that may see it
    action_names: tuple[str, ...] = ()  # of a Discrete action's choices, for people

    def __post_init__(self) -> None:
        if not self.seats:
            object.__setattr__(self, "seats", tuple(range(self.agents)))
        if not all(0 <= seat < self.agents for seat in self.seats):
            raise ValueError(f"role {self.name!r} has seats 0..{self.agents - 1}, got {self.seats}")

    def holding(self, seats: tuple[int, ...]) -> Role:
        return replace(self, seats=seats)


@dataclass(frozen=True)
class EnvSpec:
    name: str  # as typed: family:scenario
    roles: tuple[Role, ...]
    time_limit: int | None  # steps after which an episode is cut; None where the environment sets none
    state_shape: tuple[int, ...] = ()
    about: str = ""
    source: str = ""  # the paper or package whose rules it follows

    def role(self, name: str) -> Role:
        for role in self.roles:
            if role.name == name:
                return role
        raise KeyError(f"{self.name} has the roles {[role.name for role in self.roles]}, not {name!r}")


class TimeStep(NamedTuple):
    """What an environment says at one moment. `discount` 0 ends value (a death); `last` ends the sequence (also a time limit)."""

    obs: Roles  # [B, N, ...]
    reward: Roles  # [B, N]
    discount: Roles  # [B, N]
    last: Array  # [B] bool
    legal: Roles  # [B, N, A] bool; None where actions are continuous
    alive: Roles  # [B, N] bool; False for an agent that has left
    state: Array  # [B, ...] what a centralised critic may see


class Transition(NamedTuple):
    """One step of experience. The `next_*` are taken before any reset; `alive` is of the moment of acting."""

    obs: Roles  # [T, B, N, ...]
    legal: Roles  # [T, B, N, A]
    state: Array  # [T, B, ...]
    actions: Roles  # [T, B, N, ...]
    extras: Mapping[str, Tree]  # what `act` wants to be remembered; a group's, by its name, while roles are mappings
    reward: Roles  # [T, B, N]
    discount: Roles  # [T, B, N]
    last: Array  # [T, B]
    alive: Roles  # [T, B, N]
    next_obs: Roles  # [T, B, N, ...]
    next_legal: Roles  # [T, B, N, A]
    next_state: Array  # [T, B, ...]


@dataclass(frozen=True)
class Env:
    """A compiled environment: a batch, pure. `step` never resets; its state's layout is its own business."""

    spec: EnvSpec
    reset: Callable[[Array], tuple[Tree, TimeStep]]  # keys [B] -> state, first time step
    step: Callable[[Tree, Mapping[str, Array]], tuple[Tree, TimeStep]]  # state, actions role -> [B, N, ...]
    render: Callable[[Tree, int], HostArray]  # state, which of the batch -> image [H, W, 3] uint8
    batch_axis: Literal[0, -1] = 0  # where the environment index stands in every array of the state


class HostEnv(Protocol):
    """A batch of anything else (numpy, Python, another process). It resets by itself where `last`."""

    spec: EnvSpec

    def reset(self, seeds: HostArray) -> TimeStep:
        """Start a batch, an environment a seed [B]."""

    def step(self, actions: Mapping[str, HostArray]) -> tuple[TimeStep, TimeStep]:
        """(what acting comes next from, what the action led to). They differ where `last`: there the first is already a new
        episode's beginning and the second the old one's end. Reward, discount and last are read from the second."""

    def render(self, b: int) -> HostArray:
        """An image [H, W, 3] uint8 of one environment of the batch."""

    def close(self) -> None: ...


class Plan(NamedTuple):
    """How an algorithm wants to be fed."""

    rollout: int  # steps an environment takes between updates
    sequences: int = 1  # training sequences that a rollout of one environment is cut into
    minibatches: int = 1  # parts into which all of a shard's sequences are divided
    updates: int = 1  # updates a rollout
    buffer: Literal["rollout", "trajectory", "flat", "item", "prioritised"] = "rollout"
    batch: int = 0  # samples an update; 0: all there is
    warmup: int = 0  # environment steps before the first update
    capacity: int = 0  # what a replay buffer keeps


class Batch(NamedTuple):
    """What a learner is given: its own seats' transitions, and the carry with which the first of them was acted."""

    transition: Transition  # arrays [T, B, N, ...]
    carry: Tree  # [B, ...]


@dataclass(frozen=True)
class Algorithm:
    """Functions of one policy and its learner, bound to a config and a role by a `make_x`. A script has no `update`."""

    name: str
    role: Role
    init: Callable[[Array], Tree]  # key -> state
    actor: Callable[[Tree], Tree]  # state -> params: all that making experience needs
    policy: Callable[[Tree], Tree]  # state -> params: all that playing needs; what a policy's folder holds
    carry: Callable[[int], Tree]  # B -> memory at an episode's first step; () when feed-forward
    act: Callable[[Tree, TimeStep, Tree, Array], tuple[Array, Tree, Tree]]  # params, timestep, carry, key -> actions, extras, carry
    greedy: Callable[[Tree, TimeStep, Tree], tuple[Array, Tree]]  # params, timestep, carry -> actions, carry
    # state, batch, key -> state, metrics, priorities or ()
    update: Callable[[Tree, Batch, Array], tuple[Tree, Mapping[str, Array], Tree]] | None = None
    value: Callable[[Tree, TimeStep, Tree], Array] | None = None  # params, timestep, carry -> [B, N]: of a moment that no act follows
    plan: Plan = field(default=Plan(rollout=1))
    stochastic: bool = True  # evaluation samples a stochastic policy, and is greedy with any other


@dataclass(frozen=True)
class Buffer:
    """Where experience waits for its learner."""

    init: Callable[[Batch], Tree]  # an example -> state
    add: Callable[[Tree, Batch], Tree]
    can_sample: Callable[[Tree], Array]
    sample: Callable[[Tree, Array], tuple[Batch, Array, Array]]  # state, key -> batch, indices, weights
    reprioritise: Callable[[Tree, Array, Array], Tree]  # state, indices, priorities
    retain: Callable[[Tree], Tree]  # what stays when a rollout's updates are done: () on policy


class Group(NamedTuple):
    """Some seats of a role and who sits there: the trainee, a frozen policy, or a script."""

    name: str
    algorithm: Algorithm
    trains: bool = False
    greedy: bool = False

    @property
    def role(self) -> Role:
        return self.algorithm.role


LineUp = tuple[Group, ...]  # the static part of who plays; every seat of every role is in exactly one group


class Players(NamedTuple):
    """The dynamic part of who plays, a group an entry: its parameters [K, ...] and the odds [K] with which each is drawn."""

    params: tuple[Tree, ...]
    odds: tuple[Array, ...]


@dataclass(frozen=True)
class Policy:
    """Something that can play a role: an algorithm's functions, the parameters, and the name that is their hash."""

    name: str
    algorithm: Algorithm
    params: Tree
    spec: Mapping[str, Any] = field(default_factory=dict)  # as in its folder's spec.json
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def player(self, seed: int = 0, greedy: bool | None = None) -> Player:
        """Somebody who acts by this policy, by hand: `player.act(obs, legal=None)`."""
        from agonist.policies import Player

        return Player(self, seed, greedy)


def option(
    default: Any,
    help: str,
    *,
    unit: str = "",
    traced: bool = False,
    acts: bool = False,
    source: str = "",
    choices: tuple[Any, ...] = (),
    span: tuple[float | None, float | None] | None = None,
    code: bool = False,
) -> Any:
    """A configuration's field. `traced`: a number that is data in the compiled program, so changing it compiles nothing. `acts`: it
    shapes how the policy plays, so a policy's folder tells it. `span`: the least and the greatest value. `code`: beside the choices it
    may name own code, `./file.py:function`."""
    meta = {"help": help, "unit": unit, "traced": traced, "acts": acts, "source": source, "choices": choices, "span": span, "code": code}
    return field(default=default, metadata=meta)

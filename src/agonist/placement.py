"""Where arrays lie: a run's shards on the devices of this process, or on those of several hosts.

`layout(shards)` -> `Layout`. On one host `put` is all there is to it. On several, host 0 alone trains in the sense of `training`;
the others hold their part of each run's state and make each call of the compiled program that host 0 makes (`shared`), so that it
needs nothing of them but their devices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from agonist.checkpoints import decode_tensors, encode_tensors
from agonist.devices import wanted as wanted_here
from agonist.hosts import company
from agonist.trees import flatten, unflatten
from agonist.types import Array, Players, Tree

WHOLE = PartitionSpec()
SPLIT = PartitionSpec("devices")


class Layout(NamedTuple):
    """Where the shards lie: `local` of them on each of `devices`."""

    devices: tuple[Any, ...]
    local: int

    @property
    def axes(self) -> tuple[str, ...]:
        """The mapped axes over which a learner averages."""
        return ("devices",) * (len(self.devices) > 1) + ("shards",) * (self.local > 1)

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.asarray(self.devices), ("devices",))


def layout(shards: int, devices: tuple[Any, ...] | None = None, wanted: int | None = None) -> Layout:
    """As many devices as divide the shards, equally many of each host; or as many of each as are `wanted`."""
    by_host: dict[int, list[Any]] = {}
    for device in jax.devices() if devices is None else devices:
        by_host.setdefault(getattr(device, "process_index", 0), []).append(device)
    hosts, most = len(by_host), min(map(len, by_host.values()))
    if shards % hosts:
        raise ValueError(
            f"shards={shards} cannot lie on {hosts} hosts: set shards to a multiple of {hosts} (it is a key: results depend on it)"
        )
    divides = [n for n in range(1, most + 1) if shards % (hosts * n) == 0]
    wanted = wanted or wanted_here()
    if wanted is not None and wanted not in divides:
        raise ValueError(_refused(wanted, shards, hosts, most, divides))
    used = wanted or divides[-1]
    return Layout(tuple(device for held in by_host.values() for device in held[:used]), shards // (hosts * used))


def _refused(wanted: int, shards: int, hosts: int, most: int, divides: list[int]) -> str:
    ask = " or ".join(map(str, divides))
    if wanted > most:
        return f"--devices {wanted} asks for more than there are, which is {most}{' on a host' * (hosts > 1)}: ask for {ask}"
    each = f"{hosts} hosts x {wanted} devices do" if hosts > 1 else f"--devices {wanted} does"
    return (
        f"{each} not divide shards={shards}: ask for {ask}, or set shards to a multiple of {hosts * wanted} (a key: results depend on it)"
    )


def put(tree: Tree, mesh: Mesh, spec: PartitionSpec) -> Tree:
    """Everything where it belongs: an argument that lies elsewhere would compile the program again."""
    sharding = NamedSharding(mesh, spec)
    return jax.device_put(tree, sharding) if jax.process_count() == 1 else jax.tree.map(lambda leaf: _spread(leaf, sharding), tree)


def _spread(leaf: Any, sharding: NamedSharding) -> Array:
    """This host's part of an array that all hosts know."""
    if isinstance(leaf, jax.Array) and leaf.sharding == sharding:
        return leaf
    parts = [jax.device_put(leaf[index], device) for device, index in sharding.addressable_devices_indices_map(leaf.shape).items()]
    return jax.make_array_from_single_device_arrays(leaf.shape, sharding, parts)


# several hosts


class Follow(NamedTuple):
    number: int  # of the program, on all hosts
    order: Callable[[company.Order, Players], None]


Run = Callable[..., tuple[Tree, Tree, Tree]]  # state, frozen, seed, counts, given -> state, metrics, episodes
Call = Callable[..., tuple[Tree, Tree, Tree, Tree]]  # slot and the same -> the same, and the state as it may be read here


_numbers = itertools.count()
_taken: set[int] = set()


@contextmanager
def slot() -> Iterator[int]:
    """A place for a run's state on all hosts, while it trains."""
    free = next(n for n in itertools.count() if n not in _taken)
    _taken.add(free)
    try:
        yield free
    finally:
        _taken.remove(free)


def shared(run: Run, place: Callable[[Tree], Tree], like: Callable[[Players], tuple[Tree, Tree]], mesh: Mesh) -> tuple[Call, Follow | None]:
    """`run`, so that on several hosts all of them run it. `like`: frozen players -> shapes of a state, and of policies to be given."""
    if jax.process_count() == 1:
        return lambda n, *args: (*(out := run(*args)), out[0]), None
    held: dict[int, tuple[Tree, Tree, Tree]] = {}  # slot -> state, frozen, seed
    number = next(_numbers)
    everywhere = jax.jit(lambda tree: tree, out_shardings=NamedSharding(mesh, WHOLE))

    def work(n: int, counts: tuple[int, ...], frozen: Players, new: bytes, given: bytes) -> Any:
        if new:
            state, frozen, seed = _unpacked(new, (like(frozen)[0], frozen, jax.random.key(0)))
            held[n] = place(state), *put((frozen, seed), mesh, WHOLE)
        policies = _unpacked(given, like(frozen)[1]) if given else None
        state, frozen, seed = held[n]
        state, told, episodes = run(state, frozen, seed, counts, policies)
        held[n] = state, frozen, seed
        return state, *jax.tree.map(lambda leaf: leaf.addressable_data(0), everywhere((told, episodes, state)))

    def call(n: int, state: Tree, frozen: Players, seed: Array, counts: tuple[int, int, int], given: Tree | None) -> Any:
        known = n in held and held[n][0] is state
        new = b"" if known else _packed((state, frozen, seed))
        blobs = new, b"" if given is None else _packed(given)
        with company.losing():
            company.tell(company.CALL, (number, n, *counts), *blobs)
            return work(n, counts, frozen, *blobs)

    def follow(order: company.Order, frozen: Players) -> None:
        _, n, *counts = order.numbers
        with company.losing():
            work(n, tuple(counts), frozen, *order.blobs)

    return call, Follow(number, follow)


def _packed(tree: Tree) -> bytes:
    return encode_tensors(flatten(tree))


def _unpacked(data: bytes, like: Tree) -> Tree:
    return unflatten(like, decode_tensors(data), "what host 0 shares")

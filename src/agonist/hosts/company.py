"""What host 0 tells the others while they train together: orders, each a few numbers and up to two blobs of bytes.

`tell(numbers, *blobs)` on host 0 is what `hear()` gives on the others, through jax's own broadcast: bytes arrive as they were, and
nothing is unpickled. jax is imported when used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

ASSEMBLE, CALL = range(2)  # what an order is for
NUMBERS, BLOBS = 5, 2
MOST = 2**31 - 1  # bytes of a blob
STATUS = re.compile("[A-Z_]+: ")  # how what jax's runtime says begins; some of it comes as a ValueError


class Lost(RuntimeError):
    """Another host is gone, or what it ran; who it was, the processes that watch over the hosts know."""


class Order(NamedTuple):
    what: int
    numbers: tuple[int, ...]
    blobs: tuple[bytes, ...]


def tell(what: int, numbers: Sequence[int] = (), *blobs: bytes) -> None:
    """On host 0: let all others hear it."""
    for blob in blobs:
        if len(blob) > MOST:
            raise ValueError(f"several hosts share a state of {MOST:,} bytes at most, this one has {len(blob):,}")
    padded = [*numbers, *[0] * (NUMBERS - len(numbers))]
    sizes = [*map(len, blobs), *[0] * (BLOBS - len(blobs))]
    _broadcast([what, *padded, *sizes])
    for blob in blobs:
        _blob(blob, len(blob))


def hear() -> Order:
    """On the others: the next order."""
    what, *numbers = _broadcast([0] * (1 + NUMBERS + BLOBS))
    return Order(what, tuple(numbers[:NUMBERS]), tuple(_blob(b"", size) for size in numbers[NUMBERS:]))


def _broadcast(numbers: list[int]) -> list[int]:
    import numpy as np
    from jax.experimental import multihost_utils

    with losing():
        return [int(number) for number in multihost_utils.broadcast_one_to_all(np.asarray(numbers, np.int32))]


def _blob(blob: bytes, size: int) -> bytes:
    """As bytes, since a broadcast is a sum over the hosts, which keeps no negative zero."""
    import numpy as np
    from jax.experimental import multihost_utils

    if not size:
        return b""
    with losing():
        data = np.frombuffer(blob, np.uint8) if blob else np.zeros(size, np.uint8)
        return bytes(np.asarray(multihost_utils.broadcast_one_to_all(data)))


@contextmanager
def losing() -> Iterator[None]:
    """What jax says when another host goes away, said as what it means."""
    import jax

    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if jax.process_count() == 1 or not STATUS.match(str(error)):
            raise
        raise Lost(f"another host is gone: {str(error).partition(chr(10))[0]}") from None

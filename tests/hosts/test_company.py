"""Orders: what host 0 tells is what the others hear. jax's broadcast is played by a list; tests/hosts/test_hosts.py has the real one."""

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils

from agonist.hosts import company


@pytest.fixture
def wire(monkeypatch):
    """On host 0 a broadcast gives what it was given; on the others what host 0 gave, whose shape they have to know."""
    sent, on_host_0 = [], [True]

    def broadcast(array):
        if on_host_0[0]:
            sent.append(array)
            return array
        assert not np.any(array), "the others bring nothing: a broadcast is a sum"
        first = sent.pop(0)
        assert (first.shape, first.dtype) == (array.shape, array.dtype)
        return first

    monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", broadcast)
    return on_host_0


def test_what_is_told_is_heard(wire):
    orders = [(company.CALL, (3, 0, 8, 5, 1), (b"state \x00\xff", b"")), (company.ASSEMBLE, (2,), (b"spec",)), (company.CALL, (), ())]
    for what, numbers, blobs in orders:
        company.tell(what, numbers, *blobs)
    wire[0] = False
    for what, numbers, blobs in orders:
        padded = numbers + (0,) * (company.NUMBERS - len(numbers)), blobs + (b"",) * (company.BLOBS - len(blobs))
        assert company.hear() == company.Order(what, *padded)


def test_what_is_too_large_is_told_nobody(wire, monkeypatch):
    monkeypatch.setattr(company, "MOST", 10)
    with pytest.raises(ValueError, match="several hosts share a state of 10 bytes at most, this one has 11"):
        company.tell(company.CALL, (), b"x" * 11)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (ValueError("UNKNOWN: Gloo all-reduce failed: Connection reset by peer"), True),
        (jax.errors.JaxRuntimeError("UNAVAILABLE: the other end\nhas gone"), True),
        (ValueError("need envs >= 1"), False),
        (KeyError("UNKNOWN: x"), False),
    ],
)
def test_a_host_that_is_gone_is_told_from_other_errors(error, lost, monkeypatch):
    for processes in (1, 2):
        monkeypatch.setattr(jax, "process_count", lambda processes=processes: processes)
        gone = lost and processes == 2
        with pytest.raises(company.Lost if gone else type(error)) as told, company.losing():
            raise error
        assert str(told.value) == (f"another host is gone: {str(error).splitlines()[0]}" if gone else str(error))

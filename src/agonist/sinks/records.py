"""What a sink is told and what it is. A plugin's sink is made of the same: a `Card` under the entry-point group `agonist.sinks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from agonist.checkpoints import PolicyContent


class Point(NamedTuple):
    """What was measured at one moment."""

    step: int
    time: float  # unix seconds
    values: Mapping[str, float]


class Evaluation(NamedTuple):
    """What evaluation episodes gave."""

    step: int
    time: float  # unix seconds
    returns: Mapping[str, Sequence[float]]  # role -> [episodes]
    length: Sequence[float]  # [episodes]
    absolute: bool  # the last one: ten times as many episodes of the best policies

    def means(self) -> dict[str, float]:
        """The absolute metric as points; {} of an ordinary evaluation, whose means are among the metrics."""
        if not self.absolute:
            return {}
        alone = len(self.returns) == 1
        return {"absolute/return" if alone else f"absolute/return/{role}": fmean(values) for role, values in self.returns.items() if values}


class Past(NamedTuple):
    points: Sequence[Point] = ()
    evaluations: Sequence[Evaluation] = ()


class Beginning(NamedTuple):
    """The run that begins, or goes on."""

    run: str  # its id
    spec: Mapping[str, Any]  # flat keys
    store: str = ""  # URL
    folder: str = ""  # of the run in the store
    step: int = 0  # at which it is taken up
    title: str = ""  # for people
    label: str = ""  # what sets it apart within its sweep, the seed left out, such as lr=0.001
    role: str = ""  # whose return is eval/return; else the first that an evaluation names
    seconds: float = 0.0  # spent on it by earlier processes
    time: float = 0.0  # unix seconds of now: `open_sinks` says it
    past: Callable[[], Past] | None = None  # what it measured up to that step, where it goes on; the sinks that own a file write it anew
    log: Callable[[str], None] | None = None  # into the run's own log; called from the training thread alone


class Ending(NamedTuple):
    status: str  # finished, interrupted, failed
    final: Mapping[str, Any]  # as in summary.json
    policies: Mapping[str, PolicyContent]  # role -> the best policy


class SinkError(RuntimeError):
    """What a sink says of itself in a sentence."""


LONGEST = 300  # characters


def said(error: BaseException) -> str:
    """An error on one line."""
    text = " ".join(str(error).split())
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return text if isinstance(error, SinkError) else f"{type(error).__name__}{': ' * bool(text)}{text}"


def _nothing(*_: Any) -> None: ...


class Sink(NamedTuple):
    """What is done with what is told. All are called from the sink's own thread, in order; any may raise, which ends the sink.

    `flush` is called about once a second while there is something new, and less often where it takes long."""

    metrics: Callable[[int, float, Mapping[str, float]], None] = _nothing  # step, unix seconds, name -> value
    evaluation: Callable[[Evaluation], None] = _nothing
    flush: Callable[[], Any] = _nothing
    close: Callable[[Ending], None] = _nothing
    abandon: Callable[[], None] = _nothing  # time is up: called from another thread, whatever the others are at


@dataclass(frozen=True)
class Card:
    """What is known of a sink without importing it."""

    open: str  # "module:function" of (beginning, config) -> Sink
    about: str
    needs: str = ""  # a package that must be installed
    install: str = ""  # how to install it
    apart: bool = False  # works in a process of its own, which can be ended however it hangs

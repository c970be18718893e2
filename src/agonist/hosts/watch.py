"""The process that watches over one host's training, without jax: it is not held up by what jax waits for, and can say what happened.

`supervise(job, say)` -> exit code. Host 0 listens at the coordinator's address; each other host's watcher links up and says who it is
(`roll`). When all are there and agree, each begins the process that trains (`member`), and jax's own runtime joins those. Every
watcher says a word a second. When a process ends, a link breaks or a host is silent, host 0 gives its verdict, and where host 0 itself
is gone each gives its own: everybody's process is ended, with one exit code and one sentence.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from agonist.hosts import link, roll
from agonist.hosts.detect import address
from agonist.hosts.member import LOST, VARIABLE, Member
from agonist.hosts.roll import BEAT, Ended, Events, Job, Peer, Signalled, Verdict, next_of

SILENT = 8.0  # seconds without a word after which a host is gone
GRACE = 1.5  # seconds in which the host that began it may still be heard of
HEARING = 1.0  # seconds in which all others will have heard how it ended
WRITING = 2.0  # seconds that host 0's process has to write that its run was cut short
STOPPING = "stopping all hosts after this chunk; Ctrl-C again stops at once"
AT_ONCE = "stopped at once"

Say = Callable[[str], None]


def supervise(job: Job, say: Say, events: Events | None = None) -> int:
    """One host's part of a run on several hosts, from the first word to the last. `events` may bring `Signalled` in a signal's place."""
    events = Events() if events is None else events
    with _signals(events):
        verdict = _lead(job, events, say) if job.company.host == 0 else _help(job, events, say)
    if verdict.why:
        say(verdict.why)
    return verdict.code


# host 0


def _lead(job: Job, events: Events, say: Say) -> Verdict:
    """Call the roll, begin, watch, and tell all how it ended."""
    host, port = address(job.company.coordinator)
    peers: dict[int, Peer] = {}
    try:
        with link.listen(host, port, job.wait) as server:
            verdict = roll.call(server, job, peers, events)
        jax = f"{f'[{host}]' if ':' in host else host}:{link.free_port(host)}"
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        return Verdict(1, f"cannot listen at {job.company.coordinator}: {why}; it has to be host 0's own address and a free port")
    if verdict is None:
        for peer in peers.values():
            link.send(peer.link, {"start": jax, "shards": job.shards})
        with _trainer(job, jax, job.shards, events) as trainer:
            verdict = _watch_all(job, peers, trainer, events, say)
            _tell(peers, verdict)
            if verdict.why and verdict.why != AT_ONCE:
                with suppress(subprocess.TimeoutExpired):
                    trainer.process.wait(WRITING)
    else:
        _tell(peers, verdict)
    _heard(peers, events)
    return verdict


def _tell(peers: Mapping[int, Peer], verdict: Verdict) -> None:
    own = {0: "", 130: "stopped; host 0 has saved the run"}
    why = verdict.why or own.get(verdict.code, f"host 0 ended with exit code {verdict.code}; its own words say why")
    for peer in peers.values():
        link.send(peer.link, {"end": verdict.code, "why": why})


def _heard(peers: Mapping[int, Peer], events: Events) -> None:
    """They hang up when they have heard how it ended; who hangs up first may lose what was said last."""
    open_links, until = {peer.link for peer in peers.values()}, time.monotonic() + HEARING
    while open_links and time.monotonic() < until:
        event = next_of(events, until - time.monotonic())
        if isinstance(event, link.Line) and event.message is None:
            open_links.discard(event.link)


def _watch_all(job: Job, peers: Mapping[int, Peer], trainer: Trainer, events: Events, say: Say) -> Verdict:
    """Until the work ends or something happens to it. `blamed`: what a host's process ended of may be another host's end."""
    heard, beaten, asked = dict.fromkeys(peers, time.monotonic()), 0.0, 0
    blamed: tuple[float, str] | None = None
    while True:
        event, now = next_of(events, BEAT / 2), time.monotonic()
        if now - beaten >= BEAT:
            beaten = now
            for peer in peers.values():
                link.send(peer.link, {"beat": trainer.run()})
        cause: Cause | None = None
        if isinstance(event, Signalled):
            asked += 1
            if asked > 1:
                return Verdict(130, AT_ONCE)
            say(STOPPING)
            trainer.stop()
        elif isinstance(event, Ended):
            if event.code >= 0 and event.code != LOST:
                return Verdict(event.code)
            cause = Cause(0, _how(event.code), _is_sequel(event.code))
        elif isinstance(event, link.Line):
            k = next((k for k, peer in peers.items() if peer.link is event.link), None)
            if k is not None:
                heard[k] = now
                verdict, cause = _of_peer(k, event.message, trainer)
                if verdict:
                    return verdict
        silent = next((k for k, last in heard.items() if now - last > SILENT), None)
        if silent is not None:
            cause = Cause(silent, f"it has said nothing for {SILENT:g} s", False)
        if cause:
            name = f"host {cause.host}" + (f" ({peers[cause.host].name})" if cause.host else "")
            blamed = blamed or (now + GRACE, f"{name} is gone: {cause.how}")
            if not cause.sequel:
                return Verdict(1, f"{name} is gone: {cause.how}. {_go_on(job, trainer.run())}")
        if blamed and now > blamed[0]:
            return Verdict(1, f"{blamed[1]}. {_go_on(job, trainer.run())}")


class Cause(NamedTuple):
    """Why all have to end. A sequel: what looks like the consequence of another host's end."""

    host: int
    how: str
    sequel: bool


def _of_peer(k: int, message: Mapping[str, Any] | None, trainer: Trainer) -> tuple[Verdict | None, Cause | None]:
    if message is None:
        return None, Cause(k, "its link broke; it was killed, or its network cut", False)
    if link.number(message, "stop", 1, 1):
        trainer.stop()
    elif link.number(message, "stop", 2, 2):
        return Verdict(130, AT_ONCE), None
    code = link.number(message, "ended", -255, 255)
    return None, None if code is None else Cause(k, _how(code), _is_sequel(code))


def _how(code: int) -> str:
    if code == LOST:
        return "it could reach another host no more"
    if code < 0:
        with suppress(ValueError):
            return f"its training process was ended by {signal.Signals(-code).name}{', as when memory runs out' * (code == -9)}"
    return f"its training process ended with exit code {code}; its own words say why"


def _is_sequel(code: int) -> bool:
    return code in (LOST, -signal.SIGABRT)  # jax's runtime aborts when its service is gone


def _go_on(job: Job, run: str) -> str:
    if not run:
        return "All hosts have stopped before a run was begun"
    return f"All hosts have stopped; on each, this goes on from the last checkpoint: agonist train --resume {run} {job.go_on}"


# the other hosts


def _help(job: Job, events: Events, say: Say) -> Verdict:
    """Link up, and do as host 0 says."""
    where = job.company.coordinator
    asked: list[Any] = []

    def stopped() -> bool:
        if isinstance(event := next_of(events, 0), Signalled):
            asked.append(event)
        return bool(asked)

    host0 = link.connect(*address(where), job.wait, stopped)
    if host0 is None:
        sentence = f"nobody answers at {where} after {job.wait:g} s: start host 0 there, or allow more time with --wait"
        return Verdict(130, "stopped before training began") if asked else Verdict(1, sentence)
    link.read_into(events, host0)
    try:
        link.send(host0, roll.hello(job))
        told = _started(job, host0, events)
        if isinstance(told, Verdict):
            return told
        say(f"host {job.company.host} of {job.company.hosts} helps host 0 at {where}, which writes the run")
        with _trainer(job, *told, events) as trainer:
            return _watch_host0(job, host0, trainer, events, say)
    finally:
        link.hang_up(host0)


def _started(job: Job, host0: Any, events: Events) -> tuple[str, int] | Verdict:
    """Where jax meets and how many shards there are, when all have come."""
    heard, where = time.monotonic(), job.company.coordinator
    while time.monotonic() - heard < SILENT:
        event = next_of(events, BEAT)
        if isinstance(event, Signalled):
            link.send(host0, {"stop": 1})
            return Verdict(130, "stopped before training began")
        if not isinstance(event, link.Line):
            continue
        if event.message is None:
            return Verdict(1, f"what answers at {where} has hung up before training began: was host 0 stopped, or is it another program?")
        heard = time.monotonic()
        if "end" in event.message:
            return _told(event.message)
        jax, shards = link.text(event.message, "start"), link.number(event.message, "shards", 1, 1 << 16)
        if jax and shards:
            return jax, shards
    return Verdict(1, f"what answers at {where} says nothing that host 0 would say: is it another program?")


def _told(message: Mapping[str, Any]) -> Verdict:
    code = link.number(message, "end", 0, 255)
    return Verdict(1 if code is None else code, link.text(message, "why", 2000))


def _watch_host0(job: Job, host0: Any, trainer: Trainer, events: Events, say: Say) -> Verdict:
    """Until host 0 says how it ended, or is gone."""
    heard, beaten, asked, run = time.monotonic(), 0.0, 0, ""
    ended: float | None = None  # when this host's process did
    while True:
        event, now = next_of(events, BEAT / 2), time.monotonic()
        if now - beaten >= BEAT:
            beaten = now
            link.send(host0, {"beat": 1})
        if isinstance(event, Signalled):
            asked += 1
            link.send(host0, {"stop": min(asked, 2)})
            say(STOPPING if asked == 1 else AT_ONCE)
        elif isinstance(event, Ended):
            ended = now
            link.send(host0, {"ended": event.code})
        elif isinstance(event, link.Line) and event.message is not None:
            heard = now
            run = link.text(event.message, "beat", 100) or run
            if "end" in event.message:
                return _told(event.message)
        elif isinstance(event, link.Line):
            return Verdict(1, f"host 0 is gone: its link broke; it was killed, or its network cut. {_go_on(job, run)}")
        if now - heard > SILENT:
            return Verdict(1, f"host 0 is gone: it has said nothing for {SILENT:g} s. {_go_on(job, run)}")
        if ended and now - ended > 2 * SILENT:
            return Verdict(1, f"this host's training process has ended, and host 0 does not say what follows. {_go_on(job, run)}")


# the process that trains


class Trainer(NamedTuple):
    process: subprocess.Popen[bytes]
    note: Path

    def stop(self) -> None:
        """Ask it to, after the chunk that is under way."""
        with suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.write(b"stop\n")
            self.process.stdin.flush()

    def run(self) -> str:
        """The run that it trains; nothing before it is begun."""
        try:
            return self.note.read_text(encoding="utf8")
        except OSError:
            return ""


@contextmanager
def _trainer(job: Job, jax: str, shards: int, events: Events) -> Iterator[Trainer]:
    """It does not outlive us: its standard input closes when we are gone, whatever ended us."""
    with tempfile.TemporaryDirectory(prefix="agonist-") as folder:
        note = Path(folder) / "run"
        member = Member(job.company.host, job.company.hosts, jax, shards, job.wait, str(note))
        environ = {**os.environ, VARIABLE: json.dumps(member._asdict())}
        own_group: Any = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}  # Ctrl-C is for us to tell
        process = subprocess.Popen(job.command, env=environ, stdin=subprocess.PIPE, **own_group)
        threading.Thread(target=lambda: events.put(Ended(process.wait())), daemon=True).start()
        try:
            yield Trainer(process, note)
        finally:
            process.kill()
            process.wait()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]


@contextmanager
def _signals(events: Events) -> Iterator[None]:
    def told(number: int, frame: Any) -> None:
        events.put(Signalled(number))

    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM) if here}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

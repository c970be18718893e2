"""A sink in a process of its own: what a service's package does (hang, print, wait at exit, die) stays there, and it can be killed.

The parent writes JSON lines: first how to begin, then a call a line. The child answers only where it fails: one sentence on its stdout.
It ignores Ctrl-C, which is meant for training, and ends when its stdin does, so a training that is killed leaves nobody behind.

    python -m agonist.sinks.apart
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from agonist.checkpoints import plain
from agonist.options import fill
from agonist.sinks.config import LogConfig
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink, SinkError, said

ORPHANED = 60.0  # seconds that a child may still take once its training has gone


def open_apart(path: str, beginning: Beginning, config: LogConfig) -> Sink:
    """`path` ("module:function") opened in a child. What it prints goes nowhere but into the sentence of its failure."""
    printed = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the child
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "agonist.sinks.apart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=printed,
        start_new_session=os.name != "nt",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert child.stdin
    pipe = child.stdin

    def send(*message: Any) -> None:
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except OSError:
            finish()
            raise

    def finish() -> None:
        """Wait for its end, and say what it said."""
        with suppress(OSError):
            pipe.close()
        assert child.stdout
        sentence = child.stdout.read().decode(errors="replace").strip()
        if child.wait() or sentence:
            printed.seek(0)
            last = printed.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise SinkError(sentence or last or f"its process ended with {child.returncode}")

    def close(ending: Ending) -> None:
        send("close", ending.status, plain(ending.final, nan="null"), {role: content.name for role, content in ending.policies.items()})
        finish()

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        send("metrics", step, moment, dict(values))

    send(path, plain(beginning._replace(log=None, past=None)._asdict(), nan="null"), asdict(config))
    return Sink(metrics, lambda found: send("evaluation", found._asdict()), lambda: send("flush"), close, lambda: kill(child))


def kill(child: subprocess.Popen[bytes]) -> None:
    """With whatever it started."""
    with suppress(OSError):
        if os.name == "nt":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)


# in the child


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)  # what a package prints is no answer
    try:
        serve(sys.stdin.buffer)
    except BaseException as error:  # whatever the package does
        answers.write(said(error) + "\n")
        answers.flush()
        return 1
    return 0


def serve(lines: Any) -> None:
    from agonist.sinks.lanes import opened

    path, beginning, config = json.loads(next(lines))
    sink = opened(path, Beginning(**beginning), fill(LogConfig, config, "sinks"))
    ending = Ending("killed", {}, {})
    for line in lines:
        kind, *what = json.loads(line)
        if kind == "close":
            ending = Ending(*what)
            break
        if kind == "evaluation":
            what = [Evaluation(**what[0])]
        getattr(sink, kind)(*what)
    else:
        late = threading.Timer(ORPHANED, os._exit, [1])
        late.daemon = True
        late.start()
    sink.close(ending)


if __name__ == "__main__":
    sys.exit(main())

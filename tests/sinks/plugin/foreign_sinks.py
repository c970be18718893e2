"""Sinks as plugins would bring them, for the tests; also opened in processes of their own."""

import os
import sys
import time
from pathlib import Path

from agonist.sinks import Sink

SEEN = []


def open_it(beginning, config):
    SEEN.append((beginning, config))
    return Sink(close=SEEN.append)


def open_writer(beginning, config):
    """Writes every call into BASE/calls, and prints as packages do."""
    base = Path(config.base_exp_path)
    base.mkdir(parents=True, exist_ok=True)
    file = open(base / "calls", "w")  # noqa: SIM115
    print("a package says something")

    def write(*what):
        print(*what, file=file, flush=True)

    write("pid", os.getpid())
    return Sink(
        lambda step, moment, values: write("metrics", step, values),
        lambda found: write("evaluation", found.step, found.returns, found.absolute),
        close=lambda ending: write("close", ending.status, ending.final),
    )


def open_hanging(beginning, config):
    sink = open_writer(beginning, config)

    def hang(*_):
        time.sleep(600)

    return sink._replace(close=hang)


def open_raising(beginning, config):
    def fail(*_):
        raise RuntimeError("no such project\nand more")

    return Sink(metrics=fail)


def open_dying(beginning, config):
    print("the last words", file=sys.stderr, flush=True)
    os._exit(7)

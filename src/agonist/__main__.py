"""`python -m agonist` is `agonist`. Ctrl-C ends it without a trace, also while the command line is still being imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

STOPPED = 130


def start() -> NoReturn:
    """Run the command and end the process. While modules load, Ctrl-C raises nothing that one of them could catch or print."""
    asked = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else whoever started this wants it ignored
    if asked:
        signal.signal(signal.SIGINT, _stop)
    from agonist.cli import main
    from agonist.hosts import leave

    try:
        if asked:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        leave(main())
    except KeyboardInterrupt:
        _stop(signal.SIGINT, None)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"agonist: stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    start()

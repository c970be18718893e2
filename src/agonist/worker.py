"""`python -m agonist.worker`: one process of a sweep (`agonist.sweeps.side_by_side`).

stdin: its order as a JSON line; then `stop`, or the end, which is that of whoever gave the order. stdout: JSON lines of progress, and of
what went wrong. Whatever a program prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

from agonist import devices

STOPPED = 130


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(STOPPED))  # nothing has begun: there is nothing to save
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_listen, daemon=True).start()
    out = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)  # also what is printed below Python

    def tell(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=out, flush=True)

    devices.prepare(order["shards"])
    from agonist.sweeps.side_by_side import problem_of
    from agonist.training import Interrupted

    try:
        _train(order, tell)
    except Interrupted:
        return STOPPED
    except Exception as error:
        traceback.print_exc()  # into the sweep's log
        tell({"problem": problem_of(error)})
    return 0


def _train(order: dict[str, Any], tell: Any) -> None:
    from agonist import training
    from agonist.runs import open_store
    from agonist.sweeps.report import plan_in
    from agonist.sweeps.work import jobs_of

    store = open_store(order["store"])
    plan = plan_in(store, order["sweep"])
    jobs = jobs_of(plan, [plan.trials[number] for number in order["trials"]], order["sweep"], order["steps"])
    for ended in training.train(store, jobs, training.Watch(None, lambda progress: tell(progress._asdict()))):
        if ended.error:
            tell({"log": str(ended.error)})


def _listen() -> None:
    """`stop`: after the chunk under way. The end of stdin: whoever gave the order is gone, and a run survives its writer's end."""
    for line in sys.stdin:
        if line.strip() == "stop":
            signal.raise_signal(signal.SIGTERM)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())

"""What the machine says about hosts: Slurm's and Kubernetes' variables, and our own.

    AGONIST_COORDINATOR, AGONIST_HOSTS, AGONIST_HOST    in place of --coordinator, --hosts, --host
    JOB_COMPLETION_INDEX                                of an indexed Kubernetes Job, in place of AGONIST_HOST
    SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST, SLURM_PROCID, SLURM_JOB_ID, SLURM_STEP_ID    of a step that srun began

Slurm's are believed only when `--hosts auto` asks for it: a step of several tasks may as well be several runs.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

FIRST_PORT, PORTS = 20_000, 12_000  # below those that systems give out by themselves
MOST = 4096  # hosts
MARK = re.compile(r"[^,\[\]]+(?:\[[^\[\]]*\][^,\[\]]*)*")


class Company(NamedTuple):
    """Which of how many hosts this one is, and where host 0 listens."""

    coordinator: str
    hosts: int
    host: int
    says: str = "--hosts"  # where it is written


def asked(coordinator: str | None, hosts: str | None, host: int | None, environ: Mapping[str, str] = os.environ) -> Company | None:
    """From the options and, where they say nothing, the environment; None for a single host."""
    hosts = hosts or environ.get("AGONIST_HOSTS") or None
    if hosts is None:
        for name, value in (("--coordinator", coordinator), ("--host", host)):
            if value is not None:
                raise ValueError(f"{name} is for several hosts: say how many with --hosts, as in --hosts 2")
        return None
    if hosts == "auto":
        found = detected(environ)
        if found is None:
            raise ValueError("--hosts auto finds no step of Slurm's here (srun sets SLURM_STEP_NUM_TASKS); write --hosts N --host K")
        return None if found.hosts == 1 else found._replace(coordinator=coordinator or found.coordinator)
    count = _number(hosts, "--hosts", 1, MOST)
    if count == 1:
        return None
    where = coordinator or environ.get("AGONIST_COORDINATOR")
    if not where:
        raise ValueError("several hosts need --coordinator HOST:PORT (or AGONIST_COORDINATOR): where host 0 listens")
    mine = host if host is not None else environ.get("AGONIST_HOST") or environ.get("JOB_COMPLETION_INDEX")
    if mine is None:
        raise ValueError(f"which of the {count} hosts is this one? Say --host K (or AGONIST_HOST), from 0 to {count - 1}")
    return Company(where, count, _number(str(mine), "--host", 0, count - 1))


def address(text: str) -> tuple[str, int]:
    """`node1:4567` or `[fe80::1]:4567`."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise ValueError(f"--coordinator is HOST:PORT, as in node1:4567, got {text!r}")
    return host, int(port)


def _number(text: str, what: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise ValueError(f"{what} needs a whole number from {least} to {most}{' or auto' * (what == '--hosts')}, got {text!r}")
    return int(text)


def detected(environ: Mapping[str, str] = os.environ) -> Company | None:
    """What the scheduler says of this process; None where it says nothing (or nothing whole) about hosts."""
    try:
        return _slurm(environ) or _kubernetes(environ)
    except (KeyError, ValueError):
        return None


def _slurm(environ: Mapping[str, str]) -> Company | None:
    """A step's tasks. What sbatch sets for its script (SLURM_NTASKS) says how many could be begun, not that they were."""
    if "SLURM_STEP_NUM_TASKS" not in environ:
        return None
    tasks = _number(environ["SLURM_STEP_NUM_TASKS"], "SLURM_STEP_NUM_TASKS", 1, MOST)
    host = _number(environ["SLURM_PROCID"], "SLURM_PROCID", 0, tasks - 1)
    first = next(nodes(environ.get("SLURM_STEP_NODELIST") or environ["SLURM_JOB_NODELIST"]))
    job, step = int(environ["SLURM_JOB_ID"]), int(environ.get("SLURM_STEP_ID", 0))
    return Company(f"{first}:{FIRST_PORT + (31 * job + step) % PORTS}", tasks, host, "Slurm")


def _kubernetes(environ: Mapping[str, str]) -> Company | None:
    """An indexed Job's pods, which the manifest has told how many they are and where the first is found."""
    if "JOB_COMPLETION_INDEX" not in environ or not environ.get("AGONIST_COORDINATOR"):
        return None
    hosts = _number(environ["AGONIST_HOSTS"], "AGONIST_HOSTS", 1, MOST)
    return Company(environ["AGONIST_COORDINATOR"], hosts, int(environ["JOB_COMPLETION_INDEX"]), "Kubernetes")


def nodes(text: str) -> Iterator[str]:
    """Slurm's list of nodes: `gpu[01-03,07],login1` -> gpu01, gpu02, gpu03, gpu07, login1."""
    for word in MARK.findall(text):
        parts = re.split(r"\[([^\]]*)\]", word)
        choices = [list(_range(part)) if i % 2 else [part] for i, part in enumerate(parts)]
        yield from map("".join, itertools.product(*choices))


def _range(text: str) -> Iterator[str]:
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise ValueError(f"{text!r} is no list of numbers")
        for number in range(int(low), int(high or low) + 1):
            yield str(number).zfill(len(low))

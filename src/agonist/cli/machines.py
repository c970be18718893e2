"""The options by which training takes several devices and several hosts, and what has to happen before jax starts.

`ready(...)` returns in the process that trains: on one host that is this one. On several hosts this one watches over a process of its
own that trains (`agonist.hosts`), and `ready` ends it with what came of the whole; and in the processes that help host 0, it follows
host 0's orders to the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from agonist import devices, hosts
from agonist.cli import output

if TYPE_CHECKING:
    from agonist.hosts.roll import Job

PANEL = "Several devices and hosts"
Devices = Annotated[
    int | None,
    typer.Option("--devices", metavar="N", min=1, help="Devices of this host (else all that divide the shards).", rich_help_panel=PANEL),
]
Coordinator = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where host 0 listens, the same on all hosts.", rich_help_panel=PANEL)
]
Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="N|auto", help="How many hosts train one run; auto asks Slurm.", rich_help_panel=PANEL)
]
Host = Annotated[
    int | None, typer.Option("--host", metavar="K", min=0, help="Which of them this is; host 0 writes the run.", rich_help_panel=PANEL)
]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=1, max=86400, help="Time for all hosts to come.", rich_help_panel=PANEL)]


class Machines(NamedTuple):
    """What the options say."""

    devices: int | None
    company: hosts.Company | None  # None on a single host
    wait: float
    store: str | None

    @property
    def alone(self) -> bool:
        return self.company is None and hosts.begin() is None


def read(
    used: int | None, coordinator: str | None, count: str | None, host: int | None, wait: float, store: str | None, jobs: int | None
) -> Machines:
    company = hosts.asked(coordinator, count, host)
    if jobs is not None and jobs > 1 and (used or company):
        raise ValueError(
            f"--jobs {jobs} is for runs side by side, and {'--hosts' if company else '--devices'} for one run on all: give one"
        )
    found = hosts.detected()
    if company is None and count is None and hosts.begin() is None and found and found.hosts > 1:
        says = f"{found.says} began {found.hosts} tasks, and each trains a run of its own; --hosts auto trains one run on all of them"
        output.note(says)
    if company:
        hosts.address(company.coordinator)
    return Machines(used, company, wait, store)


def ready(machines: Machines, keys: Mapping[str, Any], shards: Callable[[], int]) -> None:
    """`keys`: what all hosts have to be told alike. `shards`: how many the run has; asked of host 0 alone, which may know its store."""
    devices.use(machines.devices)
    me = hosts.begin()
    if me is None and machines.company is None:
        devices.prepare(shards())
        return
    if me is None:
        from agonist.hosts import watch

        raise typer.Exit(watch.supervise(_job(machines, keys, shards), output.complain))
    devices.prepare(me.shards, me.hosts)
    hosts.join()
    if me.host:
        from agonist import training

        training.follow()


def _job(machines: Machines, keys: Mapping[str, Any], shards: Callable[[], int]) -> Job:
    from agonist.hosts.roll import Job

    company = machines.company
    assert company is not None
    told = {**keys, "--devices": machines.devices or "all"}
    command = [sys.executable, "-m", "agonist", *sys.argv[1:]]
    store = f"--store {machines.store} " if machines.store else ""
    auto = "--hosts auto" if company.says != "--hosts" else ""
    options = auto or f"--coordinator {company.coordinator} --hosts {company.hosts} --host K"
    return Job(company, command, told, shards() if company.host == 0 else 1, machines.wait, store + options)

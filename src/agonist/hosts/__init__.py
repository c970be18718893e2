"""One run on several hosts: who they are, the processes that watch over them, and what host 0 tells the others.

    detect    options and variables (Slurm, Kubernetes) -> which of how many this is
    watch     a small process without jax on each host: begins the training, ends it everywhere when something happens anywhere
    roll      all hosts were told the same, or none begins
    link      lines of JSON between the watchers
    member    the process that trains: how it learns what it is, and is told to stop
    company   orders from host 0 to the others, by jax's own collectives

Nothing here imports jax at its top; `watch`, `roll` and `link` are imported when a command watches.
"""

from agonist.hosts.company import Lost
from agonist.hosts.detect import Company, address, asked, detected
from agonist.hosts.member import LOST, Member, begin, join, leave, me, note, stopping

__all__ = [
    "LOST",
    "Company",
    "Lost",
    "Member",
    "address",
    "asked",
    "begin",
    "detected",
    "join",
    "leave",
    "me",
    "note",
    "stopping",
]

"""State letters of jobs and queue instances: what each means, and the order in which Grid Engine 8.1.9 writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: Of jobs. One that is suspended for several causes has the letter of each, and goes on when none is left.
JOB: Final = {
    "d": "is being deleted",
    "E": "is in error state",
    "S": "is suspended with its queue instance, for another queue, or by the owner of its machine",
    "T": "is suspended by a suspend threshold",
    "h": "is on hold",
    "R": "runs again, or is about to",
    "q": "is in the queue",
    "r": "runs",
    "s": "is suspended by a command",
    "t": "is about to run",
    "w": "waits",
    "z": "has ended",
}
#: Of queue instances. Those without a letter accept jobs.
INSTANCE: Final = {
    "a": "a load threshold is exceeded",
    "A": "a suspend threshold is exceeded",
    "C": "its calendar suspends it",
    "D": "its calendar disables it",
    "d": "a command has disabled it",
    "u": "its host does not report",
    "E": "it is in error state",
    "S": "another queue of its host suspends it",
    "s": "a command has suspended it",
    "c": "its configuration is ambiguous",
    "o": "its host has left the queue, and jobs still run there",
    "P": "jobs of other queues go first, and its host runs as many jobs as it may",
}
#: Jobs with one of these stand still.
SUSPENDED_JOB: Final = frozenset("STs")
#: Instances with one of these are suspended, disabled, or accept no jobs in a whole scheduling run.
SUSPENDED: Final = frozenset("sSC")
DISABLED: Final = frozenset("dD")
CLOSED: Final = DISABLED | SUSPENDED | frozenset("uEco")
#: Instances that `qstat -g c` counts as closed for a while, and as closed by a command or an error.
FOR_A_WHILE: Final = frozenset("aoACDS")
BY_HAND: Final = frozenset("cdsuE")
#: What `qselect -qs` takes.
SELECTABLE: Final = FOR_A_WHILE | BY_HAND
_OF_JOBS: Final = "".join(JOB)
_OF_INSTANCES: Final = "".join(INSTANCE)


def of_job(letters: Iterable[str]) -> str:
    """The state of a job: each letter once, in order."""
    return "".join(sorted(set(letters), key=_OF_JOBS.index))


def of_instance(letters: Iterable[str]) -> str:
    """The states of a queue instance, in order."""
    return "".join(sorted(letters, key=_OF_INSTANCES.index))

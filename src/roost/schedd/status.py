"""What a job is doing, as its JobStatus says it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class JobStatus(IntEnum):
    """JobStatus."""

    #: Not in the queue any more.
    GONE = 0
    IDLE = 1
    RUNNING = 2
    REMOVED = 3
    COMPLETED = 4
    HELD = 5
    TRANSFERRING_OUTPUT = 6
    SUSPENDED = 7

    @property
    def letter(self) -> str:
        """The letter of a listing."""
        return "?IRXCH>S"[self]


#: Of each number, what it means: to ask the class takes ten times as long.
STATUSES: Final = tuple(JobStatus)
#: A job in one of these is on a machine.
ON_MACHINE: Final = frozenset((JobStatus.RUNNING, JobStatus.TRANSFERRING_OUTPUT, JobStatus.SUSPENDED))
#: A job in one of these may still be on a machine, which it is to leave.
LEAVING: Final = frozenset((JobStatus.HELD, JobStatus.REMOVED))

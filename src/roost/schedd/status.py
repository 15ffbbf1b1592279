"""The status of a job, as in JobStatus."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class JobStatus(IntEnum):
    """JobStatus."""

    #: No longer in the queue.
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

    @property
    def word(self) -> str:
        """Its name as in attributes of submitters' ads: ``Idle``, ``TransferringOutput``."""
        return self.name.title().replace("_", "")


#: Number to status: calling the class takes ten times as long.
STATUSES: Final = tuple(JobStatus)
#: The job is on a machine.
ON_MACHINE: Final = frozenset((JobStatus.RUNNING, JobStatus.TRANSFERRING_OUTPUT, JobStatus.SUSPENDED))
#: The job may still be on a machine, which it has to leave.
LEAVING: Final = frozenset((JobStatus.HELD, JobStatus.REMOVED))

"""The priority of a job in a scheduling run of a Grid Engine cell, and its components."""

from __future__ import annotations

from typing import Final, NamedTuple


class Priority(NamedTuple):
    """A job's priority and its components, as `qstat -pri` and `qstat -urg` show it."""

    priority: float
    #: `qsub -p`, urgency and tickets, each from 0 to 1
    posix: float
    urgency_share: float
    ticket_share: float
    resources: float
    waiting: float
    deadline: float
    #: tickets by policy
    override: float
    functional: float
    share: float

    @property
    def urgency(self) -> float:
        """The urgency, before normalization."""
        return self.resources + self.waiting + self.deadline


#: The priority of a job that no run has seen.
NO_PRIORITY: Final = Priority(*[0.0] * len(Priority._fields))

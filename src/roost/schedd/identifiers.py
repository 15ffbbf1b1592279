"""The name of a job: ``cluster.proc``."""

from __future__ import annotations

from typing import Final, NamedTuple

#: Maximum number of digits of each number.
DIGITS_MAX: Final = 9


class JobId(NamedTuple):
    """A job of a queue; jobs sort in the order in which they were submitted.

    A tuple: queues use it as a key all the time.
    """

    #: From 1.
    cluster: int
    #: From 0.
    proc: int

    @classmethod
    def read(cls, text: str) -> JobId:
        """The job that ``12.0`` names. Raises ValueError."""
        cluster, _, proc = text.strip().partition(".")
        if not (cluster.isdecimal() and proc.isdecimal() and max(len(cluster), len(proc)) <= DIGITS_MAX):
            raise ValueError(f"{text!r} is not a job; write CLUSTER.PROC, for example 12.0")
        return cls(int(cluster), int(proc))

    def __str__(self) -> str:
        return f"{self.cluster}.{self.proc}"

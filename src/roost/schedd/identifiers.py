"""The name of a job: ``cluster.proc``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TEXT: Final = re.compile(r"(\d{1,9})\.(\d{1,9})")


class JobId(NamedTuple):
    """A job of a queue; jobs sort in the order in which they were submitted.

    A tuple: queues look jobs up by it all the time.
    """

    #: From 1.
    cluster: int
    #: From 0.
    proc: int

    @classmethod
    def read(cls, text: str) -> JobId:
        """The job that ``12.0`` names. Raises ValueError."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a job: write CLUSTER.PROC, for instance 12.0")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.cluster}.{self.proc}"

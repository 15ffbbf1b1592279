"""How many runs move files at a time: MAX_CONCURRENT_UPLOADS to machines, MAX_CONCURRENT_DOWNLOADS from them.

The names are those of the queue's side, as in HTCondor: the input of jobs is uploaded, their output downloaded. A run
gets a berth with its first request, and keeps it until its files have come or it has been silent for a while. A run
without one is told to wait, and asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: A run that asks for nothing for so long loses its berth, s: its machine is gone, or has failed.
SILENT_S: Final = 60.0


class TransferLimits:
    """The runs that move files in one direction."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        #: 0 for no limit.
        self.most = most
        self._clock = clock
        #: Run to when it was last heard of, s; the longest silent first.
        self._runs: dict[str, float] = {}

    def __contains__(self, run: str) -> bool:
        return run in self._runs

    def take(self, run: str) -> bool:
        """Whether a run may move files now; if so, it has a berth."""
        now = self._clock()
        if run not in self._runs and 0 < self.most <= len(self._runs):
            for silent in [each for each, heard in self._runs.items() if now - heard > SILENT_S]:
                del self._runs[silent]
            if len(self._runs) >= self.most:
                return False
        self._runs.pop(run, None)
        self._runs[run] = now
        return True

    def leave(self, run: str) -> None:
        """A run has moved its files."""
        self._runs.pop(run, None)

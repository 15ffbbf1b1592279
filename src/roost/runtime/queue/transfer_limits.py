"""How many runs transfer files at a time: MAX_CONCURRENT_UPLOADS to machines, MAX_CONCURRENT_DOWNLOADS from them.

The names are those of the queue's side, as in HTCondor: the input of jobs is uploaded, their output downloaded. A run
gets a transfer slot with its first request, and keeps it until its files have been transferred or it has been silent
for a while. A run without one is asked to wait, and tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: A run without requests for that long loses its transfer slot, s: its machine is gone, or has failed.
SILENT_S: Final = 60.0


class TransferLimits:
    """The runs that transfer files in one direction."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        #: 0 for no limit.
        self.most = most
        self._clock = clock
        #: Run to the time of its last request, s; the longest silent first.
        self._runs: dict[str, float] = {}

    def __contains__(self, run: str) -> bool:
        return run in self._runs

    def take(self, run: str) -> bool:
        """Whether a run may transfer files now; if so, it has a transfer slot."""
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
        """Note that a run has transferred its files."""
        self._runs.pop(run, None)

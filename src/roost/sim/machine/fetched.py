"""A source of work that machines fetch: the work that a hook would bring from elsewhere.

Each piece of work is a job that is assigned to one machine or waits. Work that a machine rejects, evicts or loses waits
again; so does work that was handed out and not begun within `OVERDUE_S`, because a machine may die between fetching
work and starting it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from roost.classad import ClassAd
from roost.sim.inputs.workload import Job
from roost.sim.machine.process import End

#: How long assigned work may stay unstarted, s.
OVERDUE_S: Final = 3600.0


class WorkSource:
    """Work for all machines of a pool."""

    __slots__ = ("_begun", "_done_s", "_jobs", "_out", "_waiting", "completed")

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._waiting = deque(self._jobs)
        #: Assigned work to when it was handed out, and the assigned work that has begun.
        self._out: dict[str, float] = {}
        self._begun: set[str] = set()
        self._done_s = dict.fromkeys(self._jobs, 0.0)
        self.completed: set[str] = set()

    def fetch(self, now: float) -> ClassAd | None:
        """The next piece of work, if there is one at this time."""
        for name, at in list(self._out.items()):
            if name not in self._begun and now - at > OVERDUE_S:
                self._back(name)
        for _ in range(len(self._waiting)):
            name = self._waiting.popleft()
            job = self._jobs[name]
            if job.submitted_at <= now:
                self._out[name] = now
                return job.ad
            self._waiting.append(name)
        return None

    def lookup(self, ad: ClassAd) -> tuple[Job, float]:
        """The job of an ad that is about to begin, and its completed work, s."""
        name = f"{ad['ClusterId']}.{ad['ProcId']}"
        if name in self._out:
            self._begun.add(name)
        return self._jobs[name], self._done_s[name]

    def replied(self, ad: ClassAd, accepted: bool) -> None:
        """Handle a machine's reply about its work."""
        if not accepted:
            self._back(f"{ad['ClusterId']}.{ad['ProcId']}")

    def ended(self, name: str, end: End) -> None:
        """Handle the end of a run."""
        if end.outcome == "completed":
            self._out.pop(name, None)
            self._begun.discard(name)
            self.completed.add(name)
            return
        self._done_s[name] += end.kept_s
        self._back(name)

    def _back(self, name: str) -> None:
        if self._out.pop(name, None) is not None:
            self._begun.discard(name)
            self._waiting.append(name)

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

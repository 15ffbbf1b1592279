"""A source of work that machines fetch for themselves: what a hook would bring from somewhere else.

Each piece of work is a job that is out on one machine or waits. What a machine rejects, evicts or loses waits again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from roost.classad import ClassAd
from roost.sim.process import End
from roost.sim.workload import Job


class WorkSource:
    """Work for all machines of a pool."""

    __slots__ = ("_done_s", "_jobs", "_out", "_waiting", "completed")

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._waiting = deque(self._jobs)
        self._out: set[str] = set()
        self._done_s = dict.fromkeys(self._jobs, 0.0)
        self.completed: set[str] = set()

    def fetch(self, now: float) -> ClassAd | None:
        """The next piece of work, if there is one by now."""
        for _ in range(len(self._waiting)):
            name = self._waiting.popleft()
            job = self._jobs[name]
            if job.submitted_at <= now:
                self._out.add(name)
                return job.ad
            self._waiting.append(name)
        return None

    def lookup(self, ad: ClassAd) -> tuple[Job, float]:
        """The job of an ad, and the work of it that is done, s."""
        name = f"{ad['ClusterId']}.{ad['ProcId']}"
        return self._jobs[name], self._done_s[name]

    def replied(self, ad: ClassAd, accepted: bool) -> None:
        """A machine has said what becomes of it."""
        if not accepted:
            self._back(f"{ad['ClusterId']}.{ad['ProcId']}")

    def ended(self, name: str, end: End) -> None:
        """A run is over."""
        if end.outcome == "completed":
            self._out.discard(name)
            self.completed.add(name)
            return
        self._done_s[name] += end.kept_s
        self._back(name)

    def _back(self, name: str) -> None:
        if name in self._out:
            self._out.discard(name)
            self._waiting.append(name)

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

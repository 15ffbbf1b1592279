"""The idle jobs of a simulated queue, by kind, the oldest of each first.

Clusters whose jobs get slots and do not begin have the pauses of the real queue (`roost.schedd.pacing`): meanwhile
nobody is offered their jobs, which a claim that the queue has may still take.
"""

from __future__ import annotations

import heapq
from functools import partial

from roost.schedd.pacing import Pauses
from roost.sim.engine import Engine
from roost.sim.queue_entry import Entry


class Waiting:
    """Those that are offered, and those of clusters that have a pause."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pauses = Pauses()
        #: Cluster that has a pause to its idle jobs.
        self.paused: dict[int, list[Entry]] = {}
        #: Kind to its jobs: (time of submission, number, entry).
        self.kinds: dict[str, list[tuple[float, int, Entry]]] = {}
        #: Jobs that are offered.
        self.count = 0

    def put(self, entry: Entry) -> None:
        """A job waits from now on."""
        if self.paused and (mine := self.paused.get(entry.cluster)) is not None:
            mine.append(entry)
            return
        heapq.heappush(self.kinds.setdefault(entry.job.kind, []), (entry.job.submitted_at, entry.number, entry))
        self.count += 1

    def heads(self) -> list[tuple[str, Entry]]:
        """The kinds of jobs that are offered, each with the oldest of them."""
        return [(kind, heap[0][2]) for kind, heap in self.kinds.items() if heap]

    def head(self, kind: str) -> Entry | None:
        """The oldest job of a kind that is offered."""
        heap = self.kinds.get(kind)
        return heap[0][2] if heap else None

    def take(self, entry: Entry) -> None:
        """A job does not wait any longer."""
        mine = self.paused.get(entry.cluster)
        if mine is not None:
            mine.remove(entry)
            return
        heap = self.kinds[entry.job.kind]
        heap.remove((entry.job.submitted_at, entry.number, entry))
        heapq.heapify(heap)
        self.count -= 1

    def pop(self, kind: str) -> Entry:
        """Take the oldest job of a kind that is offered."""
        self.count -= 1
        return heapq.heappop(self.kinds[kind])[2]

    def next(self, kind: str) -> Entry | None:
        """Take the oldest job of a kind for a claim that is there, whether it has a pause or not; None for none."""
        if self.head(kind) is not None:
            return self.pop(kind)
        mine = [entry for each in self.paused.values() for entry in each if entry.job.kind == kind]
        found = min(mine, key=lambda entry: (entry.job.submitted_at, entry.number), default=None)
        if found is not None:
            self.take(found)
        return found

    # -- pauses ------------------------------------------------------------------------------------------

    def missed(self, entry: Entry, now: float) -> None:
        """A job that is not among them had a slot, or was promised one, and did not begin."""
        cluster = entry.cluster
        self._pauses.missed(cluster, now)
        pause = self._pauses.of(cluster, now)
        if pause is None or cluster in self.paused:
            return
        idle = [each for heap in self.kinds.values() for _, _, each in heap if each.cluster == cluster]
        for each in idle:
            self.take(each)
        self.paused[cluster] = idle
        self._engine.at(pause.until, partial(self._go_on, cluster))

    def began(self, entry: Entry) -> None:
        """A job's program runs."""
        self._pauses.began(entry.cluster)

    def _go_on(self, cluster: int, _: float) -> None:
        for each in self.paused.pop(cluster):
            self.put(each)


__all__ = ["Waiting"]

"""One evaluation of the policies of all jobs, in parts: a queue of a million jobs handles other events in between.

Each owner has `STEPS_AN_OWNER` evaluation steps per round. If an owner's jobs need more, the rest of them is evaluated
in the next round, which begins where this one ended, so that expensive policies delay only their owner's jobs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.schedd.job_policy.expressions import PERIODIC_ATTRIBUTES
from roost.schedd.jobs.book import Book, Cluster
from roost.schedd.status import JobStatus

#: Jobs evaluated in one step of the queue, and evaluation steps of their policies, some 50 ms.
JOBS_A_STEP: Final = 500
STEPS_A_STEP: Final = 100_000
#: Evaluation steps that the policies of one owner's jobs may take per round, some 2.5 s.
STEPS_AN_OWNER: Final = 5_000_000


class Round:
    """An evaluation of the jobs that have a policy, or are done and may leave."""

    def __init__(self, clusters: Mapping[int, Cluster], resume: dict[str, tuple[int, int]]) -> None:
        """`resume`: owner to cluster and job at which to begin; at the end it holds where the next round begins."""
        self._resume = resume
        self._spent: dict[str, int] = {}
        first = {owner: number for owner, (number, _) in resume.items() if number in clusters}
        #: Cluster to its first job to evaluate.
        self._from = dict(resume.values())
        resume.clear()
        late = [number for number, each in clusters.items() if number < first.get(each.owner, 0)]
        left_out = frozenset(late)
        self._numbers = deque([*(number for number in clusters if number not in left_out), *late])
        self._procs: Iterator[int] = iter(())
        self._number = 0

    def next(self, book: Book, all_have_policy: bool) -> tuple[Cluster, int] | None:
        """The next job to evaluate; None at the end. `all_have_policy`: the administrator has some for all jobs."""
        while True:
            cluster = book.clusters.get(self._number)
            for proc in self._procs if cluster is not None else ():
                assert cluster is not None
                if self._spent.get(cluster.owner, 0) > STEPS_AN_OWNER:
                    self._resume.setdefault(cluster.owner, (cluster.number, proc))
                    break
                if cluster.status(proc) is not JobStatus.GONE:
                    return cluster, proc
            if not self._numbers:
                return None
            self._number = self._numbers.popleft()
            cluster = book.clusters.get(self._number)
            first = self._from.get(self._number, 0)
            self._procs = iter(()) if cluster is None else iter(_candidates(cluster, all_have_policy, first))

    def spent(self, cluster: Cluster, steps: int) -> None:
        """Count the evaluation steps that a job took."""
        self._spent[cluster.owner] = self._spent.get(cluster.owner, 0) + steps


def _candidates(cluster: Cluster, all_have_policy: bool, first: int) -> Iterable[int]:
    """The jobs of a cluster, from number `first` on, that have to be evaluated."""
    leaving = JobStatus.COMPLETED in cluster.statuses or JobStatus.REMOVED in cluster.statuses
    if all_have_policy or leaving or _have_policy(cluster):
        return range(first, cluster.count)
    touched = (proc for proc, job in cluster.jobs.items() if not PERIODIC_ATTRIBUTES.isdisjoint(job.ad.cells))
    return sorted(proc for proc in touched if proc >= first)


def _have_policy(cluster: Cluster) -> bool:
    """Whether jobs were submitted with a policy."""
    varying = frozenset() if cluster.plan is None else cluster.plan.varying
    return not (PERIODIC_ATTRIBUTES.isdisjoint(cluster.ad.cells) and PERIODIC_ATTRIBUTES.isdisjoint(varying))


def has_policy(cluster: Cluster, proc: int) -> bool:
    """Whether a job has a policy of its own."""
    job = cluster.jobs.get(proc)
    return _have_policy(cluster) or (job is not None and not PERIODIC_ATTRIBUTES.isdisjoint(job.ad.cells))

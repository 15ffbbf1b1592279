"""The submission event, the first in every job's log: written in batches for a large cluster, so that others are
served.

The progress is stored with each batch, so that a restarted queue continues where it was. If something else happens to a
job first, its submission event is written before that (`Work.log_ad`): every job has exactly one, before its other
events.
"""

from __future__ import annotations

from typing import Final

from roost.classad.ad import MISSING
from roost.schedd.jobs.book import Cluster, is_spooling
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.status import JobStatus
from roost.schedd.work import Work, log_paths

#: Jobs logged in one step of the queue, some 15 ms.
JOBS_A_STEP: Final = 200


def tell_first(work: Work, cluster: Cluster) -> None:
    """Begin with a new cluster; one without a log costs nothing."""
    varies = cluster.plan is not None and "userlog" in cluster.plan.varying
    if is_spooling(cluster.ad) or (not varies and not log_paths(cluster.ad)):
        # The log of a job whose files are copied to the queue is among these files, and begins when they have arrived.
        return
    if cluster.factory is not None:
        work.tell_factory(cluster)
        return
    first = cluster.count
    if first > JOBS_A_STEP:
        first = JOBS_A_STEP
        cluster.told = Ranges()
        work.book.untold[cluster.number] = comes_first(cluster)
    for proc in range(first):
        work.tell_submitted(cluster, proc)


def comes_first(cluster: Cluster) -> bool:
    """Whether all submission events are written before any job is offered.

    A resumed workflow counts the jobs of a node in its log: none of them may end before that.
    """
    return cluster.ad.cell("dagmannodeslog") is not MISSING


def tell_more(work: Work) -> None:
    """Log some more jobs; clusters take turns."""
    number = next(iter(work.book.untold), None)
    if number is None:
        return
    del work.book.untold[number]
    cluster = work.book.clusters.get(number)
    if cluster is None or cluster.told is None:
        return
    first = cluster.told.first_absent
    for proc in range(first, min(first + JOBS_A_STEP, cluster.count)):
        # For jobs that have left, the submission was logged before their end.
        if cluster.statuses[proc] != JobStatus.GONE:
            work.tell_submitted(cluster, proc)
        else:
            cluster.told.add(proc)
    if cluster.told.first_absent < cluster.count:
        work.book.untold[number] = comes_first(cluster)
    else:
        work.told_all(cluster)
        work.offer()

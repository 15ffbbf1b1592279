"""The first event of every job's log, that it was submitted: of a large cluster in parts, while others are served.

What has been told is kept with the part itself, so that a queue that dies goes on where it was. A job to which
something else happens first is told of before that (`Work.log_ad`): every job has one such event, before its others.
"""

from __future__ import annotations

from typing import Final

from roost.classad.ad import MISSING
from roost.schedd.jobs.book import Cluster, is_spooling
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.status import JobStatus
from roost.schedd.work import Work, log_paths

#: Jobs told of in one step of the queue, some 15 ms.
JOBS_A_STEP: Final = 200


def tell_first(work: Work, cluster: Cluster) -> None:
    """Begin with a cluster that is new; one without a log costs nothing."""
    varies = cluster.plan is not None and "userlog" in cluster.plan.varying
    if is_spooling(cluster.ad) or (not varies and not log_paths(cluster.ad)):
        # The log of a job whose files are copied to the queue is among these files, and begins when they are there.
        return
    first = cluster.count
    if first > JOBS_A_STEP:
        first = JOBS_A_STEP
        cluster.told = Ranges()
        work.book.untold[cluster.number] = comes_first(cluster)
    for proc in range(first):
        work.tell_submitted(cluster, proc)


def comes_first(cluster: Cluster) -> bool:
    """Whether all jobs are told of before any is offered.

    A workflow that goes on counts in its log of how many jobs a node consists: none of them may end before that.
    """
    return cluster.ad.cell("dagmannodeslog") is not MISSING


def tell_more(work: Work) -> None:
    """Tell of some more jobs; clusters take turns."""
    number = next(iter(work.book.untold), None)
    if number is None:
        return
    del work.book.untold[number]
    cluster = work.book.clusters.get(number)
    if cluster is None or cluster.told is None:
        return
    first = cluster.told.first_absent
    for proc in range(first, min(first + JOBS_A_STEP, cluster.count)):
        # Of those that have left, their end was told, and before it that they were submitted.
        if cluster.statuses[proc] != JobStatus.GONE:
            work.tell_submitted(cluster, proc)
        else:
            cluster.told.add(proc)
    if cluster.told.first_absent < cluster.count:
        work.book.untold[number] = comes_first(cluster)
    else:
        work.told_all(cluster)
        work.offer()

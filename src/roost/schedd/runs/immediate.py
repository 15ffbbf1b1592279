"""Jobs that start now or not at all (`qsub -now y`): the first run that cannot start them removes them.

The cell's run starts all tasks of such a job or none. What it does not start it refuses, and so the job leaves the
queue as one that was removed. A job that a machine is about to start after another one has its slot, and waits for
that. Once it has started, it is a job like others: it may be run again.
"""

from __future__ import annotations

from roost.model.cell_requests import IMMEDIATE, NEXT_ON_MACHINE, NOT_IMMEDIATE
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.jobs.book import Cluster
from roost.schedd.status import JobStatus
from roost.schedd.work import Work


def remove_refused(work: Work, claim_table: ClaimTable, autocluster: int, text: str) -> None:
    """The matchmaker has refused the jobs of an autocluster: those that wait for nothing leave."""
    book = work.book
    if autocluster not in book.autoclusters or text == NEXT_ON_MACHINE:
        return
    if book.autoclusters.sample(autocluster).get(IMMEDIATE) is not True:
        return
    refused = {
        group.cluster
        for groups in book.waiting().values()
        for group in groups
        if group.autocluster == autocluster and _never_started(book.clusters[group.cluster])
    }
    for number in sorted(refused):
        _remove(work, claim_table, book.clusters[number])


def _never_started(cluster: Cluster) -> bool:
    """Whether a task waits that has not been started before."""
    return any(
        cluster.status(proc) is JobStatus.IDLE and not cluster.job(proc).whole("numshadowstarts")
        for proc in cluster.procs()
    )


def _remove(work: Work, claim_table: ClaimTable, cluster: Cluster) -> None:
    from roost.schedd.commands import take_away

    for proc in list(cluster.procs()):
        if cluster.status(proc) not in (JobStatus.REMOVED, JobStatus.COMPLETED):
            take_away(work, claim_table, cluster.job(proc), NOT_IMMEDIATE)

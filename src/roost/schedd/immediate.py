"""Jobs that start now or not at all (`qsub -now y`): the first scheduling run that cannot start them removes them.

The cell's run starts all tasks of such a job or none. If it does not start the job, it refuses it, and the job leaves
the queue as a removed one. A job that will follow another one on a machine has its slot, and waits for it. Once it has
started, it is a job like any other and may be rerun.
"""

from __future__ import annotations

from roost.model.cell_requests import IMMEDIATE, NEXT_ON_MACHINE, NOT_IMMEDIATE
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.jobs.book import Cluster
from roost.schedd.status import JobStatus
from roost.schedd.work import Work


def remove_refused(work: Work, claim_table: ClaimTable, autocluster: int, text: str) -> None:
    """Handle a refusal of the jobs of an autocluster: immediate jobs among them leave the queue."""
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
    """Whether a task is idle and has never been started."""
    return any(
        cluster.status(proc) is JobStatus.IDLE and not cluster.job(proc).whole("numshadowstarts")
        for proc in cluster.procs()
    )


def _remove(work: Work, claim_table: ClaimTable, cluster: Cluster) -> None:
    from roost.schedd.commands import take_away

    for proc in list(cluster.procs()):
        if cluster.status(proc) not in (JobStatus.REMOVED, JobStatus.COMPLETED):
            take_away(work, claim_table, cluster.job(proc), NOT_IMMEDIATE)

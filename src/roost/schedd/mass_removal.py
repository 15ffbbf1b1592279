"""Removing many jobs at once to which nothing has happened: one change for all of them, whatever their number.

The idle jobs of a large cluster differ only in their submitted attributes, which the cluster's record has. Their end is
therefore also one record: a range of numbers and what the end adds to each ad. Decisions, events and changes are the
same as those that `commands` makes job by job; it handles every job that is left over here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.schedd.changes import TOGETHER_MAX, AddHistory
from roost.schedd.decisions import Ruling
from roost.schedd.effects import ForgetFiles
from roost.schedd.event_log import log
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.jobs.job_transitions import On, untouched_row
from roost.schedd.status import JobStatus
from roost.schedd.work import Work, log_paths

#: A shorter run of consecutive jobs is removed one by one.
FEWEST: Final = 8
#: Statuses of jobs to which nothing has happened.
_UNTOUCHED: Final = frozenset((JobStatus.IDLE, JobStatus.HELD))
#: Folded attributes because of which the jobs of a cluster end individually.
_APART: Final = ("leavejobinqueue", "otherjobremoverequirements", "jobadinformationattrs", "removaltold")
_IN_WHOSE_NAME: Final = ("accountinggroup", "niceuser")
_LOGS: Final = ("userlog", "dagmannodeslog")


def remove_together(
    work: Work, jobs: Iterable[JobId], text: str, ruling: Ruling, may: Callable[[str], bool]
) -> tuple[int, list[JobId]]:
    """Remove those of `jobs` that can be removed together; return how many, and the others. `may`: whether an owner's
    jobs may be removed.
    """
    count, others = 0, []
    for first, last in _neighbours(jobs):
        cluster = work.book.clusters.get(first.cluster)
        if (
            cluster is None
            or last - first.proc + 1 < FEWEST
            or not may(cluster.owner)
            or not _ends_alike(work, cluster)
        ):
            others += [JobId(first.cluster, proc) for proc in range(first.proc, last + 1)]
            continue
        done = 0
        for begin, end, status in _runs(cluster, first.proc, last):
            if status is None:
                others += [JobId(first.cluster, proc) for proc in range(begin, end)]
                continue
            _remove(work, cluster, begin, end, status, text)
            work.decided_of(cluster, range(begin, end), ruling)
            done += end - begin
        count += done
    return count, others


def _neighbours(jobs: Iterable[JobId]) -> Iterator[tuple[JobId, int]]:
    """Runs of consecutively numbered jobs of one cluster: the first job, and the last one's number."""
    first: JobId | None = None
    last = 0
    for job in jobs:
        if first is not None and job.cluster == first.cluster and job.proc == last + 1:
            last = job.proc
            continue
        if first is not None:
            yield first, last
        first, last = job, job.proc
    if first is not None:
        yield first, last


def _ends_alike(work: Work, cluster: Cluster) -> bool:
    """Whether all idle jobs of a cluster end alike."""
    number = cluster.number
    if number in work.book.recurring or number in work.book.noops or cluster.others:
        return False
    varying = frozenset() if cluster.plan is None else cluster.plan.varying
    if not varying.isdisjoint((*_APART, *_LOGS, *_IN_WHOSE_NAME)):
        return False
    return all(cluster.ad.cell(name) is MISSING or cluster.ad.cell(name) is False for name in _APART)


def _runs(cluster: Cluster, first: int, last: int) -> Iterator[tuple[int, int, JobStatus | None]]:
    """Parts of a range of jobs: begin, end, and their common status; None for those to remove singly."""
    begin, common = first, _untouched(cluster, first)
    for proc in range(first + 1, last + 1):
        found = _untouched(cluster, proc)
        if found is not common or proc - begin == TOGETHER_MAX:
            yield begin, proc, common
            begin, common = proc, found
    yield begin, last + 1, common


def _untouched(cluster: Cluster, proc: int) -> JobStatus | None:
    if proc in cluster.jobs:
        return None
    status = cluster.status(proc)
    return status if status in _UNTOUCHED else None


def _remove(work: Work, cluster: Cluster, begin: int, end: int, status: JobStatus, text: str) -> None:
    if status is JobStatus.IDLE:
        for proc in range(begin, end):
            work.book.not_idle(cluster, proc)
        work.offer()
    removed = untouched_row(status, On.REMOVE_COMMAND)
    own = ClassAd(
        {
            "LastJobStatus": int(removed.source),
            "JobStatus": int(removed.target),
            "EnteredCurrentStatus": int(work.now),
            "RemoveReason": text,
        }
    )
    if log_paths(cluster.ad):
        event = log.JobAborted(reason=text)
        for proc in range(begin, end):
            work.log_ad(cluster.ad, cluster.owner, cluster.number, proc, event)
    first = JobId(cluster.number, begin)
    work.order(ForgetFiles(job=first, last=end - 1))
    work.leave_all(
        cluster,
        AddHistory(
            job=first,
            last=end - 1,
            owner=cluster.owner,
            status=removed.target,
            ended_at=int(work.now),
            ad=own,
            cluster=cluster,
        ),
    )

"""Recurring jobs: when each starts next, and how jobs with an invalid crontab are held.

A job with a crontab gets its `DeferralTime` whenever it becomes idle (`Work.take`), and again if no machine took it
within its window: it has missed that time, and waits for the next. In all other respects it is like a job with a
`deferral_time`. Its `on_exit_remove` decides whether it becomes idle again after its program ended.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from roost.model.codes import HoldCode
from roost.schedd.jobs.book import Book, Cluster, Job
from roost.schedd.jobs.crontab import KEYS, has_crontab
from roost.schedd.jobs.job_transitions import On
from roost.schedd.runs.outcome import HoldReason, hold
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: Number of jobs examined in one step, some 15 ms.
LOOKED_AT_MAX: Final = 2000


def recurs(book: Book, cluster: Cluster) -> bool:
    """Whether jobs of a cluster have a crontab; it is then among `Book.recurring`."""
    varying = cluster.plan is not None and not KEYS.isdisjoint(cluster.plan.varying)
    found = varying or has_crontab(cluster.ad) or any(has_crontab(job.ad) for job in cluster.jobs.values())
    if found:
        book.recurring[cluster.number] = 0
    return found


def again(work: Work, job: Job) -> None:
    """Plan a job that is idle again."""
    work.book.not_idle(job.cluster, job.id.proc)
    work.plan_start(job)
    work.book.put_idle(job.cluster, job.id.proc)
    work.offer()


def look(work: Work) -> None:
    """Plan the jobs again that no machine took in time; in batches, with clusters taking turns."""
    book, left = work.book, LOOKED_AT_MAX
    for number in list(book.recurring):
        at, cluster = book.recurring.pop(number), book.clusters.get(number)
        if cluster is None:
            continue
        jobs = list(islice(cluster.jobs.items(), at, at + left))
        left, at = left - len(jobs), at + len(jobs)
        book.recurring[number] = at if at < len(cluster.jobs) else 0
        for proc, job in jobs:
            if cluster.is_idle(proc) and _is_over(work, job):
                again(work, job)
        if left <= 0:
            return


def _is_over(work: Work, job: Job) -> bool:
    """Whether it is too late for any machine to take the job for its start time."""
    at, window_s = job.ad.cell("deferraltime"), job.ad.eval("DeferralWindow", None, work.world)
    if not isinstance(at, int) or not has_crontab(job.ad):
        return False
    return work.now >= at + (window_s if isinstance(window_s, int | float) else 0)


def hold_unplanned(work: Work) -> None:
    """Hold jobs with an invalid crontab."""
    for job, text in work.unplanned.values():
        if job.status is JobStatus.IDLE and not job.claim_id:
            hold(work, job, On.HOLD_QUEUE, HoldReason(HoldCode.INVALID_CRON_SETTINGS, text))

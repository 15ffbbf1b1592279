"""Jobs whose event log cannot be written: they are held, because their user relies on the log.

A running job continues; if it comes back to the queue, it is held then. Large numbers of jobs are held in batches,
between which other events are handled; jobs that get a slot meanwhile continue with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from roost.model.audit import AuditKind
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.decisions import Ruling
from roost.schedd.events import LogRefused
from roost.schedd.jobs.book import Book, Cluster, Job
from roost.schedd.jobs.job_transitions import On
from roost.schedd.runs.outcome import HoldReason, hold
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: Jobs held in one step of the queue, some 20 ms.
JOBS_A_STEP: Final = 200


def log_refused(work: Work, claim_table: ClaimTable, event: LogRefused) -> None:
    """Hold the idle jobs that write to a log. Nothing is written to that log."""
    work.book.refused[event.owner, event.path] = event, _idle(work.book, event)
    hold_some(work, claim_table)


def hold_some(work: Work, claim_table: ClaimTable) -> None:
    """Hold the next batch of jobs; logs take turns."""
    refused = work.book.refused
    key = next(iter(refused), None)
    if key is None:
        return
    event, jobs = refused.pop(key)
    count = 0
    for job in islice(jobs, JOBS_A_STEP):
        count += 1
        hold(work, job, On.HOLD_QUEUE, HoldReason(event.code, event.text, event.subcode), tell=False)
        work.decided(job, Ruling(kind=AuditKind.HOLD, reason=event.text))
        claim_table.let_go(job)
    if count == JOBS_A_STEP:
        refused[key] = event, jobs


def _idle(book: Book, event: LogRefused) -> Iterator[Job]:
    """Idle jobs with that log, which may change between two batches."""
    for number in list(book.clusters):
        cluster = book.clusters.get(number)
        if cluster is not None and cluster.owner == event.owner:
            yield from _idle_of(cluster, event.path)


def _idle_of(cluster: Cluster, path: str) -> Iterator[Job]:
    varies = cluster.plan is not None and "userlog" in cluster.plan.varying
    common = cluster.ad.cell("userlog") == path
    for proc in range(cluster.count) if varies or common else sorted(cluster.jobs):
        if cluster.statuses[proc] != JobStatus.IDLE:
            continue
        if (varies or proc in cluster.jobs) and cluster.ad_of(proc).cell("userlog") != path:
            continue
        job = cluster.job(proc)
        if not job.run:
            yield job

"""Jobs whose event log cannot be written: they are held, for their user wants to hear of them.

A job that runs goes on; if it comes back to the queue, it is held then.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.model.audit import AuditKind
from roost.schedd.book import Cluster, Job
from roost.schedd.decisions import Ruling
from roost.schedd.events import LogRefused
from roost.schedd.holder import Holder
from roost.schedd.job_transitions import On
from roost.schedd.outcome import hold
from roost.schedd.status import JobStatus
from roost.schedd.turn import Turn


def log_refused(turn: Turn, holder: Holder, event: LogRefused) -> None:
    """Hold what is idle and tells that log of itself. The log is told nothing of it."""
    for cluster in turn.book.clusters.values():
        if cluster.owner != event.owner:
            continue
        for job in list(_idle(cluster, event.path)):
            hold(turn, job, On.HOLD_QUEUE, code=event.code, subcode=event.subcode, text=event.text, tell=False)
            turn.decided(job, Ruling(kind=AuditKind.HOLD, reason=event.text))
            holder.let_go(job)


def _idle(cluster: Cluster, path: str) -> Iterator[Job]:
    """Jobs of a cluster that are idle and have that log."""
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

"""Jobs that run again and again: when each starts next, and what becomes of one whose crontab makes no sense.

A job with a crontab gets its `DeferralTime` whenever it becomes idle (`Turn.take`), and anew when no machine took it
within its window: it has missed that time, and waits for the next. In all else it is like jobs with a `deferral_time`.
Its `on_exit_remove` says whether it becomes idle again after its program ended.
"""

from __future__ import annotations

from roost.model.codes import HoldCode
from roost.schedd.book import Cluster, Job
from roost.schedd.crontab import KEYS, has_crontab
from roost.schedd.job_transitions import On
from roost.schedd.outcome import hold
from roost.schedd.status import JobStatus
from roost.schedd.turn import Turn


def submitted(turn: Turn, cluster: Cluster) -> None:
    """Plan the jobs of a cluster that is not among the idle ones yet."""
    if not _has_crontab(cluster):
        return
    turn.book.recurring[cluster.number] = None
    for proc in range(cluster.count):
        if cluster.status(proc) is JobStatus.IDLE and has_crontab(cluster.ad_of(proc)):
            turn.plan_start(cluster.job(proc))


def kept(turn: Turn) -> None:
    """After a pause: which clusters have such jobs. Those that wait are planned anew, perhaps in another time zone."""
    for cluster in turn.book.clusters.values():
        if _has_crontab(cluster):
            turn.book.recurring[cluster.number] = None
            for proc in cluster.procs():
                if cluster.is_idle(proc):
                    again(turn, cluster.job(proc))


def _has_crontab(cluster: Cluster) -> bool:
    varying = cluster.plan is not None and not KEYS.isdisjoint(cluster.plan.varying)
    return varying or has_crontab(cluster.ad) or any(has_crontab(job.ad) for job in cluster.jobs.values())


def again(turn: Turn, job: Job) -> None:
    """Plan a job that waits anew."""
    turn.book.not_idle(job.cluster, job.id.proc)
    turn.plan_start(job)
    turn.book.put_idle(job.cluster, job.id.proc)
    turn.offer()


def look(turn: Turn) -> None:
    """Plan the jobs anew that no machine took in time."""
    for number in list(turn.book.recurring):
        cluster = turn.book.clusters.get(number)
        if cluster is None:
            del turn.book.recurring[number]
            continue
        for proc, job in list(cluster.jobs.items()):
            if cluster.is_idle(proc) and _is_over(turn, job):
                again(turn, job)


def _is_over(turn: Turn, job: Job) -> bool:
    """Whether no machine can take the job for its time any more."""
    at, window_s = job.ad.cell("deferraltime"), job.ad.eval("DeferralWindow", None, turn.world)
    if not isinstance(at, int) or not has_crontab(job.ad):
        return False
    return turn.now >= at + (window_s if isinstance(window_s, int | float) else 0)


def hold_unplanned(turn: Turn) -> None:
    """Jobs whose crontab makes no sense go on hold."""
    for job, text in turn.unplanned.values():
        if job.status is JobStatus.IDLE and not job.claim_id:
            hold(turn, job, On.HOLD_QUEUE, code=HoldCode.INVALID_CRON_SETTINGS, text=text)

"""Jobs that complete without a run (noop_job): each ends as its ad says, as soon as it is idle.

`IsNoopJob` is evaluated when the job is submitted and, if it becomes idle again later, at once. The jobs of a large
cluster are evaluated in batches, and are not offered to any machine until all are done. Such a job needs no slot and
starts nothing: its end is logged, and the job's policy is evaluated as at any other end.
"""

from __future__ import annotations

from typing import Final

from roost.classad.ad import MISSING
from roost.classad.allowance import EXPRESSION_STEPS, UNLIMITED, Allowance
from roost.classad.values import fold
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.events import RunEnded
from roost.schedd.jobs.book import Book, Cluster, Job
from roost.schedd.runs.outcome import at_exit
from roost.schedd.work import Work

_IS_NOOP = "isnoopjob"
#: Jobs evaluated in one step of the queue, and evaluation steps of their expressions, some 50 ms.
JOBS_A_STEP: Final = 200
STEPS_A_STEP: Final = 100_000


def has_noops(cluster: Cluster) -> bool:
    """Whether jobs of a cluster may complete without a run."""
    varying = frozenset() if cluster.plan is None else cluster.plan.varying
    return _IS_NOOP in varying or cluster.ad.cell(_IS_NOOP) is not MISSING


def expect_noops(book: Book, cluster: Cluster) -> None:
    """Withhold the jobs of a cluster that has noops until they are evaluated."""
    book.noops.add(cluster.number)
    book.untried[cluster.number] = 0


def finish_woken(work: Work, claim_table: ClaimTable) -> None:
    """Complete jobs that have become idle and need no run."""
    woken, work.book.woken = work.book.woken, {}
    with Allowance(UNLIMITED, EXPRESSION_STEPS):
        for job in woken:
            cluster = work.book.clusters.get(job.cluster)
            # Those of a cluster that is being evaluated anyway will be reached.
            if cluster is not None and work.book.untried.get(job.cluster, cluster.count) > job.proc:
                _finish(work, claim_table, cluster, job.proc)


def finish_noops(work: Work, claim_table: ClaimTable) -> None:
    """Evaluate some more jobs of new clusters, and complete those that need no run."""
    number, first = next(iter(work.book.untried.items()))
    # Clusters take turns.
    del work.book.untried[number]
    cluster = work.book.clusters[number]
    work.book.untried[number] = cluster.count
    end = min(first + JOBS_A_STEP, cluster.count)
    with Allowance(UNLIMITED, EXPRESSION_STEPS) as allowance:
        while first < end and allowance.left > UNLIMITED - STEPS_A_STEP:
            _finish(work, claim_table, cluster, first)
            first += 1
    if first < cluster.count:
        work.book.untried[number] = first
    else:
        del work.book.untried[number]
        work.offer()


def _finish(work: Work, claim_table: ClaimTable, cluster: Cluster, proc: int) -> None:
    if cluster.is_idle(proc) and cluster.ad_of(proc).eval("IsNoopJob", None, work.world) is True:
        at_exit(work, claim_table.system_policy, cluster.job(proc), _end(work, cluster.job(proc)))


def _end(work: Work, job: Job) -> RunEnded:
    by_signal, code = _whole(job, "NoopJobExitSignal"), _whole(job, "NoopJobExitCode")
    return RunEnded(
        node="",
        claim_id="",
        run="",
        at=work.now,
        ending="exit",
        started=False,
        exit_code=(code or 0) if by_signal is None else None,
        exit_signal=by_signal,
    )


def _whole(job: Job, name: str) -> int | None:
    found = job.ad.eval(name) if fold(name) in job.ad else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None

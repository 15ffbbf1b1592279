"""Jobs that are done without being run (noop_job): each ends as its ad says, as soon as it waits.

`IsNoopJob` is asked when the job is submitted and, where it waits again later, at once. It needs no slot and begins
nothing: the user's log hears of the end, and the job's policy judges it as it does any end.
"""

from __future__ import annotations

from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.schedd.book import Cluster, Job
from roost.schedd.events import RunEnded
from roost.schedd.holder import Holder
from roost.schedd.outcome import at_exit
from roost.schedd.turn import Turn

_IS_NOOP = "isnoopjob"


def has_noops(cluster: Cluster) -> bool:
    """Whether jobs of a cluster may be done without being run."""
    varying = frozenset() if cluster.plan is None else cluster.plan.varying
    return _IS_NOOP in varying or cluster.ad.cell(_IS_NOOP) is not MISSING


def finish_noops(turn: Turn, holder: Holder) -> None:
    """End those jobs that wait, and are to be done without being run."""
    for number in sorted(turn.book.noops):
        cluster = turn.book.clusters.get(number)
        if cluster is None or not cluster.left:
            turn.book.noops.discard(number)
            continue
        for proc in list(cluster.procs()):
            if cluster.is_idle(proc) and cluster.ad_of(proc).eval("IsNoopJob", None, turn.world) is True:
                at_exit(turn, holder.system_policy, cluster.job(proc), _end(turn, cluster.job(proc)))


def _end(turn: Turn, job: Job) -> RunEnded:
    by_signal, code = _whole(job, "NoopJobExitSignal"), _whole(job, "NoopJobExitCode")
    return RunEnded(
        node="",
        claim_id="",
        run="",
        at=turn.now,
        ending="exit",
        started=False,
        exit_code=(code or 0) if by_signal is None else None,
        exit_signal=by_signal,
    )


def _whole(job: Job, name: str) -> int | None:
    found = job.ad.eval(name) if fold(name) in job.ad else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None

"""Events of the jobs of nodes: submitted, refused, running, held, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.dag import orders as o
from roost.dag.ending import look_abort
from roost.dag.plan import NodeKind
from roost.dag.ready import HELD
from roost.dag.states import JOB_REMOVED, SUBMIT_FAILED, NodeState, Part, Progress
from roost.dag.table import BY_STATE, On

if TYPE_CHECKING:
    from roost.dag.run import Run

#: Pauses between refused submissions: the first and the longest, s.
PAUSE_S: Final = 2.0
PAUSE_S_MAX: Final = 60.0


def submit(run: Run, progress: Progress) -> None:
    """Submit a node's jobs to the queue."""
    progress.part = Part.SUBMISSION
    run.orders.append(o.SubmitNode(node=progress.node.name, retry=progress.retry))


def submitted(run: Run, event: o.NodeSubmitted) -> None:
    """The queue has accepted them."""
    progress = run.nodes[event.node]
    if event.cluster in run.clusters:
        return
    if progress.part is not Part.SUBMISSION:
        if not (run.replaying and progress.state is NodeState.READY):
            # A submission that is no longer awaited.
            run.orders.append(o.RemoveJobs(cluster=event.cluster, reason="the node no longer needs it"))
            return
        progress.prepared = True
        run.take(progress, next(row for row in BY_STATE[NodeState.READY] if row.target is NodeState.SUBMITTED))
    progress.part, progress.refusals = Part.JOB, 0
    progress.cluster, progress.jobs, progress.last_proc = event.cluster, event.jobs, event.jobs - 1
    progress.idle = set(range(event.jobs))
    run.idle += event.jobs
    run.jobs.submitted += event.jobs
    run.clusters[event.cluster] = progress
    if run.ending is not None and not run.final_begun:
        run.remove(progress)
    elif not event.jobs:
        jobs_over(run, progress)


def refused(run: Run, event: o.SubmitRefused) -> None:
    """The queue refused them: submission is retried after a pause, a limited number of times."""
    progress = run.nodes[event.node]
    if progress.state is not NodeState.SUBMITTED:
        return
    progress.refusals += 1
    progress.details = event.text
    if event.final or progress.refusals >= run.settings.submit_attempts or run.ending is not None:
        progress.result = SUBMIT_FAILED
        jobs_over(run, progress)
        return
    progress.part = Part.PAUSE
    pause_s = min(PAUSE_S_MAX, PAUSE_S * 2 ** (progress.refusals - 1))
    run.orders.append(o.Wait(node=event.node, at=run.now + pause_s))


def of_job(run: Run, event: o.JobRan | o.JobWaits | o.JobHeld | o.JobEnded | o.JobRemoved) -> None:
    """Something has happened to one job."""
    progress = run.clusters.get(event.cluster)
    if progress is None or progress.cluster != event.cluster or event.proc in progress.ended:
        return
    run.idle -= event.proc in progress.idle
    for procs in (progress.idle, progress.running, progress.held):
        procs.discard(event.proc)
    match event:
        case o.JobRan():
            progress.running.add(event.proc)
            _ran(run, progress)
        case o.JobWaits():
            progress.idle.add(event.proc)
            run.idle += 1
        case o.JobHeld(reason=reason):
            progress.held.add(event.proc)
            progress.details = reason
            progress.holds += 1
            if 0 < run.settings.holds_max <= progress.holds and not progress.failed:
                _held_too_often(run, progress)
            if progress.node.held is not None and not run.replaying and run.ending is None:
                run.waiting.add((HELD, ""), progress.node.name, progress.node.priority)
        case o.JobEnded(status=status):
            progress.exits[max(status, -1)] += 1
            _job_ended(run, progress, event.proc, status)
        case o.JobRemoved():
            progress.removed += 1
            _job_ended(run, progress, event.proc, JOB_REMOVED)


def _ran(run: Run, progress: Progress) -> None:
    if progress.node.kind is NodeKind.PROVISIONER and not run.provisioned:
        run.begin_ordinary()


def _job_ended(run: Run, progress: Progress, proc: int, status: int) -> None:
    progress.ended.add(proc)
    run.jobs.ended += 1
    run.jobs.failed += status != 0
    if status and not progress.failed:
        _job_failed(run, progress, proc, status)
    if not progress.left:
        jobs_over(run, progress)


def _job_failed(run: Run, progress: Progress, proc: int, status: int) -> None:
    """A job has failed, possibly one more than the node tolerates."""
    progress.failures += 1
    progress.first_failure = progress.first_failure or status
    tolerance = progress.node.tolerance
    tolerated = run.settings.failures_max if tolerance is None else tolerance.of(progress.jobs)
    if progress.failures <= tolerated:
        return
    progress.failed, progress.result = True, progress.first_failure
    more = f", and {tolerated} may fail" if tolerated else ""
    progress.details = f"job {progress.cluster}.{proc} {ended_words(status)}{more}"
    if progress.removes_rest:
        run.remove(progress)


def _held_too_often(run: Run, progress: Progress) -> None:
    """Remove the jobs of a node that were put on hold as often as the settings allow."""
    progress.failed, progress.result = True, JOB_REMOVED
    progress.details = f"its jobs were put on hold {progress.holds} times, and DAGMAN_MAX_JOB_HOLDS allows no more"
    run.remove(progress)


def jobs_over(run: Run, progress: Progress) -> None:
    """All jobs of a node have left the queue, or it accepted none."""
    if progress.node.kind is NodeKind.PROVISIONER and not run.provisioned:
        run.begin_ordinary()
    progress.status = progress.result
    run.raised(progress, On.JOBS_ENDED)
    if progress.state is not NodeState.POSTRUN:
        look_abort(run, progress)


def ended_words(status: int) -> str:
    """An exit status in words."""
    if status == JOB_REMOVED:
        return "was removed"
    return f"ended with status {status}" if status >= 0 else f"died of signal {-status}"

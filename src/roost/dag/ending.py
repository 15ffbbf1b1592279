"""How a run ends: by itself, aborted by a node, removed, or halted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.dag import orders as o
from roost.dag.plan import Node, NodeKind
from roost.dag.states import PRE_FAILED, SUBMIT_FAILED, NodeState, Part, Progress, RunStatus
from roost.dag.table import On

if TYPE_CHECKING:
    from roost.dag.run import Run

_BUSY = (NodeState.PRERUN, NodeState.SUBMITTED, NodeState.POSTRUN)


def look_abort(run: Run, progress: Progress) -> None:
    """End the run if an attempt of a node ended with its ABORT-DAG-ON status."""
    abort = progress.node.abort
    if abort is None or progress.status != abort.status or run.ending is not None:
        return
    code = abort.status if abort.exit_code is None else abort.exit_code
    text = f"node {progress.node.name} ended with status {progress.status}, which ends the run"
    end(run, code & 0xFF, RunStatus.ABORTED if code else RunStatus.OK, text)


def end(run: Run, code: int, status: RunStatus, text: str) -> None:
    """Remove everything; the run's exit status is fixed now."""
    if run.ending is not None:
        return
    run.ending, run.status = code, status
    if run.replaying:
        return
    run.orders.append(o.StopScripts())
    run.scripts.clear()
    run.waiting.clear()
    for progress in list(run.nodes.values()):
        if progress.state is NodeState.SUBMITTED and progress.left:
            run.remove(progress)
        elif progress.state in (NodeState.PRERUN, NodeState.POSTRUN):
            _stopped(run, progress, text)
        elif progress.part is Part.PAUSE:
            progress.result = progress.status = SUBMIT_FAILED
            run.raised(progress, On.JOBS_ENDED)


def _stopped(run: Run, progress: Progress, text: str) -> None:
    """The script of a node was killed."""
    progress.part, progress.status = Part.NOTHING, -9
    progress.details = text
    if progress.state is NodeState.PRERUN:
        progress.pre_status, progress.result = -9, PRE_FAILED
        run.raised(progress, On.PRE_ENDED)
    else:
        run.raised(progress, On.POST_ENDED)


def may_post(run: Run) -> bool:
    """Whether POST scripts run, which nodes that are being removed do not."""
    return run.ending is None or run.final_begun


def _is_busy(run: Run) -> bool:
    """Whether the run waits for a job or script of a node."""
    services = sum(each.state in _BUSY for each in run.services)
    return sum(run.counts[state] for state in _BUSY) > services


def look_over(run: Run) -> None:
    """End the run, or start its FINAL node, if nothing more can happen."""
    if _is_busy(run):
        return
    stopped = run.ending is not None or run.halted
    if not stopped and run.counts[NodeState.READY]:
        return
    if run.halted and run.ending is None and not _all_done(run):
        run.status = RunStatus.HALTED
    final = run.dag.final
    if final is not None and not run.final_begun and run.status is not RunStatus.HALTED:
        run.final_begun = True
        run.waiting.clear()
        run.raised(run.nodes[final.name], On.PARENTS_DONE)
        run.fill()
        if _is_busy(run):
            return
    _finish(run, final)


def _all_done(run: Run) -> bool:
    return all(
        each.state is NodeState.DONE for each in run.nodes.values() if each.node.kind in (NodeKind.JOB, NodeKind.SUBDAG)
    )


def _finish(run: Run, final: Node | None) -> None:
    run.over = True
    if final is not None and run.final_begun:
        code = 0 if run.nodes[final.name].state is NodeState.DONE else 1
    elif run.ending is not None:
        code = run.ending
    else:
        code = 0 if _all_done(run) else 1
    # A successful FINAL node makes the run successful: the next run starts over, unless this one was cut short.
    if code or run.ending:
        run.orders.append(o.KeepRescue())
    for progress in run.nodes.values():
        if progress.state is NodeState.SUBMITTED and progress.left:
            run.remove(progress)
    run.exit_code = code
    run.orders.append(o.Finish(exit_code=code, status=run.status))

"""Infers what the nodes log of a killed run does not record.

Submissions, jobs and POST scripts leave events. A node without a job, a PRE script and a refused submission leave none;
but whatever started after them shows that they had ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.dag import orders as o
from roost.dag.plan import NodeKind, ScriptPoint
from roost.dag.states import SUBMIT_FAILED, NodeState, Progress
from roost.dag.table import BY_STATE, On

if TYPE_CHECKING:
    from roost.dag.run import Run


def catch_up(run: Run, event: o.Event) -> None:
    """Advance a run to a state in which `event`, from its past, can happen."""
    match event:
        case o.NodeSubmitted(node=name):
            _begun(run, run.nodes[name])
        case o.ScriptEnded(node=name, point=ScriptPoint.POST):
            progress = run.nodes[name]
            _begun(run, progress)
            if progress.state is NodeState.READY:
                # The node had nothing to submit, or its PRE script failed.
                _go(run, progress, NodeState.POSTRUN)


def _begun(run: Run, progress: Progress) -> None:
    """A node started, so what it waited for has ended."""
    if progress.state is not NodeState.NOT_READY:
        return
    if not run.provisioned and run.dag.provisioner is not None:
        # Other nodes start before its job only if it has none.
        _failed(run, run.nodes[run.dag.provisioner.name])
        run.begin_ordinary()
    if progress.node.kind is NodeKind.FINAL:
        _all_over(run)
        run.final_begun = True
        run.waiting.clear()
        run.raised(progress, On.PARENTS_DONE)
        return
    names = _ancestors(run, progress.node.name)
    begun = {*names, progress.node.name}
    for name in names:
        ancestor = run.nodes[name]
        if ancestor.state is NodeState.READY and _may_have_been_good(run, ancestor, begun):
            _go(run, ancestor, NodeState.DONE)
        elif ancestor.state is NodeState.READY:
            _failed(run, ancestor)


def _may_have_been_good(run: Run, progress: Progress, begun: set[str]) -> bool:
    """Whether a node without events succeeded, as a later node shows, or may have had no job."""
    node = progress.node
    wanted = any(child in begun and (node.name, child) not in run.dag.weak for child in run.dag.children[node.name])
    return wanted or node.noop or node.pre_skip is not None


def _ancestors(run: Run, name: str) -> list[str]:
    """The ancestors of a node that are not done; parents before their children."""
    found: list[str] = []
    seen: set[str] = set()
    todo = [(name, False)]
    while todo:
        each, is_after_parents = todo.pop()
        if is_after_parents:
            found.append(each)
            continue
        if each not in seen:
            seen.add(each)
            todo.append((each, True))
            todo += [(one, False) for one in run.dag.parents[each] if run.nodes[one].state is not NodeState.DONE]
    return found[:-1]


def _all_over(run: Run) -> None:
    """The FINAL node started, so nothing else was running."""
    ordinary = [each for each in run.nodes.values() if each.node.kind in (NodeKind.JOB, NodeKind.SUBDAG)]
    while left := [each for each in ordinary if each.state in (NodeState.READY, NodeState.POSTRUN)]:
        for progress in left:
            if progress.state is NodeState.POSTRUN:
                # Its script was killed, like all scripts when a run ends.
                progress.status = -9
                _go(run, progress, NodeState.ERROR)
            elif progress.state is NodeState.READY and progress.node.noop and progress.node.pre is None:
                _go(run, progress, NodeState.DONE)
            elif progress.state is NodeState.READY:
                _failed(run, progress)


def _failed(run: Run, progress: Progress) -> None:
    """A node failed without events: its PRE script failed, or the queue refused its jobs."""
    progress.result, progress.details = SUBMIT_FAILED, "the log does not show how it failed"
    _go(run, progress, NodeState.SUBMITTED)
    _go(run, progress, NodeState.ERROR)


def _go(run: Run, progress: Progress, target: NodeState) -> None:
    """Take the row from a node's state to another one, ignoring its guards."""
    run.take(progress, next(row for row in BY_STATE[progress.state] if row.target is target))

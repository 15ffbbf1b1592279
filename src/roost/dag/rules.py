"""The guards and entry actions of the rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.dag import node_jobs
from roost.dag.ending import may_post
from roost.dag.plan import ScriptPoint
from roost.dag.ready import POST
from roost.dag.states import Progress
from roost.dag.table import Entry, Guard
from roost.tables.finder import Verdict, plain

if TYPE_CHECKING:
    from roost.dag.run import Run


#: The subject of guards.
_Subject: TypeAlias = "tuple[Run, Progress]"


def _guard(holds: Callable[[Run, Progress], bool]) -> Callable[[_Subject], Verdict]:
    return lambda subject: plain(holds(*subject))


def _again(run: Run, progress: Progress) -> bool:
    node = progress.node
    stops = node.unless_exit is not None and node.unless_exit == progress.status
    aborts = node.abort is not None and node.abort.status == progress.status
    holds = run.settings.hold_failed and progress.failed and node.post is None
    return (progress.retry < node.retries or holds) and not stops and not aborts and run.ending is None


GUARDS: Final[dict[Guard, Callable[[_Subject], Verdict]]] = {
    Guard.HAS_PRE: _guard(lambda run, progress: progress.node.pre is not None and not progress.prepared),
    Guard.HAS_POST: _guard(lambda run, progress: progress.node.post is not None and may_post(run)),
    Guard.SUBMITS: _guard(lambda run, progress: not progress.node.noop),
    Guard.PRE_SKIPS: _guard(lambda run, progress: progress.status == progress.node.pre_skip),
    Guard.POST_ANYWAY: _guard(lambda run, progress: run.settings.always_post),
    Guard.GOOD: _guard(lambda run, progress: progress.status == 0),
    Guard.AGAIN: _guard(_again),
}


ENTRIES: Final[dict[Entry, Callable[[Run, Progress], None]]] = {
    Entry.QUEUE_UP: lambda run, progress: run.queue_up(progress),
    Entry.RUN_PRE: lambda run, progress: run.run_script(progress, ScriptPoint.PRE),
    Entry.PREPARED: lambda run, progress: setattr(progress, "prepared", True),
    Entry.SUBMIT: node_jobs.submit,
    Entry.RUN_POST: lambda run, progress: run.waiting.add((POST, ""), progress.node.name, progress.node.priority),
    Entry.NEXT_TRY: lambda run, progress: run.next_try(progress),
    Entry.RELEASE: lambda run, progress: run.release(progress),
    Entry.GIVE_UP: lambda run, progress: run.give_up(progress),
}

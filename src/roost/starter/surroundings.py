"""Handlers of results of the work around a job: sandbox, hooks, input, prolog and epilog.

Handlers record what an event means and raise triggers; they change neither state nor stage. `receptions` says where
each is called.
"""

from __future__ import annotations

from typing import Final

from roost.model import starter_events as ev
from roost.model.starter import Cause, Ending, HookPoint, OrderedBy, ScriptFailure, ScriptPoint, StarterVacate
from roost.model.starter_effects import Warn
from roost.starter.endings import weightier
from roost.starter.entries import SCRIPTS, abandon, run_scripts, with_attributes
from roost.starter.hooks import not_run, prepared
from roost.starter.scripts import script_cause
from roost.starter.states import Stage
from roost.starter.transitions import On
from roost.starter.work import Work


def fail(work: Work, cause: Cause) -> bool:
    """Fail the stage: the job has to leave."""
    work.update(doing=None, cause=weightier(work.state.cause, cause))
    work.fire(On.FAILED)
    return True


def held(code: int, subcode: int, text: str) -> Cause:
    """The cause for putting the job on hold."""
    return Cause(ending=Ending.HOLD, code=code, subcode=subcode, text=text, by=OrderedBy.STARTER)


def requeued(code: int, text: str) -> Cause:
    """The cause for requeueing the job."""
    return Cause(ending=Ending.EVICT, code=code, text=text, by=OrderedBy.STARTER)


def work_done(work: Work, event: object) -> bool:
    """Note that the work of the stage is done."""
    work.update(doing=None)
    return True


def sandbox_failed(work: Work, event: ev.SandboxFailed) -> bool:
    """Requeue the job. It is not at fault, and another machine can usually help."""
    if event.code is not None:
        return fail(work, held(event.code, 0, event.text))
    return fail(work, requeued(StarterVacate.SCRATCH_DIRECTORY, f"No scratch directory: {event.text}"))


def hook_ended(work: Work, event: ev.HookEnded) -> bool:
    """Handle the end of a hook. A prepare hook decides whether and how the job runs; other hooks decide nothing."""
    if event.point is not _AWAITED_IN.get(work.state.stage):
        return False
    work.schedule(hook_until=None)
    if event.point not in _PREPARES:
        return work_done(work, event)
    result = prepared(event.point, event.status, event.printed)
    if result.cause is not None:
        return fail(work, result.cause)
    if result.message:
        work.order(Warn(about=event.point, text=result.message))
    if len(result.updates):
        work.update(job_ad=with_attributes(work.state.job_ad, result.updates))
    return work_done(work, event)


def hook_not_run(work: Work, event: ev.HookNotRun) -> bool:
    """Handle a hook that could not be run. A prepare hook then keeps the job from running; an exit hook is only
    skipped.
    """
    if event.point is HookPoint.UPDATE or event.point is _AWAITED_IN.get(work.state.stage):
        work.order(Warn(about=event.point, text=f"could not be run: {event.text}"))
    if event.point is not _AWAITED_IN.get(work.state.stage):
        return False
    work.schedule(hook_until=None)
    return fail(work, not_run(event.point, event.text)) if event.point in _PREPARES else work_done(work, event)


def hook_late(work: Work) -> bool:
    """Handle a hook that timed out. Without a result of the prepare hook, the job does not run."""
    point = _AWAITED_IN.get(work.state.stage)
    if point in _PREPARES:
        abandon(work)
        return fail(work, not_run(point, "it took too long"))
    work.fire(On.HOOK_LATE)
    return True


#: Hooks whose result decides whether the job runs.
_PREPARES: Final = (HookPoint.PREPARE_EARLY, HookPoint.PREPARE)

_AWAITED_IN: Final = {
    Stage.EARLY_HOOK: HookPoint.PREPARE_EARLY,
    Stage.HOOK: HookPoint.PREPARE,
    Stage.VACATE_HOOK: HookPoint.VACATE,
    Stage.FAILURE_HOOK: HookPoint.FAILURE,
    Stage.EXIT_HOOK: HookPoint.EXIT,
}


def input_failed(work: Work, event: ev.InputFailed) -> bool:
    """Put the job on hold, or requeue it if the machine is at fault."""
    if event.code is None:
        return fail(work, requeued(StarterVacate.SCRATCH_DIRECTORY, event.text))
    return fail(work, held(event.code, event.subcode, event.text))


def script_ended(work: Work, event: ev.ScriptEnded) -> bool:
    """Handle the end of a script. Prolog and epilog decide about the job, the epilog even if the job ended well."""
    points = SCRIPTS.get(work.state.stage, ())
    if event.point not in points or event.point is not work.state.script:
        return False
    after = points[points.index(event.point) + 1 :]
    if event.printed and not work.state.printed:
        work.update(printed=True)
    if event.status == 0:
        return _next_script(work, event, after)
    if event.point is ScriptPoint.CLEAN:
        how = "could not be run" if event.status is None else f"exited with status {event.status}"
        work.order(Warn(about=event.point, text=f"it {how}"))
        return _next_script(work, event, after)
    failure = ScriptFailure(point=event.point, status=event.status)
    work.update(script_failures=(*work.state.script_failures, failure))
    cause = script_cause(event.point, event.status)
    if cause is not None and work.state.stage is Stage.PROLOG:
        return fail(work, cause)
    if cause is not None:
        work.update(cause=weightier(work.state.cause, cause))
    return _next_script(work, event, after)


def _next_script(work: Work, event: ev.ScriptEnded, after: tuple[ScriptPoint, ...]) -> bool:
    work_done(work, event)
    run_scripts(work, after)
    return True

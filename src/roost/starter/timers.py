"""What happens when a timer of a starter runs out, and what is done again and again until then.

Two of these rules fit no row of the transition table, for they change no state: a hard kill is repeated until the job
is gone, and startd, queue and a hook are told regularly how the job is doing.
"""

from __future__ import annotations

from roost.model.starter import HookPoint, StarterTimer
from roost.model.starter_effects import KillProcesses, ReportUsage, RunHook
from roost.model.starter_events import StarterTimerFired
from roost.starter.entries import hook_program, with_attributes
from roost.starter.starter_ad import update_attributes
from roost.starter.states import EPILOG, EXIT_HOOK
from roost.starter.transitions import On
from roost.starter.work import Work, deadline


def timer_fired(work: Work, event: StarterTimerFired) -> bool:
    """One that has been set anew since, or cancelled, means nothing."""
    at = deadline(work.state.deadlines, event.timer)
    if at is None or at > work.now:
        return False
    match event.timer:
        case StarterTimer.POLL:
            work.fire(On.POLL)
        case StarterTimer.UPDATE:
            report_usage(work)
        case StarterTimer.VACATE:
            work.fire(On.VACATE_LATE)
        case StarterTimer.KILLING:
            repeat_killing(work)
        case StarterTimer.HOOK:
            work.fire(On.HOOK_LATE)
        case StarterTimer.FINISH:
            if work.state.pair not in (EPILOG, EXIT_HOOK):
                return False
            work.fire(On.FINISH_LATE)
    return True


def repeat_killing(work: Work) -> None:
    """A hard kill is repeated until the job is gone."""
    work.order(KillProcesses())
    work.schedule(kill_again_at=work.now + work.policy.killing_s(work.state.universe))


def report_usage(work: Work) -> None:
    """Report what is known now, and set the time for the next report. Nobody waits for the hook."""
    attributes = update_attributes(work.state, work.now)
    work.order(ReportUsage(attributes=attributes))
    program = hook_program(work, HookPoint.UPDATE)
    if program is not None:
        ad = with_attributes(work.state.job_ad, attributes)
        work.order(
            RunHook(point=HookPoint.UPDATE, path=program.path, arguments=program.arguments, ad=ad, awaited=False)
        )
    work.schedule(update_at=work.now + work.policy.update_interval_s)

"""Recurring work of a starter, driven by its timers.

These rules fit no row of the transition table because they change no state: a hard kill is repeated until the job is
gone, and the job's status is regularly reported to startd, queue and a hook.
"""

from __future__ import annotations

from roost.model.starter import HookPoint, StarterTimer
from roost.model.starter_effects import KillProcesses, ReportUsage, RunHook
from roost.starter.entries import hook_program, with_attributes
from roost.starter.starter_ad import update_attributes
from roost.starter.work import Work, deadline


def timer_is_due(work: Work, timer: StarterTimer) -> bool:
    """Whether a timer that fired is one that is still set."""
    at = deadline(work.state.deadlines, timer)
    return at is not None and at <= work.now


def repeat_killing(work: Work) -> None:
    """Repeat a hard kill until the job is gone."""
    work.order(KillProcesses())
    work.schedule(kill_again_at=work.now + work.policy.killing_s(work.state.universe))


def update_interval_s(work: Work) -> float:
    """Interval between two reports, s: a queue instance may want them more often than the machine."""
    context = work.state.launch.context
    wanted = work.policy.update_interval_s
    return wanted if context is None or context.report_s is None else min(wanted, context.report_s)


def report_usage(work: Work) -> None:
    """Report the current status, and schedule the next report. The hook is not waited for."""
    attributes = update_attributes(work.state, work.now)
    work.order(ReportUsage(attributes=attributes))
    program = hook_program(work, HookPoint.UPDATE)
    if program is not None:
        ad = with_attributes(work.state.job_ad, attributes)
        work.order(
            RunHook(
                point=HookPoint.UPDATE,
                path=program.path,
                arguments=program.arguments,
                ad=ad,
                awaited=False,
                timeout_s=program.timeout_s,
            )
        )
    work.schedule(update_at=work.now + update_interval_s(work))

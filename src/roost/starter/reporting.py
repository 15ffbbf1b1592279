"""Telling startd, queue and a hook regularly how the job is doing."""

from __future__ import annotations

from roost.model.starter import HookPoint
from roost.model.starter_effects import ReportUsage, RunHook
from roost.starter.entries import hook_program, with_attributes
from roost.starter.starter_ad import update_attributes
from roost.starter.work import Work


def report_usage(work: Work) -> None:
    """Report what is known now, and set the time for the next report. Nobody waits for the hook."""
    attributes = update_attributes(work.state)
    work.order(ReportUsage(attributes=attributes))
    program = hook_program(work, HookPoint.UPDATE)
    if program is not None:
        ad = with_attributes(work.state.job_ad, attributes)
        work.order(
            RunHook(point=HookPoint.UPDATE, path=program.path, arguments=program.arguments, ad=ad, awaited=False)
        )
    work.schedule(update_at=work.now + work.policy.update_interval_s)

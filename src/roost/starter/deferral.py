"""Deferred jobs: when a job with a start time starts, how long it waits, and when it is too late.

The machine's clock is compared with the job's `DeferralTime` (epoch s) and `DeferralWindow` (s) once everything else is
prepared. A job that is early waits. A job that is late starts at once if the window is still open, counted in whole
seconds, and goes on hold otherwise. A delay of the starter after the wait is not charged to the job, up to `LATE_S`; a
job on a machine that slept for longer has missed its time like any other.

Source: HTCondor's manual, "Time Scheduling for Job Execution".
"""

from __future__ import annotations

import math
from typing import Final

from roost.classad import ClassAd, unparse_value
from roost.classad.ad import MISSING
from roost.model.starter import Cause, Doing, Ending, OrderedBy, StarterHold
from roost.model.starter_effects import ReportUsage
from roost.starter.endings import weightier
from roost.starter.starter_ad import update_attributes
from roost.starter.work import Work

#: How late a job that was ready in time may start, s.
LATE_S: Final = 10.0


def is_deferred(job_ad: ClassAd) -> bool:
    """Return whether a job has a start time."""
    return job_ad.cell("deferraltime") is not MISSING


def defer(work: Work) -> None:
    """Wait for the job's start time; nothing to wait for if there is none, or if it is past."""
    at = _number(work, "DeferralTime") if is_deferred(work.state.job_ad) else None
    if at is not None and at > work.now:
        _wait_until(work, at)


def defer_again(work: Work) -> None:
    """Wait for the same start time after the starter was restarted."""
    at = work.state.deadlines.deferred_until
    if at is not None and at > work.now:
        work.update(doing=Doing.DEFERRAL)


def _wait_until(work: Work, at: float) -> None:
    work.update(doing=Doing.DEFERRAL)
    work.schedule(deferred_until=at)
    work.order(ReportUsage(attributes=update_attributes(work.state, work.now)))


def missed(work: Work) -> str | None:
    """Return why the job can no longer start, in words; None if it can."""
    state = work.state
    if not is_deferred(state.job_ad):
        return None
    waited = state.deadlines.deferred_until
    at = waited if waited is not None else _number(work, "DeferralTime")
    if at is None:
        return f"DeferralTime is {_shown(work, 'DeferralTime')}, which is not a time in seconds since 1970"
    given = "DeferralWindow" in state.job_ad
    window_s = _number(work, "DeferralWindow") if given else 0.0
    if window_s is None:
        return f"DeferralWindow is {_shown(work, 'DeferralWindow')}, which is not a number of seconds"
    late_s = math.floor(work.now) - math.floor(at)
    if late_s <= window_s or (waited is not None and late_s <= window_s + LATE_S):
        return None
    return f"The job missed its start time by {late_s} s; its DeferralWindow is {window_s:g} s"


def note_missed(work: Work) -> None:
    """Put the job on hold because it missed its start time."""
    text = missed(work)
    assert text is not None
    code = StarterHold.MISSED_DEFERRED_EXECUTION_TIME
    cause = Cause(ending=Ending.HOLD, code=code, text=text, by=OrderedBy.STARTER)
    work.update(cause=weightier(work.state.cause, cause))


def _number(work: Work, name: str) -> float | None:
    """Return a job attribute that must be a number >= 0; None if it is not one."""
    value = work.inputs.of_job(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return float(value)


def _shown(work: Work, name: str) -> str:
    value = work.inputs.of_job(name)
    return "missing" if value is None else unparse_value(value)

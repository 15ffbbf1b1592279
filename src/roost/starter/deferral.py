"""A job that is to start at an instant: when that is, how long it is waited for, and when it is too late.

`DeferralTime` (epoch s) and `DeferralWindow` (s) of the job are read by the machine's own clock when everything else is
prepared. A job that comes early waits; one that comes late starts at once if the window is still open, counted in whole
seconds, and goes on hold otherwise. A starter's own delay after the wait is not the job's fault: `LATE_S` of it are
forgiven, and a machine that slept for longer has missed the time like any other.

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

#: How late a job may start that was there in time, s.
LATE_S: Final = 10.0


def is_deferred(job_ad: ClassAd) -> bool:
    """Whether a job is to start at an instant."""
    return job_ad.cell("deferraltime") is not MISSING


def defer(work: Work) -> None:
    """Nothing to wait for where the job names no instant, or one that is past."""
    at = _number(work, "DeferralTime") if is_deferred(work.state.job_ad) else None
    if at is not None and at > work.now:
        _wait_until(work, at)


def defer_again(work: Work) -> None:
    """After the starter's own death the job waits for the same instant."""
    at = work.state.deadlines.deferred_until
    if at is not None and at > work.now:
        work.update(doing=Doing.DEFERRAL)


def _wait_until(work: Work, at: float) -> None:
    work.update(doing=Doing.DEFERRAL)
    work.schedule(deferred_until=at)
    work.order(ReportUsage(attributes=update_attributes(work.state, work.now)))


def missed(work: Work) -> str | None:
    """Why the job cannot be started any more, in words; None where it can."""
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
    return f"The job missed the time at which it was to start by {late_s} s; its DeferralWindow is {window_s:g} s"


def note_missed(work: Work) -> None:
    """The job goes on hold."""
    text = missed(work)
    assert text is not None
    code = StarterHold.MISSED_DEFERRED_EXECUTION_TIME
    cause = Cause(ending=Ending.HOLD, code=code, text=text, by=OrderedBy.STARTER)
    work.update(cause=weightier(work.state.cause, cause))


def _number(work: Work, name: str) -> float | None:
    """The value of an attribute of the job that is to be a number from 0 on; None if it is none."""
    value = work.inputs.of_job(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return float(value)


def _shown(work: Work, name: str) -> str:
    value = work.inputs.of_job(name)
    return "missing" if value is None else unparse_value(value)

"""How long a job has between the soft and the hard kill.

The machine pledges a time when it accepts the job. A job may request less, which it gets, or more, which it gets as far
as it has retirement time left, since that time was its own anyway. A value that is not a whole number requests nothing.

A machine that pledges no limit leaves it to the job; where the job sets none either, the soft kill runs its course.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.classad import Value

if TYPE_CHECKING:
    from roost.starter.work import Work


def vacate_limit_s(work: Work) -> float | None:
    """How long a job may take from now on, s; None for no limit."""
    inputs, state = work.inputs, work.state
    wanted = inputs.of_job("JobMaxVacateTime")
    if wanted is None:
        wanted = inputs.of_job("KillSigTimeout")
    left = work.retirement_s
    if left is None:
        left = max(0.0, state.launch.retirement_s - state.run_time_s(work.now))
    return vacate_time_s(state.launch.vacate_pledge_s, wanted=wanted, retirement_s=left)


def vacate_time_s(pledged_s: float | None, *, wanted: Value | None, retirement_s: float) -> float | None:
    """The vacate time, s; None for no limit.

    `wanted` is the value of the job's JobMaxVacateTime (or KillSigTimeout), None where it has neither; `retirement_s`
    the retirement that is left.
    """
    if wanted is None:
        return pledged_s
    asked = float(wanted) if isinstance(wanted, int) and not isinstance(wanted, bool) else 0.0
    if pledged_s is None or asked <= pledged_s:
        return max(0.0, asked)
    return min(asked, max(retirement_s, pledged_s))

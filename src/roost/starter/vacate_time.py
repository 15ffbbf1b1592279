"""How long a job has between the soft and the hard kill.

The machine pledges a time when it accepts the job. A job may want less, which it gets, or more, which it gets as far
as it has retirement left: that time was its own anyway. A job that wants what is not a whole number wants nothing.

A machine that pledges no limit leaves it to the job; where the job sets none either, the soft kill runs its course.
"""

from __future__ import annotations

from roost.classad import Value


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

"""Suspended jobs that never get back in time.

What: After one touch of the keyboard a job is suspended. PREEMPT becomes TRUE before CONTINUE can.

Why: CONTINUE waits for a keyboard that has been idle for longer than a job may stay suspended: every suspension ends
in eviction, and suspending only costs time.

Example::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 900
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600
    START = KeyboardIdle > 1800

Instead::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600
    START = KeyboardIdle > 1800
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.base.records import replace
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import busy, suspended

_TIMES_S = tuple(sorted({*range(5, 130, 10), *(m * 60 + 5 for m in range(1, 181, 1)), 4 * 3600, 8 * 3600}))


@pool_rule("RST406", Severity.WARNING, "D7")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        resume = machine.place_of("CONTINUE", "PREEMPT")
        if machine.broken or resume is None or not machine.is_set("SUSPEND"):
            continue
        found = _first_times(machine)
        if found is not None and found[0] <= found[1]:
            yield Hit(
                message=f"a job suspended by the keyboard is preempted after {found[0]} s; "
                f"it could continue only after {found[1]} s",
                remedy="Let CONTINUE be TRUE some time before PREEMPT is: MaxSuspendTime must exceed ContinueIdleTime.",
                expression=resume,
            )


def _first_times(machine: Machine) -> tuple[int, int] | None:
    """When PREEMPT and when CONTINUE become TRUE after one touch of the keyboard; None if not both do."""
    calm = machine.situations[0]
    touched = machine.kept(replace(calm, machine={**calm.machine, "KeyboardIdle": 1}))
    if not (machine.holds("WANT_SUSPEND", touched, busy(7200)) and machine.holds("SUSPEND", touched, busy(7200))):
        return None
    preempted = resumed = None
    for seconds in _TIMES_S:
        situation = machine.kept(replace(calm, machine={**calm.machine, "KeyboardIdle": seconds}))
        if preempted is None and machine.holds("PREEMPT", situation, suspended(seconds)):
            if seconds == _TIMES_S[0]:
                # It has nothing to do with how long the job is suspended.
                return None
            preempted = seconds
        if resumed is None and machine.holds("CONTINUE", situation, suspended(seconds)):
            resumed = seconds
        if resumed is not None and preempted is None:
            return None
        if resumed is not None and preempted is not None:
            return preempted, resumed
    return None

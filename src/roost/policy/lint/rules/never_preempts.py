"""SUSPEND or PREEMPT that is never TRUE.

What: SUSPEND or PREEMPT is not simply FALSE, yet in no situation TRUE for a running or suspended job.

Why: It was meant to get jobs out of the owner's way, and does nothing.

Example::

    PREEMPT = KeyboardIdle < 60 && State == "Owner"
    START = KeyboardIdle > 900

Instead::

    PREEMPT = KeyboardIdle < 60
    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines
from roost.policy.lint.situations import HELD


@pool_rule("RST419", Severity.WARNING, "D1", "D6")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        for knob in ("SUSPEND", "PREEMPT"):
            written = machine.written.get(knob)
            if machine.broken or written is None or machine.is_literal(knob):
                continue
            if written.inferred.too_deep or _switched_off(written.mapped.text):
                continue
            if machine.never(knob, *HELD):
                yield Hit(
                    message=f"{written.knob} is never TRUE for a job that runs or is suspended",
                    remedy="Correct the condition, or set it to False to say that this is meant.",
                    expression=written,
                )


def _switched_off(text: str) -> bool:
    """Whether it was switched off on purpose, by ``False &&`` or the like."""
    return "false" in text.lower()

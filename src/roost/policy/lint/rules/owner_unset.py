"""START that keeps jobs away while the owner is there, without IS_OWNER.

What: START asks for KeyboardIdle or ConsoleIdle and is FALSE without a job while the owner is there, and IS_OWNER is
not set.

Why: The slot accepts no jobs then, but its state is Unclaimed, not Owner. Older manuals of HTCondor describe the
default ``IS_OWNER = START =?= False``, under which it is Owner; the default of current HTCondor and of Roost is False.
Only what is shown depends on it, and what asks for the state: backfill (from Unclaimed only), drains, statistics.

Example::

    START = KeyboardIdle > 900

Instead::

    START = KeyboardIdle > 900
    IS_OWNER = (START =?= False)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines, truth
from roost.policy.lint.situations import UNCLAIMED

_PRESENCE: Final = frozenset(("keyboardidle", "consoleidle"))


@pool_rule("RST424", Severity.NOTE, "D2")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        start = machine.written.get("START")
        if machine.broken or start is None or "IS_OWNER" in machine.written or _PRESENCE.isdisjoint(start.names):
            continue
        values = {truth(machine.value("START", s, UNCLAIMED, with_job=False)) for s in machine.situations}
        if False in values and values != {False}:
            yield Hit(
                message="START is FALSE while the owner is there, and the slot shows as Unclaimed: IS_OWNER is not set",
                remedy="Add `IS_OWNER = (START =?= False)` if it is to show as Owner.",
                expression=start,
            )
            return

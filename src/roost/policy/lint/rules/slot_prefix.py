"""A policy knob with a slot's prefix.

What: ``SLOT1_START``, ``SLOT2_RANK`` and the like.

Why: Only attributes listed in STARTD_ATTRS and a few knobs have a form for single slots. The setting is read by
nothing, and the slot follows the common expression.

Example::

    SLOT1_START = KeyboardIdle > 900

Instead::

    START = SlotID != 1 || KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST511", Severity.WARNING, "D24")
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.SLOT_PREFIX_IGNORED):
        yield Hit(
            message=hit.message,
            place=hit.place,
            knob=hit.knob,
            remedy="Test SlotID in the expression, or use SLOT_TYPE_<N>_ for the slots of one type.",
        )

"""Unbalanced parentheses in a macro.

What: The value of a macro that no expression uses yet opens more parentheses than it closes, or closes more.

Why: Nothing happens until an expression uses the macro: then it cannot be read, and the daemon does not start.

Example::

    MachineBusy = ($(CPUBusy) || $(KeyboardBusy)
    CPUBusy = (LoadAvg > 0.5)
    KeyboardBusy = (KeyboardIdle < 60)

Instead::

    MachineBusy = ($(CPUBusy) || $(KeyboardBusy))
    CPUBusy = (LoadAvg > 0.5)
    KeyboardBusy = (KeyboardIdle < 60)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.knobs import find
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.rules.dead_redefinition import reachable

_OPERATOR = re.compile(r"&&|\|\||[=!<>]=|=\?=|=!=|[<>]|\b\w+\s*\(")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


@pool_rule("RST528", Severity.WARNING, "A3", "A4")
def check(pool: Pool) -> Iterator[Hit]:
    used = reachable(pool)
    for key, chain in pool.user_definitions():
        definition = chain[-1]
        if definition.origin is not Origin.FILE or key in used or find(key) is not None or "." in key:
            continue
        text = _TEXT.sub("", definition.text)
        missing = text.count("(") - text.count(")")
        if missing and _OPERATOR.search(text):
            what = f"{missing} parenthes{'es are' if missing > 1 else 'is is'} not closed"
            if missing < 0:
                what = f"{-missing} parenthes{'es close' if missing < -1 else 'is closes'} nothing"
            yield Hit(
                message=f"in {definition.name} {what}",
                remedy="Balance the parentheses.",
                place=pool.place(definition),
                knob=definition.name,
            )

"""A macro changed without effect.

What: A macro is defined again, but no knob uses it, not even through other macros. Files that set no policy are left
out: they define macros for others.

Why: The manual once said that MachineBusy is what SUSPEND and PREEMPT are made of; in the policy that it prints they
are not. Adding working hours to MachineBusy then does nothing.

Example::

    KeyboardBusy = KeyboardIdle < 60
    MachineBusy = $(KeyboardBusy)
    WANT_SUSPEND = True
    SUSPEND = $(KeyboardBusy)
    CONTINUE = KeyboardIdle > 300
    MachineBusy = $(KeyboardBusy) || ClockMin > 480

Instead::

    KeyboardBusy = KeyboardIdle < 60
    MachineBusy = $(KeyboardBusy) || (ClockMin > 480 && ClockMin < 1020)
    WANT_SUSPEND = True
    SUSPEND = $(MachineBusy)
    CONTINUE = KeyboardIdle > 300 && (ClockMin < 480 || ClockMin > 1020)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.knobs import find, replacement
from roost.config.references import names_in
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_CONDITION = re.compile(r"&&|\|\||[<>]|[=!]=|=[?!]=")


@pool_rule("RST527", Severity.WARNING, "A6")
def check(pool: Pool) -> Iterator[Hit]:
    if not any(one.policy for one in pool.expressions):
        return
    used = reachable(pool)
    for key, chain in pool.user_definitions():
        changed = len(chain) > 1 and chain[-1].origin is Origin.FILE and chain[-1].text != chain[-2].text
        # What holds no condition is nothing that a policy is made of: mostly a knob of HTCondor that Roost has not.
        if not changed or not _CONDITION.search(chain[-1].text):
            continue
        if key in used or "." in key or find(key) is not None or replacement(key) is not None:
            continue
        yield Hit(
            message=f"{chain[-1].name} is changed here, but no knob uses it",
            remedy="Use the macro in the knobs that it is meant to change, or change these.",
            place=pool.place(chain[-1]),
            knob=chain[-1].name,
            related=(("defined before", pool.place(chain[-2])),),
        )


def reachable(pool: Pool) -> set[str]:
    """Folded names of the macros that some knob or published attribute uses, however deep."""
    published = {expression.base for expression in pool.expressions if expression.attribute}
    roots = [key for key in pool.config.chains if find(key) is not None or "." in key or key in published]
    seen: set[str] = set(published)
    work = list(roots)
    while work:
        for definition in pool.config.definitions(work.pop()):
            if "$" not in definition.text:
                continue
            for name in names_in(definition.text) - seen:
                seen.add(name)
                work.append(name)
    return seen

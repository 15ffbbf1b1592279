"""A unit of time that means something else.

What: MINUTE or HOUR is set to another number of seconds than that of the unit.

Why: Names have no case: ``Hour = 60`` is HOUR. The policies of templates and of other files count in ``$(HOUR)``, and
what they allow for an hour then ends after a minute.

Example::

    Hour = 60
    START = ClockMin >= (15 * $(Hour))

Instead::

    MinutesPerHour = 60
    START = ClockMin >= (15 * $(MinutesPerHour))
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool, constant_number
from roost.policy.lint.registry import Hit, pool_rule

_SECONDS = {"minute": 60, "hour": 3600}


@pool_rule("RST535", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for name, seconds in _SECONDS.items():
        definition = pool.last(name)
        if definition is None or definition.origin is not Origin.FILE:
            continue
        value = constant_number(pool.value(name) or "")
        if value is not None and value != seconds:
            others = f"also where others use $({name.upper()})"
            yield Hit(
                message=f"{definition.name} is {value:g} instead of {seconds} seconds, {others}",
                remedy="Use a name of your own.",
                place=pool.place(definition),
                knob=definition.name,
            )

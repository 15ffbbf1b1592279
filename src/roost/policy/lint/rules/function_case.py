"""A function macro in the wrong case.

What: ``$env(…)``, ``$Int(…)`` or the like, where the function is called ENV or INT.

Why: Names of macros are the same in any case; names of functions are not. ``$env(HOME)`` stays in the value as it
stands, and a path begins with a dollar sign.

Example::

    EXECUTE = $env(SCRATCH)/execute

Instead::

    EXECUTE = $ENV(SCRATCH)/execute
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.references import FUNCTIONS
from roost.policy.lint.findings import Edit, Fix
from roost.policy.lint.mapping import place_at
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_CALL = re.compile(r"(?<!\$)\$([A-Za-z_]+)(?=\()")


@pool_rule("RST529", Severity.WARNING, "E11", fixes=True)
def check(pool: Pool) -> Iterator[Hit]:
    for _, chain in pool.user_definitions():
        definition = chain[-1]
        if definition.origin is not Origin.FILE:
            continue
        for call in _CALL.finditer(definition.written):
            name = call.group(1)
            if name in FUNCTIONS or name.upper() not in FUNCTIONS:
                continue
            place = place_at(definition, call.start(), len(name) + 1)
            edit = Edit(file=place.file, line=place.line, column=place.column, old=call.group(), new=f"${name.upper()}")
            yield Hit(
                message=f"${name}(…) is not a function: names of functions are in capitals",
                remedy=f"Write ${name.upper()}(…).",
                place=place,
                knob=definition.name,
                fix=Fix(title=f"write ${name.upper()}", edits=(edit,)),
            )

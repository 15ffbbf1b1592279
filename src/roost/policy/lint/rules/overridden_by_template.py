"""A template overrides a setting above it.

What: A policy expression is set, and a ``use POLICY`` below it sets the same one without referring to the earlier
value.

Why: Templates act where they stand, as if their lines were written there; the last setting counts. What was written
above has no effect.

Example::

    START = KeyboardIdle > 1800
    use POLICY : Always_Run_Jobs

Instead::

    use POLICY : Always_Run_Jobs
    START = KeyboardIdle > 1800
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roost.config import Origin
from roost.config.references import names_in
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.findings import Place, Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST522", Severity.WARNING, "E7")
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.user_definitions():
        if key.upper() not in KNOB_POLICIES or chain[-1].origin is not Origin.TEMPLATE:
            continue
        for earlier, later in pairwise(chain):
            if earlier.origin is not Origin.FILE or later.origin is not Origin.TEMPLATE:
                continue
            # The same file: in another one, the template is meant to replace what was set for all machines.
            outer = later.span.via
            while outer is not None and outer.via is not None:
                outer = outer.via
            if outer is None or outer.file != earlier.span.file or key in names_in(later.written):
                continue
            yield Hit(
                message=f"{earlier.name} is set here, and set again by {later.span.file} below",
                remedy="Move the setting below the use statement, or drop it.",
                place=pool.place(earlier),
                knob=earlier.name,
                related=(("the use statement", Place(outer.file, outer.line, outer.column)),),
            )

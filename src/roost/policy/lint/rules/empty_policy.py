"""A policy expression without a value.

What: ``PREEMPT =`` with nothing behind the equals sign.

Why: An empty value counts as not set: the default holds, not FALSE, and an earlier setting is blanked out.

Example::

    WANT_VACATE =

Instead::

    WANT_VACATE = False
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.model import ValueKind

#: Knobs for which having no value is itself a setting.
_MEANT: Final = frozenset(("claim_worklife", "rank", "defrag_requirements"))


@pool_rule("RST521", Severity.WARNING, "E5")
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.user_definitions():
        definition = chain[-1]
        row = KNOB_POLICIES.get(key.rpartition(".")[2].upper())
        if row is None or definition.text.strip() or definition.origin is not Origin.FILE or key in _MEANT:
            continue
        if row.default is None or row.kind is not ValueKind.BOOLEAN:
            continue
        yield Hit(
            message=f"{definition.name} has no value: the default holds, {row.default}",
            remedy="Write True or False.",
            place=pool.place(definition),
            knob=definition.name,
        )

"""Backfill that is described and not enabled.

What: START_BACKFILL or EVICT_BACKFILL is set, and ENABLE_BACKFILL is not TRUE or BACKFILL_SYSTEM is not set.

Why: Both are needed for backfill. Without them the expressions are never asked.

Example::

    START_BACKFILL = KeyboardIdle > 900
    EVICT_BACKFILL = KeyboardIdle < 60

Instead::

    ENABLE_BACKFILL = True
    BACKFILL_SYSTEM = BOINC
    BOINC_Executable = /usr/bin/boinc_client
    BOINC_InitialDir = /var/lib/boinc
    BOINC_Owner = boinc
    START_BACKFILL = KeyboardIdle > 900
    EVICT_BACKFILL = KeyboardIdle < 60
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST619", Severity.WARNING, "D34")
def check(pool: Pool) -> Iterator[Hit]:
    missing = [] if pool.condition("ENABLE_BACKFILL") else ["ENABLE_BACKFILL = True"]
    if not (pool.value("BACKFILL_SYSTEM") or "").strip():
        missing.append("BACKFILL_SYSTEM = BOINC")
    for name in ("START_BACKFILL", "EVICT_BACKFILL"):
        definition = pool.last(name)
        if missing and definition is not None and definition.origin is Origin.FILE:
            yield Hit(
                message=f"{name} is never asked: backfill is not enabled",
                remedy=f"Add {' and '.join(missing)}, or remove {name}.",
                place=pool.place(definition),
                knob=name,
            )
            return

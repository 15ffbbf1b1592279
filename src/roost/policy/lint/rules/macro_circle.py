"""Macros in a circle.

What: Macros refer to each other in a circle, or double each other beyond all bounds.

Why: There is no value. The reader of HTCondor hangs on such a file. Only a reference of a macro to itself, in its own
assignment, has a meaning: its earlier value.

Example::

    CpuIsIdle = $(NotBusy)
    NotBusy = $(CpuIsIdle)
    STARTD_DEBUG = $(NotBusy)

Instead::

    CpuIsIdle = (LoadAvg < 0.3)
    NotBusy = $(CpuIsIdle)
    STARTD_DEBUG = $(NotBusy)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST504", Severity.ERROR, "E4")
def check(pool: Pool) -> Iterator[Hit]:
    seen: set[frozenset[str]] = set()
    for _, hit in forwarded(pool, Code.MACRO_CYCLE, Code.EXPANSION_LIMIT):
        circle = frozenset(hit.message.rpartition(": ")[2].split(" -> "))
        # A macro that refers to one of the circle has the same finding; once is enough.
        if len(circle) == 1 or circle not in seen:
            seen.add(circle)
            yield hit

"""A knob that Roost accepts and does not act on.

What: A line sets a knob of HTCondor to something that does not happen in Roost, or names a host in a list of users. The
knob's row in the reference of knobs says why, and what to use instead.

Why: The setting reads as if it were in force. It is an error where the knob protects or limits something, such as
DENY_DAEMON; a note where nothing is lost, for Roost does the same in another way.

Example::

    STARTD_NOCLAIM_SHUTDOWN = 3600

Instead::

    if ! defined ROOST
      STARTD_NOCLAIM_SHUTDOWN = 3600
    endif
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.base.records import replace
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST530", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for diagnostic, hit in forwarded(pool, Code.WITHOUT_EFFECT, Code.ACCESS_LIST):
        yield replace(hit, severity=Severity.NOTE) if diagnostic.severity is Severity.NOTE else hit

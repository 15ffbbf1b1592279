"""The configuration itself complains.

What: An ``error :`` or ``warning :`` statement was reached.

Why: The author of the configuration wanted this situation to be noticed.

Example::

    warning : this machine is not in any group yet

Instead::

    # this machine is not in any group yet
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST515", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.ERROR_STATEMENT, Code.WARNING_STATEMENT):
        yield hit

"""A source that cannot be read.

What: A file that the configuration includes, or names in LOCAL_CONFIG_FILE, does not exist.

Why: A daemon refuses to start without it. If it exists only on another machine, the linter has not seen what it sets.

Example::

    include : /nonexistent/policy.config

Instead::

    include ifexist : /nonexistent/policy.config
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.base.records import replace
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST516", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.SOURCE_MISSING, Code.SOURCE_TOO_LARGE, Code.NOT_TEXT, Code.COMMAND_FAILED):
        # It may well exist on the machine that the configuration is for.
        yield replace(hit, severity=None)

"""A knob with the prefix of a daemon that does not read it.

What: A name such as ``STARTD.MAX_JOBS_SUBMITTED``: the part before the dot is a daemon, and another daemon reads the
knob.

Why: With a prefix a setting counts for that daemon alone, so this one counts for none.

Example::

    STARTD.MAX_JOBS_SUBMITTED = 5000

Instead::

    SCHEDD.MAX_JOBS_SUBMITTED = 5000
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST531", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.OTHER_DAEMON):
        yield hit

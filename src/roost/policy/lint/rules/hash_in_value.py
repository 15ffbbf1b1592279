"""A comment behind a value.

What: ``#`` stands behind other text on the line.

Why: A line cannot end in a comment: the ``#`` and all behind it belong to the value. A number is not a number
then, and an expression cannot be read.

Example::

    CLAIM_WORKLIFE = 3600
    STARTD_NAME = vulture # the big one

Instead::

    CLAIM_WORKLIFE = 3600
    # the big one
    STARTD_NAME = vulture
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST502", Severity.WARNING, "E2")
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.HASH_IN_VALUE):
        yield hit

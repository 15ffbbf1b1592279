"""A template that does not exist.

What: ``use`` names a category or a template that there is not, or gives a template too few or too many arguments.

Why: Nothing of what was wanted is set.

Example::

    use POLICY : Desktopp

Instead::

    use POLICY : Desktop
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST512", Severity.ERROR)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.UNKNOWN_CATEGORY, Code.UNKNOWN_TEMPLATE, Code.TEMPLATE_ARGUMENTS):
        yield hit

"""A template that has no effect in Roost.

What: ``use`` names a template of HTCondor that Roost knows by name but does not act on.

Why: Nothing is set: what the template asks for, security for instance, Roost does in another way or not at all. If the
files are shared with HTCondor, the line is right where it is.

Example::

    use SECURITY : With_Authentication

Instead::

    use ROLE : Execute
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST517", Severity.NOTE)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.TEMPLATE_WITHOUT_EFFECT):
        yield hit

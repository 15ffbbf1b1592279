"""A comment that allows findings, but is not complete.

What: A comment ``# roost: allow CODE`` names a rule that does not exist, or gives no reason.

Why: Without a reason the next reader cannot tell whether it still holds; such a comment has no effect. A wrong code
hides nothing.

Example::

    # roost: allow RST119
    START = KeyboardIdle > 900

Instead::

    # roost: allow RST119 reads better this way
    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST003", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    """Comments belong to no statement: the engine itself reports them."""
    del pool
    yield from ()

"""A line that is not a statement.

What: A line is neither an assignment nor a keyword statement nor a comment, a name has characters that
names cannot have, or an ``if`` or a block is not closed.

Why: A daemon refuses to start. Often the line above has lost its backslash.

Example::

    START = KeyboardIdle > 900
      && LoadAvg < 0.3

Instead::

    START = KeyboardIdle > 900 \\
      && LoadAvg < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST507", Severity.ERROR)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(
        pool,
        Code.MISSING_OPERATOR,
        Code.ILLEGAL_NAME,
        Code.UNTERMINATED_BLOCK,
        Code.UNBALANCED_IF,
        Code.JUNK_BEFORE_OPERATOR,
        Code.JUNK_AFTER_KEYWORD,
        Code.INCLUDE_KEYWORD,
        Code.BACKSLASH_AT_END,
        Code.LIMIT_REACHED,
        Code.INCLUDE_DEPTH,
    ):
        yield hit

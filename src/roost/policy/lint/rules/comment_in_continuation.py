"""A comment inside a continued line.

What: A line that begins with ``#`` stands between the lines of one statement.

Why: The comment is skipped, and the statement goes on behind it. If the last line of a statement is commented out, the
next statement becomes part of this one: it is no longer set, and this one has it in its value.

Example::

    STARTD_NAME = vulture \\
    #   -test
    POLLING_INTERVAL = 5

Instead::

    STARTD_NAME = vulture
    POLLING_INTERVAL = 5
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_STATEMENT = re.compile(
    r"\s*(?:[A-Za-z_][\w.]*\s*[+@]?=(?![=?!])|use\s+\w+\s*:|include\b.*:|if\s|endif\b)", re.IGNORECASE
)


@pool_rule("RST503", Severity.NOTE, "E2")
def check(pool: Pool) -> Iterator[Hit]:
    for diagnostic, hit in forwarded(pool, Code.COMMENT_IN_CONTINUATION):
        lines = (pool.config.host.read_text(diagnostic.span.file) or "").split("\n")
        number = diagnostic.span.line
        while number < len(lines) and lines[number].lstrip().startswith("#"):
            number += 1
        swallowed = number < len(lines) and _STATEMENT.match(lines[number]) is not None
        message = (
            "the next statement becomes part of this one" if swallowed else "the comment does not end the statement"
        )
        yield Hit(
            message=message,
            remedy=hit.remedy,
            place=hit.place,
            severity=Severity.ERROR if swallowed else None,
        )

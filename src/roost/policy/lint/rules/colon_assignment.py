"""Assignment by a colon.

What: ``NAME : value``.

Why: It is an obsolete form, and easily taken for one of the keyword statements.

Fix: the colon becomes an equals sign.

Example::

    CLAIM_WORKLIFE : 3600

Instead::

    CLAIM_WORKLIFE = 3600
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.findings import Edit, Fix
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST506", Severity.WARNING, fixes=True)
def check(pool: Pool) -> Iterator[Hit]:
    for diagnostic, hit in forwarded(pool, Code.COLON_ASSIGNMENT):
        span = diagnostic.span
        text = pool.config.host.read_text(span.file) or ""
        lines = text.split("\n")
        line = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
        column = line.find(":") + 1
        name = line[: column - 1].strip().replace("_", "").replace(".", "")
        edit = Edit(file=span.file, line=span.line, column=column, old=":", new="=")
        safe = column > 0 and name.isalnum() and span.via is None
        yield Hit(
            message=hit.message,
            remedy=hit.remedy,
            place=hit.place,
            fix=Fix(title="write =", edits=(edit,)) if safe else None,
        )

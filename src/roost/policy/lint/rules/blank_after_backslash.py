"""Blanks after a backslash.

What: A line ends in ``\\`` and blanks.

Why: Some readers take the backslash as a continuation, others only if it is the very last character: for them the
statement ends here and the next line is one of its own. An editor does not show the difference.

Fix: the blanks are removed.

Example::

    START = KeyboardIdle > 900 && \\\x20
      LoadAvg < 0.3

Instead::

    START = KeyboardIdle > 900 && \\
      LoadAvg < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.findings import Edit, Fix
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST501", Severity.WARNING, "E1", fixes=True)
def check(pool: Pool) -> Iterator[Hit]:
    for diagnostic, hit in forwarded(pool, Code.BLANK_AFTER_BACKSLASH):
        span = diagnostic.span
        text = pool.config.host.read_text(span.file)
        lines = [] if text is None else text.split("\n")
        line = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
        kept = line.rstrip()
        tail = line[len(kept) :].rstrip("\r")
        fix = Fix(
            title="remove the blanks",
            edits=(Edit(file=span.file, line=span.line, column=len(kept) + 1, old=tail, new=""),),
        )
        yield Hit(
            message=hit.message,
            remedy=hit.remedy,
            place=hit.place,
            fix=fix if tail and span.via is None else None,
        )

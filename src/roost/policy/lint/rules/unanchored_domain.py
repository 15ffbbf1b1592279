"""A domain name as an unanchored pattern.

What: A pattern of ``regexp()`` looks like a host or domain name, with plain dots and without ``^`` or ``$``.

Why: A dot matches any character and the pattern may stand anywhere: ``wisc.edu`` is found in ``wisc.edu.example.com``
and in ``wiscxedu``.

Example::

    START = regexp("cs.wisc.edu", TARGET.User)

Instead::

    START = regexp("@cs\\.wisc\\.edu$", TARGET.User)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import calls, text_of

_DOMAIN = re.compile(r"@?[a-z0-9-]+(\.[a-z0-9-]+)+\Z", re.IGNORECASE)


@expression_rule("RST120", Severity.NOTE, "B17")
def check(expression: Expression) -> Iterator[Hit]:
    for node in calls(expression, "regexp", "regexpmember", "stringlist_regexpmember"):
        text = text_of(node.args[0]) if node.args else None
        if text is not None and _DOMAIN.match(text):
            yield Hit(
                message=f'the pattern "{text}" also matches where it stands inside another name',
                remedy="Write \\. for a dot and $ at the end, or compare texts by ==.",
                node=node,
            )

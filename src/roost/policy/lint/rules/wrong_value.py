"""A value of the wrong kind.

What: The value of a knob is not what the knob takes: a word where a number is needed, a number outside its range, an
unknown choice.

Why: A daemon refuses to start, or takes the default instead.

Example::

    POLLING_INTERVAL = often

Instead::

    POLLING_INTERVAL = 5
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST513", Severity.ERROR)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(
        pool,
        Code.BAD_INTEGER,
        Code.BAD_REAL,
        Code.BAD_BOOLEAN,
        Code.BAD_CHOICE,
        Code.OUT_OF_RANGE,
        Code.FUNCTION_FAILED,
    ):
        yield hit

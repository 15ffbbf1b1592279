"""A condition that if does not know.

What: ``if`` or ``elif`` is followed by something else than a truth value, a number, ``defined NAME`` or
``version OP x.y``.

Why: There are no operators in conditions. The branch is not taken, or reading ends here.

Example::

    if $(DETECTED_CPUS) > 8
      CLAIM_WORKLIFE = 7200
    endif

Instead::

    if defined IsBigMachine
      CLAIM_WORKLIFE = 7200
    endif
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST505", Severity.ERROR, "E6")
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.BAD_CONDITION, Code.COMPLEX_CONDITION, Code.BAD_VERSION):
        yield hit

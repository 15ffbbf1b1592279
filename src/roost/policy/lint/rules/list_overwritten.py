"""A list that throws its earlier members away.

What: A list that is built up in several places, such as STARTD_ATTRS or DAEMON_LIST, is assigned without
``$(STARTD_ATTRS)`` in the value although it was set before.

Why: The members it had are gone: attributes are no longer published, and expressions that use them are UNDEFINED.

Example::

    HasLicense = True
    STARTD_ATTRS = HasLicense
    IsDesktop = True
    STARTD_ATTRS = IsDesktop

Instead::

    HasLicense = True
    STARTD_ATTRS = HasLicense
    IsDesktop = True
    STARTD_ATTRS = $(STARTD_ATTRS) IsDesktop
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.references import names_in
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

GROWING: Final = (
    "startd_attrs",
    "startd_exprs",
    "startd_job_attrs",
    "startd_slot_attrs",
    "submit_attrs",
    "schedd_attrs",
    "startd_cron_joblist",
    "schedd_cron_joblist",
    "startd_latch_exprs",
    "job_transform_names",
)


@pool_rule("RST523", Severity.WARNING, "A9")
def check(pool: Pool) -> Iterator[Hit]:
    for name in GROWING:
        chain = pool.config.definitions(name)
        for earlier, later in pairwise(chain):
            if not earlier.text.strip() or not later.text.strip() or later.origin is not Origin.FILE:
                continue
            if later.appended or name in names_in(later.written):
                continue
            kept = set(later.text.lower().replace(",", " ").split())
            lost = [m for m in earlier.text.replace(",", " ").split() if m.lower() not in kept]
            if lost:
                yield Hit(
                    message=f"{later.name} loses {', '.join(lost[:4])}{' …' if len(lost) > 4 else ''}",
                    remedy=f"Begin the value with $({later.name}).",
                    place=pool.place(later),
                    knob=later.name,
                    related=(("set before", pool.place(earlier)),),
                )

"""A quota set that is disabled.

What: A resource quota set has enabled FALSE, which is also what a set without the line has.

Why: Its limits do not apply. A `#` in a description swallows the line behind it, and with it an `enabled TRUE`.

Example::

    resource_quotas/limits: enabled FALSE

Instead::

    resource_quotas/limits: enabled TRUE
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE503", Severity.NOTE, "G13")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for quotas in site.cell.quota_sets.values():
        if not quotas.enabled:
            yield CellHit(
                message=f"quota set {quotas.name} is disabled",
                remedy="Write enabled TRUE, or delete the set.",
                file=f"resource_quotas/{quotas.name}",
                attribute="enabled",
            )

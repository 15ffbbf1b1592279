"""A policy whose weight is 0.

What: weight_priority is 0, or a policy has tickets while weight_ticket is 0.

Why: With weight_priority 0 `qsub -p` changes nothing; with weight_ticket 0 shares and override tickets change
nothing.

Example::

    schedconf: weight_priority 0

Instead::

    schedconf: weight_priority 1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE402", Severity.NOTE, "G17")
def check(site: CheckedCell) -> Iterator[CellHit]:
    scheduler = site.cell.scheduler
    if not scheduler.weight_priority:
        yield CellHit(
            message="weight_priority is 0, so the priority of a job (-p) has no effect",
            remedy="Set weight_priority above 0.",
            file="schedconf",
            attribute="weight_priority",
        )
    if not scheduler.weight_ticket and (scheduler.weight_tickets_share or scheduler.weight_tickets_functional):
        yield CellHit(
            message="weight_ticket is 0, so the tickets of the share tree and of functional shares have no effect",
            remedy="Set weight_ticket above 0.",
            file="schedconf",
            attribute="weight_ticket",
        )

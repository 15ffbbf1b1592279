"""Exclusive hosts without reservation.

What: A host or the cell has an exclusive complex, and max_reservation is 0.

Why: An exclusive job needs an empty host. Without a reservation smaller jobs keep passing it, and it may never start;
`qsub -R y` has no effect while max_reservation is 0.

Example::

    execution/node1: complex_values excl=true,slots=2
    schedconf: max_reservation 0

Instead::

    execution/node1: complex_values excl=true,slots=2
    schedconf: max_reservation 8
    schedconf: default_duration 24:0:0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE305", Severity.WARNING, "G16")
def check(site: CheckedCell) -> Iterator[CellHit]:
    found = [
        pair.name
        for _, _, pair in site.attached()
        if pair.name in site.complexes and site.complexes[pair.name].is_exclusive
    ]
    if found and not site.cell.scheduler.max_reservation:
        yield CellHit(
            message=f"{found[0]} makes hosts exclusive, and jobs cannot reserve: max_reservation is 0",
            remedy="Set max_reservation to the number of jobs that may reserve, and let exclusive jobs ask with -R y.",
            file="schedconf",
            attribute="max_reservation",
        )

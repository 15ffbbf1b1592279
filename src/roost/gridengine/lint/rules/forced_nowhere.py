"""A requestable consumable that nothing offers.

What: A consumable of the site, forced or not, has a value neither in a queue nor at a host nor at `global`.

Why: A request for it is accepted, and the job waits forever: a complex without a value is not unlimited, it is
missing. A forced one keeps no jobs out either.

Example::

    centry: gpu gpu INT <= FORCED YES 0 0
    cqueues/low.q: complex_values NONE

Instead::

    cqueues/low.q: complex_values gpu=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.builtin import COMPLEXES
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE302", Severity.WARNING, "G20")
def check(site: CheckedCell) -> Iterator[CellHit]:
    offered = {pair.name for _, _, pair in site.attached()}
    for name, definition in site.cell.complexes.items():
        if definition.is_consumable and name not in offered and name not in COMPLEXES:
            yield CellHit(
                message=f"no queue or host has {name}, so a job that requests it never runs",
                remedy=f"Give {name} a value in complex_values of a queue, a host or global, or delete it.",
                file="centry",
                attribute=name,
            )

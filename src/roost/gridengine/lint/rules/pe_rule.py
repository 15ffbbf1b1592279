"""An allocation rule that means nothing.

What: allocation_rule is neither $pe_slots, $fill_up, $round_robin nor a number above 0.

Why: Grid Engine accepts any text without a `$`. No host fits such a rule, so no job of the environment ever runs.

Example::

    pe/smp: allocation_rule fill_up

Instead::

    pe/smp: allocation_rule $fill_up
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE702", Severity.ERROR)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.cell.parallel_environments.values():
        if not one.allocation_rule.startswith("$") and one.slots_a_host is None:
            yield CellHit(
                message=f"allocation_rule of {one.name} is {one.allocation_rule!r}",
                remedy="Write $pe_slots, $fill_up, $round_robin or a number above 0.",
                file=f"pe/{one.name}",
                attribute="allocation_rule",
            )

"""A parallel environment in which nothing can run.

What: A parallel environment has fewer slots than its allocation rule takes on one host, or no queue offers it.

Why: With an integer rule a job needs a multiple of that number. Jobs that ask for the environment are accepted and
wait forever.

Example::

    pe/smp: allocation_rule 4
    pe/smp: slots 2

Instead::

    pe/smp: allocation_rule 4
    pe/smp: slots 64
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.references import names_in


@cell_rule("RGE701", Severity.WARNING, "G18")
def check(site: CheckedCell) -> Iterator[CellHit]:
    offered = {name for queue in site.cell.queues.values() for name in names_in(queue, "pe_list")}
    for one in site.cell.parallel_environments.values():
        if one.slots < (one.slots_a_host or 1):
            message = f"{one.name} has {one.slots} slots, and a job needs at least {one.slots_a_host or 1}"
            yield CellHit(message=message, remedy="Raise slots.", file=f"pe/{one.name}", attribute="slots")
        if one.name not in offered:
            message = f"no queue has {one.name} in its pe_list"
            remedy = "Add it to the pe_list of a queue, or delete it."
            yield CellHit(message=message, remedy=remedy, file=f"pe/{one.name}", attribute="pe_name")

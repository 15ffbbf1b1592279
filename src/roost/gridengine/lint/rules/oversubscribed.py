"""More slots than processors.

What: The queues of a host have more slots together than the host reported processors, and the host has no `slots` of
its own. Queues that subordination suspends for each other are counted all the same, as nothing else bounds their sum.

Why: Each queue counts its own slots. Without `slots` in the complex_values of the host nothing bounds the sum, and
jobs share processors.

Example::

    cqueues/all.q: slots 4

Instead::

    cqueues/all.q: slots 4
    execution/node1: complex_values slots=2
    execution/node2: complex_values slots=2
    execution/node3: complex_values slots=2
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE105", Severity.WARNING, "G4")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for host in site.cell.hosts.values():
        slots = sum(one.settings.slots for one in site.instances if one.host == host.name)
        bounded = any(pair.name == "slots" for pair in host.complex_values)
        if host.processors and slots > host.processors and not bounded:
            yield CellHit(
                message=f"the queues of {host.name} have {slots} slots, and the host has {host.processors} processors",
                remedy=f"Add slots={host.processors} to its complex_values, or lower the slots of the queues.",
                file=f"execution/{host.name}",
                attribute="complex_values",
            )

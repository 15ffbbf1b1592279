"""A queue instance that two host groups configure.

What: An attribute of a queue has overrides for two or more host groups that hold the same host, and none for the host
itself.

Why: The instance is in state c (configuration ambiguous), even if the values are equal: it takes no new jobs, and has
the default of the attribute.

Example::

    cqueues/all.q: slots 4,[@left=8],[@odd=8]

Instead::

    cqueues/all.q: slots 4,[@left=8],[@odd=8],[node1=8]
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE101", Severity.ERROR, "G3")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.instances:
        for attribute, groups in one.ambiguous:
            yield CellHit(
                message=f"{one.name} accepts no jobs: {attribute} has a value for {' and '.join(groups)}",
                remedy=f"Give {one.host} a value of its own, or take it out of all but one of the groups.",
                file=f"cqueues/{one.queue}",
                attribute=attribute,
                same=f"{attribute} {groups}",
            )

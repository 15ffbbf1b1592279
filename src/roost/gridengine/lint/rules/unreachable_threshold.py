"""A subordination threshold above the slots of the queue.

What: An entry of a subordinate list has a threshold that is larger than the slots of the instance.

Why: The threshold is never reached, so the other queue is never suspended there.

Example::

    cqueues/all.q: subordinate_list low.q=50

Instead::

    cqueues/all.q: subordinate_list low.q=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE203", Severity.WARNING, "G5")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.instances:
        for entry in one.settings.subordinate_list.queues:
            if entry.threshold is not None and entry.threshold > one.settings.slots:
                yield CellHit(
                    message=f"{one.name} has {one.settings.slots} slots, too few for {entry.queue}={entry.threshold}",
                    remedy=f"Write {entry.queue}=1, or at most {entry.queue}={one.settings.slots}.",
                    file=f"cqueues/{one.queue}",
                    attribute="subordinate_list",
                    same=f"{entry.queue} {one.settings.slots}",
                )

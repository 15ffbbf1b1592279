"""Mutual exclusion that begins only when a queue is full.

What: Two queues on a host are subordinated to each other, and an entry has no threshold.

Why: Without `=1` the other queue is suspended only when all slots are used, so both run side by side until one is
full.

Example::

    cqueues/all.q: subordinate_list low.q
    cqueues/low.q: subordinate_list all.q=1

Instead::

    cqueues/all.q: subordinate_list low.q=1
    cqueues/low.q: subordinate_list all.q=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.references import names_in


@cell_rule("RGE202", Severity.WARNING, "G6")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue, _, value in site.settings("subordinate_list"):
        for entry in value.queues:
            other = site.cell.queues.get(entry.queue)
            if entry.threshold is None and other and queue.name in names_in(other, "subordinate_list"):
                yield CellHit(
                    message=f"{queue.name} and {entry.queue} exclude each other only once {queue.name} is full",
                    remedy=f"Write {entry.queue}=1.",
                    file=f"cqueues/{queue.name}",
                    attribute="subordinate_list",
                )

"""Queues that suspend each other.

What: Through their subordinate lists, queues on the same host suspend each other in a circle.

Why: It works as mutual exclusion as long as jobs never start in both. After a restart, or when jobs start in both
within one moment, each queue suspends the other, and the jobs of neither go on: a deadlock until one of them is
resumed or deleted.

Example::

    cqueues/all.q: subordinate_list low.q=1
    cqueues/low.q: subordinate_list all.q=1

Instead::

    cqueues/all.q: subordinate_list low.q=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.references import names_in


@cell_rule("RGE201", Severity.WARNING, "G6")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue in site.cell.queues.values():
        circle = _circle(site, queue.name)
        if circle and queue.name == min(circle):
            yield CellHit(
                message=f"{' and '.join(circle)} suspend each other, and all of them can be suspended at once",
                remedy="Subordinate in one direction only, or use an exclusive complex.",
                file=f"cqueues/{queue.name}",
                attribute="subordinate_list",
            )


def _circle(site: CheckedCell, queue: str) -> list[str]:
    """The queues of a shortest circle through a queue, by name; empty if there is none."""
    came_from: dict[str, str] = {}
    waiting = [queue]
    while waiting:
        present = waiting.pop(0)
        for name in names_in(site.cell.queues[present], "subordinate_list"):
            if name == queue and _share_a_host(site, present, queue):
                found = {queue, present}
                while present != queue:
                    present = came_from[present]
                    found.add(present)
                return sorted(found)
            if name not in came_from and name in site.cell.queues and _share_a_host(site, present, name):
                came_from[name] = present
                waiting.append(name)
    return []


def _share_a_host(site: CheckedCell, one: str, other: str) -> bool:
    return bool({each.host for each in site.at(one)} & {each.host for each in site.at(other)})

"""A queue without hosts.

What: The host list of a queue is NONE, or holds only host groups without hosts.

Why: The queue has no instance, so no job can run in it. Jobs that ask for it wait forever.

Example::

    cqueues/all.q: hostlist @empty

Instead::

    cqueues/all.q: hostlist @allhosts
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE103", Severity.WARNING)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue in site.cell.queues.values():
        if not site.resolver.hosts(queue):
            yield CellHit(
                message=f"queue {queue.name} has no hosts",
                remedy="Add hosts or host groups to hostlist, or delete the queue.",
                file=f"cqueues/{queue.name}",
                attribute="hostlist",
            )

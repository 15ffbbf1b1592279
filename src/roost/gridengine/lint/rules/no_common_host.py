"""A subordinated queue on other hosts.

What: A queue of a subordinate list has no instance on any host of the queue that should suspend it.

Why: Subordination works host by host, so the entry never does anything.

Example::

    cqueues/low.q: hostlist node3
    cqueues/all.q: hostlist node1 node2
    cqueues/all.q: subordinate_list low.q=1

Instead::

    cqueues/all.q: subordinate_list low.q=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE204", Severity.WARNING)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue, _, value in site.settings("subordinate_list"):
        hosts = {one.host for one in site.at(queue.name)}
        for name in value.names:
            others = {one.host for one in site.at(name)}
            if hosts and name in site.cell.queues and not hosts & others:
                yield CellHit(
                    message=f"{queue.name} and {name} have no host in common, so {name} is never suspended",
                    remedy=f"Take {name} out, or give both queues a common host.",
                    file=f"cqueues/{queue.name}",
                    attribute="subordinate_list",
                )

"""An override that reaches no queue instance.

What: A queue overrides an attribute for a host that is not in its host list, or for a host group of which no host is.

Why: Grid Engine keeps the override and never uses it. Often the host was renamed, or left the group.

Example::

    cqueues/all.q: slots 4,[node9=8]

Instead::

    cqueues/all.q: slots 4,[node3=8]
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE102", Severity.WARNING)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue in site.cell.queues.values():
        for attribute, domain in site.resolver.detached(queue):
            yield CellHit(
                message=f"{attribute} has a value for {domain}, which has no instance of {queue.name}",
                remedy=f"Take [{domain}=…] out, or add {domain} to hostlist.",
                file=f"cqueues/{queue.name}",
                attribute=attribute,
            )

"""An exclusive complex at a queue that shares its hosts.

What: A complex with EXCL has a value in a queue, and other queues have instances on the same hosts.

Why: At a queue it excludes only other jobs of the same instance; jobs of other queues run alongside the exclusive one.

Example::

    cqueues/low.q: complex_values excl=true

Instead::

    execution/node1: complex_values excl=true,slots=2
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE304", Severity.WARNING, "G20")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue, _, pairs in site.settings("complex_values"):
        for pair in pairs:
            definition = site.complexes.get(pair.name)
            hosts = {one.host for one in site.at(queue.name)}
            others = sorted({one.queue for one in site.instances if one.host in hosts} - {queue.name})
            if definition and definition.is_exclusive and others:
                yield CellHit(
                    message=f"{pair.name} at {queue.name} does not keep jobs of {', '.join(others)} off the host",
                    remedy=f"Write {pair.name}=true in complex_values of the hosts.",
                    file=f"cqueues/{queue.name}",
                    attribute="complex_values",
                )

"""A queue on a host that is not an execution host.

What: A queue has an instance on a host that the cell does not have among its execution hosts.

Why: The instance stays in state au: the host never reports. A name that is written differently in two places has the
same effect.

Example::

    cqueues/all.q: hostlist @allhosts node9

Instead::

    cqueues/all.q: hostlist @allhosts
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE104", Severity.WARNING)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.instances:
        if one.host not in site.cell.hosts:
            yield CellHit(
                message=f"{one.name} is on {one.host}, which is not an execution host",
                remedy=f"Add {one.host} as an execution host, or take it out of the host list.",
                file=f"cqueues/{one.queue}",
                attribute="hostlist",
                same=one.host,
            )

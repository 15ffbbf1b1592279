"""A threshold on a value that is not reported.

What: A load threshold names a complex that is defined, that the host did not report among its load values, and that
no queue, host or `global` gives a value.

Why: A missing value counts as exceeded: the instance is in alarm (state a) until a load sensor reports the value.
Hosts without any reported value are not looked at.

Example::

    centry: heat heat DOUBLE >= YES NO 0 0
    cqueues/all.q: load_thresholds heat=60

Instead::

    cqueues/all.q: load_thresholds np_load_avg=1.75
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE405", Severity.WARNING, "G7")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.instances:
        host = site.cell.hosts.get(one.host)
        if host is None or not host.load_values:
            continue
        known = {pair.name for pair in (*host.load_values, *host.complex_values, *one.settings.complex_values)}
        known |= {
            pair.name for pair in (*site.cell.hosts["global"].load_values, *site.cell.hosts["global"].complex_values)
        }
        for pair in one.settings.load_thresholds:
            definition = site.complexes.get(pair.name)
            if definition and definition.name not in known:
                yield CellHit(
                    message=f"{one.host} does not report {pair.name}, so {one.name} is in alarm",
                    remedy=f"Report {pair.name} by a load sensor, or take the threshold out.",
                    file=f"cqueues/{one.queue}",
                    attribute="load_thresholds",
                    same=pair.name,
                )

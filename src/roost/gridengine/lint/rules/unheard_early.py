"""Hosts that are given up between two reports.

What: max_unheard is not longer than load_report_time.

Why: A host that reports on time is unknown (state u) until each report arrives, and its instances accept no jobs
meanwhile.

Example::

    configurations/global: max_unheard 00:00:01

Instead::

    configurations/global: max_unheard 00:05:00
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.values import seconds


@cell_rule("RGE802", Severity.ERROR, "G21")
def check(site: CheckedCell) -> Iterator[CellHit]:
    heard = seconds(site.parameter("global", "max_unheard") or "")
    for name in site.cell.configurations:
        text = site.parameter(name, "load_report_time")
        report = seconds(text) if text else None
        if heard is not None and report is not None and heard <= report:
            yield CellHit(
                message=f"hosts report every {text}, and are unknown after {site.parameter('global', 'max_unheard')}",
                remedy="Make max_unheard several times as long as load_report_time.",
                file=f"configurations/{name}",
                attribute="load_report_time",
            )

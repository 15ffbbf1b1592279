"""A date that hides the week.

What: A calendar has a year part and a week part.

Why: For each date that the year part mentions the week part does not count at all: a date with hours of its own is on
for the rest of the day, even if the week says off.

Example::

    calendars/office: year 24.12.2026=8-12=off

Instead::

    calendars/office: year NONE
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.values import is_none


@cell_rule("RGE803", Severity.NOTE, "G19")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for calendar in site.cell.calendars.values():
        if not is_none(calendar.year) and not is_none(calendar.week):
            yield CellHit(
                message=f"on the dates of {calendar.name}'s year part its week part does not apply",
                remedy="State the whole day for each date.",
                file=f"calendars/{calendar.name}",
                attribute="year",
            )

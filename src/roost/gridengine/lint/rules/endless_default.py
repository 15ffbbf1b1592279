"""Reservation with jobs of endless duration.

What: max_reservation is above 0, and default_duration is INFINITY.

Why: A job without h_rt or s_rt is taken to run forever. Nothing can be backfilled before a reservation, and no
reservation can be planned behind such a job, so that reservation holds resources idle or does nothing.

Example::

    schedconf: max_reservation 8
    schedconf: default_duration INFINITY

Instead::

    schedconf: max_reservation 8
    schedconf: default_duration 24:0:0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE401", Severity.WARNING, "G16")
def check(site: CheckedCell) -> Iterator[CellHit]:
    scheduler = site.cell.scheduler
    if scheduler.max_reservation and scheduler.default_duration.number == float("inf"):
        yield CellHit(
            message=f"{scheduler.max_reservation} jobs may reserve, and jobs without h_rt are taken to run forever",
            remedy="Set default_duration to a time, such as the longest h_rt of the queues.",
            file="schedconf",
            attribute="default_duration",
        )

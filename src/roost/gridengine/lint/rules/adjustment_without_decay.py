"""Load adjustments that vanish at once.

What: job_load_adjustments is set, and load_adjustment_decay_time is 0.

Why: The assumed load of a new job has no time to count beyond the present run, so a host that was just filled looks
empty in the next one.

Example::

    schedconf: job_load_adjustments np_load_avg=0.50
    schedconf: load_adjustment_decay_time 0:0:0

Instead::

    schedconf: job_load_adjustments np_load_avg=0.50
    schedconf: load_adjustment_decay_time 0:7:30
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE403", Severity.WARNING, "G8")
def check(site: CheckedCell) -> Iterator[CellHit]:
    scheduler = site.cell.scheduler
    if scheduler.job_load_adjustments and not scheduler.load_adjustment_decay_time.number:
        yield CellHit(
            message="job_load_adjustments have no effect after the run, as load_adjustment_decay_time is 0",
            remedy="Set load_adjustment_decay_time, or write job_load_adjustments NONE.",
            file="schedconf",
            attribute="load_adjustment_decay_time",
        )

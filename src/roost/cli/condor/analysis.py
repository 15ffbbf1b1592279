"""``condor_q -better-analyze``: why jobs do not run, as `roost explain job` tells it, under HTCondor's head lines."""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.choosing import Choice
from roost.cli.condor.printing.rows import Row
from roost.cli.pool import Pool
from roost.wire.requests import queue

#: Jobs that are looked at in one call.
JOBS_MAX: Final = 20


def analyze(pool: Pool, choice: Choice) -> int:
    """Tell of each job that is meant why it does not run, of the first `JOBS_MAX`."""
    from roost.cli.explain.pool_commands import tell_job

    found = pool.ask(queue.Query(limit=JOBS_MAX + 1, **choice.asked()))
    sys.stdout.write(f"\n\n-- Schedd: {pool.contact['schedd']}\n")
    for data in found[:JOBS_MAX]:
        row = Row(data)
        name = f"{row.whole('ClusterId')}.{row.whole('ProcId')}"
        called = f"{row.whole('ClusterId')}.{row.whole('ProcId'):03d}"
        sys.stdout.write(f"The Requirements expression for job {called} is\n\n    {row.raw('Requirements')}\n\n")
        sys.stdout.flush()
        tell_job(pool, name)
        sys.stdout.write("\n")
    if len(found) > JOBS_MAX:
        sys.stdout.write(f"Only the first {JOBS_MAX} jobs are analyzed; name the others.\n")
    return 0

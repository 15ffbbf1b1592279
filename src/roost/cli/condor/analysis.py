"""``condor_q -better-analyze``: why jobs do not run, as explained by `roost explain job`, under HTCondor's heading
lines.
"""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.choosing import JobSelection
from roost.cli.condor.printing.rows import AdRow
from roost.cli.pool_connection import Pool
from roost.wire.requests import queue

#: Maximum number of jobs analysed in one call.
JOBS_MAX: Final = 20


def analyze(pool: Pool, choice: JobSelection) -> int:
    """Explain for each selected job why it does not run, up to `JOBS_MAX`."""
    from roost.cli.explain.pool_commands import tell_job

    found = pool.ask(queue.Query(limit=JOBS_MAX + 1, **choice.asked()))
    sys.stdout.write(f"\n\n-- Schedd: {pool.contact['schedd']}\n")
    for data in found[:JOBS_MAX]:
        row = AdRow(data)
        name = f"{row.whole('ClusterId')}.{row.whole('ProcId')}"
        called = f"{row.whole('ClusterId')}.{row.whole('ProcId'):03d}"
        sys.stdout.write(f"The Requirements expression for job {called} is\n\n    {row.raw('Requirements')}\n\n")
        sys.stdout.flush()
        tell_job(pool, name)
        sys.stdout.write("\n")
    if len(found) > JOBS_MAX:
        sys.stdout.write(f"Only the first {JOBS_MAX} jobs were analyzed; name the others to analyze them.\n")
    return 0

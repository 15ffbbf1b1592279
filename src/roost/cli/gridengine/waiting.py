"""``qsub -now y`` and ``-sync y``: wait until a job has started, or could not; and until its tasks have left the queue.

A job that could not start has been removed by the queue (`roost.schedd.immediate`).
"""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from roost.schedd.status import JobStatus
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

#: Minimum and maximum pause between requests, s.
_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0
_SHOWN: Final = ("ClusterId", "ProcId", "JobStatus", "ExitCode", "ExitBySignal", "ExitSignal")


def wait_for(pool: Pool, number: int, tasks: tuple[int, int, int] | None, *, is_terse: bool) -> int:
    """Wait; return the exit status of the first task that did not exit with 0."""
    pause_s, told = _FIRST_S, dict[int, int]()
    before: set[int] | None = None
    while True:
        waiting = pool.ask(queue.Query(jobs=(str(number),), projection=_SHOWN))
        left = {int(row["ProcId"]) for row in waiting if row.get("JobStatus") != JobStatus.COMPLETED}
        rows = _ended(pool, number) if left != before else []
        before = left
        for row in sorted(rows, key=lambda row: int(row["ProcId"])):
            proc = int(row["ProcId"])
            if proc not in told and proc not in left:
                name = f"{number}.{tasks[0] + proc * tasks[2]}" if tasks else f"{number}"
                told[proc] = _tell(name, row, is_terse=is_terse)
        if not left:
            return next((status for _, status in sorted(told.items()) if status), 0)
        time.sleep(pause_s)
        pause_s = min(_LONGEST_S, pause_s * 1.5)


def wait_for_start(pool: Pool, number: int, name: str) -> bool:
    """Wait until all tasks of an immediate job have started, or it has been removed; return whether they have."""
    sys.stderr.write("Waiting for immediate job to be scheduled.\n")
    sys.stderr.flush()
    try:
        started = _started(pool, number)
    except KeyboardInterrupt:
        pool.ask(queue.Act(action="remove", jobs=(str(number),), reason="qsub was interrupted"))
        raise
    if started:
        sys.stderr.write(f"\nYour immediate job {name} has been successfully scheduled.\n")
    else:
        sys.stderr.write("\nYour qsub request could not be scheduled; try again later.\n")
    sys.stderr.flush()
    return started


def _started(pool: Pool, number: int) -> bool:
    pause_s = _FIRST_S
    while True:
        rows = [*pool.ask(queue.Query(jobs=(str(number),), projection=_SHOWN))]
        if not any(row.get("JobStatus") == JobStatus.IDLE for row in rows):
            # A job that has left had started, or was removed.
            statuses = [row.get("JobStatus") for row in (*rows, *_ended(pool, number))]
            return JobStatus.REMOVED not in statuses
        time.sleep(pause_s)
        pause_s = min(_LONGEST_S, pause_s * 1.5)


def _ended(pool: Pool, number: int) -> list[dict[str, Any]]:
    return [dict(row) for row in pool.ask(queue.History(jobs=(str(number),), projection=_SHOWN))]


def _tell(name: str, row: dict[str, Any], *, is_terse: bool) -> int:
    """Report how a task ended; return the resulting exit status."""
    stream, status = sys.stdout, 0
    if row.get("JobStatus") != JobStatus.COMPLETED:
        stream, status, text = sys.stderr, 1, f"Unable to run job {name}"
    elif row.get("ExitBySignal"):
        number = int(row.get("ExitSignal") or 0)
        called = next((each.name for each in signal.Signals if each == number), f"signal {number}")
        stream, status, text = sys.stderr, 1, f"Job {name} exited because of signal {called}"
    else:
        status = int(row.get("ExitCode") or 0)
        stream = sys.stderr if status else sys.stdout
        text = f"Job {name} exited with exit code {status}."
    if not is_terse or status:
        stream.write(f"{text}\n")
        stream.flush()
    return status

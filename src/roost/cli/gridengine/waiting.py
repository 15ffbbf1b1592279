"""``qsub -sync y``: wait until the tasks of a job have left the queue, and tell how each ended."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from roost.schedd.status import JobStatus
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool import Pool

#: First and longest pause between two questions, s.
_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0
_SHOWN: Final = ("ClusterId", "ProcId", "JobStatus", "ExitCode", "ExitBySignal", "ExitSignal")


def wait_for(pool: Pool, number: int, tasks: tuple[int, int, int] | None, *, is_terse: bool) -> int:
    """Wait; the exit status is that of the first task that did not end with 0."""
    pause_s, told, status = _FIRST_S, set[int](), 0
    before: set[int] | None = None
    while True:
        waiting = pool.ask(queue.Query(jobs=(str(number),), projection=_SHOWN))
        left = {int(row["ProcId"]) for row in waiting if row.get("JobStatus") != JobStatus.COMPLETED}
        rows = _ended(pool, number) if left != before else []
        before = left
        for row in sorted(rows, key=lambda row: int(row["ProcId"])):
            proc = int(row["ProcId"])
            if proc not in told and proc not in left:
                told.add(proc)
                name = f"{number}.{tasks[0] + proc * tasks[2]}" if tasks else f"{number}"
                status = status or _tell(name, row, is_terse=is_terse)
        if not left:
            return status
        time.sleep(pause_s)
        pause_s = min(_LONGEST_S, pause_s * 1.5)


def _ended(pool: Pool, number: int) -> list[dict[str, Any]]:
    return [dict(row) for row in pool.ask(queue.History(jobs=(str(number),), projection=_SHOWN))]


def _tell(name: str, row: dict[str, Any], *, is_terse: bool) -> int:
    """Tell how a task ended; the exit status that it gives."""
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

"""Waiting until the queue knows on which machine a job runs, so that a user can be connected to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from roost.gridengine.commands.errors import Failure
from roost.model import cell_requests as cell
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

#: Minimum and maximum pause between requests, s.
_FIRST_S: Final = 0.03
_LONGEST_S: Final = 1.0
_SHOWN: Final = ("ClusterId", "JobStatus", "RemoteHost", "HoldReason", cell.HELD)


def wait_for_machine(pool: Pool, number: str) -> str:
    """Wait until a job runs; return the name of its machine, "" if it could not start at once. Raises Failure."""
    pause_s = _FIRST_S
    while True:
        rows = pool.ask(queue.Query(jobs=(number,), projection=_SHOWN))
        if not rows:
            (row,) = [*pool.ask(queue.History(jobs=(number,), projection=_LEFT))][-1:] or [{}]
            return _left(number, row)
        row = rows[0]
        host = str(row.get("RemoteHost") or "").rpartition("@")[2]
        if row.get("JobStatus") == JobStatus.RUNNING and host:
            return host
        if row.get("JobStatus") == JobStatus.HELD and not row.get(cell.HELD):
            raise Failure(f"Could not start interactive job.\n{row.get('HoldReason') or ''}".rstrip())
        time.sleep(pause_s)
        pause_s = min(_LONGEST_S, pause_s * 1.5)


_LEFT: Final = ("ClusterId", "JobStatus", "LastRemoteHost", "RemoveReason")


def _left(number: str, row: object) -> str:
    """What happened to a job that has left the queue, perhaps because it was quick."""
    ad = dict(row) if isinstance(row, dict) else {}
    host = str(ad.get("LastRemoteHost") or "").rpartition("@")[2]
    if host:
        return host
    if ad.get("RemoveReason") == cell.NOT_IMMEDIATE:
        return ""
    raise Failure("Request for interactive job has been canceled.")

"""``condor_q -userlog``: the jobs in an event log.

Each job has its number, its status after the last event, when it was submitted, and where it ran. Information that is
not in a log, above all the program, is not in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli.condor.errors import ToolError
from roost.cli.condor.printing.rows import AdRow

if TYPE_CHECKING:
    from roost.schedd.event_log.log import LoggedEvent

#: Number of an event to the JobStatus after it.
_STATUS: Final = {0: 1, 1: 2, 4: 1, 5: 4, 9: 3, 10: 7, 11: 2, 12: 5, 13: 1, 24: 1}
_GONE: Final = frozenset((5, 9))


def jobs_of_log(path: str) -> list[AdRow]:
    """The jobs that, according to the log, are still in the queue. Raises ToolError."""
    jobs: dict[tuple[int, int], dict[str, Any]] = {}
    for logged in _events(path):
        _happened(jobs, logged)
    return [AdRow(job) for job in jobs.values()]


def clusters_of_log(path: str) -> list[int]:
    """The clusters in the log, in the order of their first event. Raises ToolError."""
    return list(dict.fromkeys(logged.cluster for logged in _events(path)))


def _events(path: str) -> Iterator[LoggedEvent]:
    from roost.schedd.event_log.log import LogReader

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ToolError(f"Error: cannot open event log {path}: {error.strerror}") from None
    return LogReader().feed(data)


def _happened(jobs: dict[tuple[int, int], dict[str, Any]], logged: LoggedEvent) -> None:
    from roost.schedd.event_log.log import Execute, JobHeld

    if logged.number not in _STATUS:
        return
    key = (logged.cluster, logged.proc)
    if logged.number in _GONE:
        jobs.pop(key, None)
        return
    job = jobs.setdefault(key, {"ClusterId": key[0], "ProcId": key[1], "Owner": "?", "Cmd": "?", "JobUniverse": 5})
    job["JobStatus"], job["EnteredCurrentStatus"] = _STATUS[logged.number], int(logged.time)
    if logged.number == 0:
        job["QDate"] = int(logged.time)
    elif isinstance(logged.event, Execute):
        job["RemoteHost"], job["ShadowBday"] = logged.event.slot_name or logged.event.host, int(logged.time)
    elif isinstance(logged.event, JobHeld):
        job["HoldReason"] = logged.event.reason

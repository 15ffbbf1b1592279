"""``condor_now``: run an idle job at once, in place of running ones of the same user.

The running jobs are held, which frees their slots, and the idle one gets a priority above all others of its user. When
it runs, or after a time limit, the held ones are released and its priority is restored. The slots go through
matchmaking: a user with a better priority may get them first, which is reported.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, job_id
from roost.cli.condor.editing import edit
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given, number
from roost.cli.pool_connection import Pool
from roost.wire.requests import queue

OPTIONS: Final = (
    *PLACE_OPTIONS,
    Option("flags", "accepted, has no effect", takes="FLAGS", least=1),
    Option("timeout", "how long the job may take to start (default: 60)", takes="SECONDS", least=1),
    Option("debug", "accepted, has no effect", least=1),
)
_IDLE: Final = 1
_RUNNING: Final = (2, 6)
#: How long the job may take to start, s.
_PATIENCE_S: Final = 60
_PAUSE_S: Final = 0.1
_FIELDS: Final = ("ClusterId", "ProcId", "Owner", "User", "JobStatus", "JobPrio")
_REASON: Final = "condor_now: makes room for job "


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_now``."""
    place, jobs, patience_s = DaemonLocation(), [], _PATIENCE_S
    for option in given(arguments, OPTIONS):
        if place.take(option):
            continue
        if option.name == "timeout":
            patience_s = number(option)
        elif option.name == "":
            job = job_id(option.value)
            if job is None or "." not in job:
                raise UsageError(f"ERROR: {option.value} is not a job; write it like 12.0")
            jobs.append(job)
    if len(jobs) < 2:
        raise UsageError(f"Usage: {name} NOW-JOB VACATE-JOB ...")
    return place.ask(lambda pool: _now(pool, jobs[0], jobs[1:], patience_s))


def _now(pool: Pool, wanted: str, running: list[str], patience_s: int) -> int:
    ads = {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in _query(pool, (wanted, *running))}
    _check(ads, wanted, running)
    owner, before = str(ads[wanted]["Owner"]), ads[wanted].get("JobPrio", 0)
    others = [int(ad.get("JobPrio") or 0) for ad in _query(pool, (), f'Owner == "{owner}" && JobStatus == {_IDLE}')]
    edit(pool, JobSelection(jobs=(wanted,)), {"JobPrio": str(max(others, default=0) + 1)})
    held = JobSelection(jobs=tuple(running))
    try:
        pool.ask(queue.Act(action="hold", reason=f"{_REASON}{wanted}", **held.asked()))
        started = _has_started(pool, wanted, patience_s)
    finally:
        pool.ask(queue.Act(action="release", reason=f"{_REASON}{wanted}", **held.asked()))
        edit(pool, JobSelection(jobs=(wanted,)), {"JobPrio": str(before)})
    if not started:
        raise ToolError(f"Job {wanted} has not started within {patience_s} s: another job may have got the slots")
    sys.stdout.write(f"Job {wanted} is running; released {', '.join(running)}\n")
    return 0


def _query(pool: Pool, jobs: tuple[str, ...], constraint: str | None = None) -> list[dict[str, Any]]:
    return list(pool.ask(queue.Query(jobs=jobs, constraint=constraint, projection=_FIELDS)))


def _check(ads: dict[str, dict[str, Any]], wanted: str, running: list[str]) -> None:
    """Raise ToolError unless the one job is idle and the others run, all of one user."""
    for job in (wanted, *running):
        if job not in ads:
            raise ToolError(f"ERROR: Job {job} is not in the queue")
    if ads[wanted]["JobStatus"] != _IDLE:
        raise ToolError(f"ERROR: Job {wanted} is not idle")
    for job in running:
        if ads[job]["JobStatus"] not in _RUNNING:
            raise ToolError(f"ERROR: Job {job} is not running")
        if ads[job]["User"] != ads[wanted]["User"]:
            raise ToolError(
                f"ERROR: Job {job} belongs to {ads[job]['User']}, but job {wanted} to {ads[wanted]['User']}"
            )


def _has_started(pool: Pool, job: str, patience_s: int) -> bool:
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        found = _query(pool, (job,))
        # A short job may already be over.
        if not found or found[0]["JobStatus"] != _IDLE:
            return True
        time.sleep(_PAUSE_S)
    return False

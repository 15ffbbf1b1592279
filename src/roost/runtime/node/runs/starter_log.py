"""The event log of a fetched job: StarterUserLog in its ad names a file, to which its machine writes its events.

No queue writes one for it. The file is written as the job's user; a relative name refers to the job's working
directory. A failure to write an event is logged in the machine's log, and has no other effect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from roost.classad import ClassAd
from roost.classad.forms import Form, format_ad
from roost.classad.reading import whole_in
from roost.model.starter import Ending, ExitReport
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.worker.hands import Hands
from roost.runtime.node.runs.local_run import LocalRun
from roost.schedd.event_log.base import Event
from roost.schedd.event_log.endings import JobEvicted, JobTerminated
from roost.schedd.event_log.job_events import Execute, JobAborted, JobHeld
from roost.schedd.event_log.log import LoggedEvent, format_event
from roost.schedd.event_log.parts import Bill

_log = logging.getLogger("roost.starter")


class StarterLog:
    """The StarterUserLog of a run, if it has one."""

    def __init__(self, runner: LocalRun) -> None:
        self._runner = runner
        #: The last event for it.
        self._last: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Log that the job's program runs."""
        self._event(lambda: _begun(self._runner))

    def end(self, report: ExitReport) -> None:
        """Log that the run is over."""
        self._event(lambda: _ended(self._runner.job_ad, report))

    async def written(self) -> None:
        """Wait until the events so far are in the file."""
        if self._last is not None:
            await self._last

    def _event(self, event: Callable[[], Event]) -> None:
        path = _log_path(self._runner)
        if path is not None:
            work = self._written(self._last, path, event(), self._runner.around.clock.now())
            self._last = asyncio.create_task(work)
            self._last.add_done_callback(self._logged)

    def _logged(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            name = self._runner.in_log
            _log.error("%s: internal error: its StarterUserLog is not written", name, exc_info=failure)

    async def _written(self, earlier: asyncio.Task[None] | None, path: Path, event: Event, now: float) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        hands = self._runner.transfers.hands
        await with_hands(hands, _write, hands, path, self._runner.job_ad, event, now)


def _log_path(runner: LocalRun) -> Path | None:
    """The file of a run's events; None for none."""
    name = runner.job_ad.cell("starteruserlog")
    if runner.schedd or not isinstance(name, str) or not name:
        return None
    iwd = runner.job_ad.cell("iwd")
    place = Path(iwd) if isinstance(iwd, str) and iwd else None
    if place is None and runner.sandbox is not None:
        place = runner.sandbox.path
    return Path(name) if place is None else place / name


def _begun(runner: LocalRun) -> Event:
    """Log that the job's program runs."""
    return Execute(host=f"<{runner.around.name}>", slot_name=runner.slot)


def _ended(job_ad: ClassAd, report: ExitReport) -> Event:
    """Log that the run is over."""
    ad = job_ad.copy()
    ad.update(report.attributes)
    cause = report.cause
    if cause is None:
        return JobTerminated.of(ad)
    match cause.ending:
        case Ending.HOLD:
            return JobHeld(reason=cause.text, code=cause.code, subcode=cause.subcode)
        case Ending.REMOVE:
            return JobAborted(reason=cause.text)
    return JobEvicted(bill=Bill.of(ad), reason=cause.text, code=cause.code, subcode=cause.subcode)


def _write(hands: Hands, path: Path, job_ad: ClassAd, event: Event, now: float) -> None:
    """Write an event to a job's log."""
    cluster, proc = (whole_in(job_ad, name, other) for name, other in (("ClusterId", 1), ("ProcId", 0)))
    if job_ad.eval("StarterUserLogUseXML") is True:
        logged = LoggedEvent(event=event, number=event.NUMBER, cluster=cluster, proc=proc, time=now)
        text = format_ad(logged.ad(), Form.XML)
    else:
        text = format_event(event, cluster, proc, now)
    try:
        hands.append(str(path), (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "surrogateescape"))
    except (OSError, ValueError) as problem:
        # ValueError: a NUL byte in the name.
        _log.warning("%s: StarterUserLog is not written: %s", path, getattr(problem, "strerror", None) or problem)

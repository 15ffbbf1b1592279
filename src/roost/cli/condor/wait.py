"""``condor_wait``: wait until the jobs of an event log have ended.

It needs no pool: what it knows is what the log says. A log that is not there is an error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.condor.choosing import job_id
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given, number

if TYPE_CHECKING:
    from roost.schedd.event_log import LoggedEvent

OPTIONS: Final = (
    Option("wait", "no longer than this", takes="SECONDS", least=1),
    Option("num", "until so many jobs have ended", takes="N", least=1),
    Option("status", "print what happens to jobs", least=1),
    Option("echo", "print the events themselves", least=1, colon="FORM"),
    Option("allevents", "go on after the last job has ended, until the time is over", least=1),
    Option("debug", "understood, without effect", least=1),
)
_SUBMITTED: Final = 0
#: Numbers of events that end a job.
_ENDS: Final = frozenset((5, 9))
_WORDS: Final = {
    0: "submitted", 1: "executing on host", 4: "evicted", 5: "completed", 9: "removed", 10: "suspended",
    11: "unsuspended", 12: "held", 13: "released", 7: "shadow exception",
}  # fmt: skip
#: First and longest pause between two looks at the log, s.
_FIRST_S: Final = 0.02
_LONGEST_S: Final = 0.5


class _Log:
    """A log that grows."""

    def __init__(self, path: str) -> None:
        from roost.schedd.event_log import LogReader

        self._path = Path(path)
        self._reader = LogReader()
        self._offset = 0

    def news(self) -> Iterator[LoggedEvent]:
        """The events that have come since. Raises ToolError for a log that can't be read."""
        try:
            with self._path.open("rb") as file:
                file.seek(0, 2)
                if file.tell() < self._offset:
                    self._offset = 0
                    self._reader.restart()
                file.seek(self._offset)
                data = file.read()
        except OSError as error:
            raise ToolError(f"Couldn't open {self._path}: {error.strerror}") from None
        self._offset += len(data)
        yield from self._reader.feed(data)


class _Order:
    """What the command line says."""

    def __init__(self, arguments: list[str]) -> None:
        self.seconds: float | None = None
        self.number = 0
        self.flags: set[str] = set()
        named: list[str] = []
        for option in given(arguments, OPTIONS):
            if option.name == "":
                named.append(option.value)
            elif option.name == "wait":
                self.seconds = float(number(option))
            elif option.name == "num":
                self.number = number(option)
            else:
                self.flags.add(option.name)
        if not named or len(named) > 2:
            raise UsageError("Usage: condor_wait [options] LOG-FILE [JOB]")
        self.log, self.job = named[0], self._job(named[1]) if len(named) == 2 else ""

    def _job(self, word: str) -> str:
        job = job_id(".".join(word.split(".")[:2]))
        if job is None:
            raise UsageError(f"Invalid job number: {word}")
        return job

    def means(self, event: LoggedEvent) -> bool:
        """Whether an event is of a job that is waited for."""
        return self.job in ("", str(event.cluster), f"{event.cluster}.{event.proc}")


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_wait``."""
    order = _Order(arguments)
    until = None if order.seconds is None else time.monotonic() + order.seconds
    log, jobs = _Log(order.log), _Jobs(order)
    pause_s = _FIRST_S
    while True:
        for event in log.news():
            jobs.happened(event)
            if jobs.done and "allevents" not in order.flags:
                break
        if jobs.done and ("allevents" not in order.flags or until is None):
            if "echo" not in order.flags:
                sys.stdout.write("All jobs done.\n" if not order.number else f"{order.number} jobs done.\n")
            return 0
        if until is not None and time.monotonic() >= until:
            if jobs.done:
                return 0
            sys.stdout.write("Time expired.\n")
            return 1
        sys.stdout.flush()
        time.sleep(min(pause_s, max(0.0, until - time.monotonic())) if until is not None else pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_S)


class _Jobs:
    """Who has been submitted, and who has ended."""

    def __init__(self, order: _Order) -> None:
        self._order = order
        self._left: set[tuple[int, int]] = set()
        self._ended = 0

    @property
    def done(self) -> bool:
        """Whether there is nothing left to wait for."""
        if self._order.number:
            return self._ended >= self._order.number
        return self._ended > 0 and not self._left

    def happened(self, event: LoggedEvent) -> None:
        """Note an event."""
        if not self._order.means(event):
            return
        job = (event.cluster, event.proc)
        if event.number == _SUBMITTED:
            self._left.add(job)
        elif event.number in _ENDS:
            self._left.discard(job)
            self._ended += 1
        if "echo" in self._order.flags and event.event is not None:
            from roost.schedd.event_log import format_event

            sys.stdout.write(format_event(event.event, *job, event.time))
        elif "status" in self._order.flags and event.number in _WORDS:
            sys.stdout.write(f"{event.cluster}.{event.proc}.0 {_WORDS[event.number]}{_host(event)}\n")


def _host(event: LoggedEvent) -> str:
    from roost.schedd.event_log import Execute

    return f" {event.event.host}" if isinstance(event.event, Execute) else ""

"""``condor_wait``: wait until the jobs of an event log have ended.

It needs no pool: it only reads the log. The contents of the log at the first reading are taken as a whole, so that jobs
of earlier runs that have ended do not hide those that have not; from then on each event counts by itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.condor.choosing import job_id
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option, given, number

if TYPE_CHECKING:
    from roost.schedd.event_log.log import LoggedEvent

OPTIONS: Final = (
    Option("wait", "maximum time to wait; 0: do not wait", takes="SECONDS", least=1),
    Option("num", "wait until N jobs have ended", takes="N", least=1),
    Option("status", "print what happens to the jobs", least=1),
    Option("echo", "print the events; FORM is XML or JSON, or UTC, SUB_SECOND or ISO_DATE", least=1,
           colon="FORM"),
    Option("allevents", "continue after the last job has ended, until the time is over or the log ends", least=1),
    Option("debug", "accepted, has no effect", least=1),
)  # fmt: skip
_SUBMITTED: Final = 0
#: Numbers of events that end a job.
_ENDS: Final = frozenset((5, 9))
#: Those between which the jobs of a cluster are submitted one after another.
_CLUSTER_SUBMITTED: Final = 35
_CLUSTER_REMOVED: Final = 36
_WORDS: Final = {0: "submitted", 1: "executing on host", 5: "completed", 9: "aborted"}
_FORMS: Final = frozenset(("XML", "JSON", "UTC", "SUB_SECOND", "ISO_DATE"))
#: Minimum and maximum pause between checks of the log, s.
_FIRST_S: Final = 0.02
_LONGEST_S: Final = 0.5


class _Log:
    """A growing log."""

    def __init__(self, path: str) -> None:
        from roost.schedd.event_log.log import LogReader

        self._path = Path(path)
        self._reader = LogReader()
        self._offset = 0

    def news(self) -> Iterator[LoggedEvent]:
        """The events since the last call. Raises ToolError for a log that cannot be read."""
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


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        #: None: no limit.
        self.seconds: float | None = None
        self.number = 0
        self.flags: set[str] = set()
        #: How events are printed, a subset of `_FORMS`.
        self.forms: frozenset[str] = frozenset()
        named: list[str] = []
        # HTCondor's tool takes a bare -1 for any job.
        for option in given(arguments, OPTIONS) if arguments[-1:] != ["-1"] else given(arguments[:-1], OPTIONS):
            if option.name == "":
                named.append(option.value)
            else:
                self._take(option)
        if not named or len(named) > 2:
            raise UsageError("Usage: condor_wait [options] LOG-FILE [JOB]")
        self.log, self.job = named[0], self._job(named[1]) if len(named) == 2 else ""
        if "allevents" in self.flags and self.seconds is None:
            self.seconds = 0.0

    def _take(self, option: Given) -> None:
        match option.name:
            case "wait":
                self.seconds = float(number(option))
            case "num":
                self.number = number(option)
                if not self.number:
                    raise UsageError("-num must be greater than zero")
            case "echo":
                self.forms = _forms(option.colon or "")
                self.flags.add("echo")
            case _:
                self.flags.add(option.name)
        if self.number and "allevents" in self.flags:
            raise UsageError("-allevents cannot be used with -num")

    def _job(self, word: str) -> str:
        job = job_id(".".join(word.split(".")[:2]))
        if job is None:
            raise UsageError(f"Couldn't understand job number: {word}")
        return job

    def means(self, event: LoggedEvent) -> bool:
        """Whether an event belongs to a job that is waited for."""
        return self.job in ("", str(event.cluster), f"{event.cluster}.{event.proc}")


def _forms(colon: str) -> frozenset[str]:
    words = frozenset(colon.upper().replace(",", " ").split())
    if unknown := words - _FORMS:
        raise UsageError(f"-echo:{colon}: {min(unknown)} is not one of {', '.join(sorted(_FORMS))}")
    return words


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_wait``."""
    order = _CommandLine(arguments)
    until = None if order.seconds is None else time.monotonic() + order.seconds
    log, jobs = _Log(order.log), _Jobs(order)
    for event in log.news():
        jobs.happened(event)
        if order.number and jobs.over():
            break
    if not jobs.over() and not jobs.left and not order.number and "allevents" not in order.flags:
        return _nobody(order)
    pause_s = _FIRST_S
    while not jobs.over():
        if until is not None and time.monotonic() >= until:
            return _too_late(order)
        sys.stdout.flush()
        time.sleep(min(pause_s, max(0.0, until - time.monotonic())) if until is not None else pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_S)
        for event in log.news():
            jobs.happened(event)
            if jobs.over():
                break
    sys.stdout.write(f"Specifed number of jobs ({order.number}) done.\n" if order.number else "All jobs done.\n")
    return 0


def _nobody(order: _CommandLine) -> int:
    """Report that no job of the log is waited for: HTCondor, and scripts, treat that as done; people get a message."""
    sys.stderr.write(f"This log does not mention {'that job' if order.job else 'any jobs'}!\n")
    sys.stdout.write("All jobs done.\n")
    return 0


def _too_late(order: _CommandLine) -> int:
    """Report that time is up. Without a time limit, the log was read to its end, which counts as success."""
    if not order.seconds:
        return 0
    sys.stdout.write("Time expired.\n")
    return 1


class _Jobs:
    """The jobs that have been submitted, and those that have ended."""

    def __init__(self, order: _CommandLine) -> None:
        self._order = order
        self._ended = 0
        #: Jobs that have been submitted and have not ended.
        self.left: set[tuple[int, int]] = set()

    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        if "allevents" in self._order.flags:
            return False
        if self._order.number:
            return self._ended >= self._order.number
        return self._ended > 0 and not self.left

    def happened(self, event: LoggedEvent) -> None:
        """Note an event, and print it if requested."""
        if not self._order.means(event):
            return
        job = (event.cluster, event.proc)
        if event.number in (_SUBMITTED, _CLUSTER_SUBMITTED):
            self.left.add(job)
        elif event.number == _CLUSTER_REMOVED:
            self.left.discard(job)
        elif event.number in _ENDS:
            self.left.discard(job)
            self._ended += 1
        if "echo" in self._order.flags:
            sys.stdout.write(_echo(event, self._order.forms))
        if "status" in self._order.flags and event.number in _WORDS:
            sys.stdout.write(f"{event.cluster}.{event.proc}.0 {_WORDS[event.number]}{_host(event)}\n")


def _echo(event: LoggedEvent, forms: frozenset[str]) -> str:
    """The text of an event."""
    from roost.classad.forms import Form, Order, format_ad
    from roost.schedd.event_log.log import format_event

    utc = "UTC" in forms
    if forms & {"XML", "JSON"}:
        form = Form.JSON if "JSON" in forms else Form.XML
        return f"{format_ad(event.ad(utc=utc), form, Order.NAME).rstrip()}\n"
    if event.event is None:
        return ""
    return format_event(event.event, event.cluster, event.proc, event.time, utc=utc, sub_second="SUB_SECOND" in forms)


def _host(event: LoggedEvent) -> str:
    from roost.schedd.event_log.log import Execute

    return f" {event.event.host}" if isinstance(event.event, Execute) else ""

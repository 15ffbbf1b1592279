"""The event log of a user: the events of each job, in HTCondor's text format, written and read.

    >>> from roost.schedd.event_log import log
    >>> print(log.format_event(log.JobHeld(reason="disk full", code=12, subcode=28), 7, 0, 0.0, utc=True), end="")
    012 (007.000.000) 1970-01-01 00:00:00Z Job was held.
        disk full
        Code 12 Subcode 28
    ...

An event is a header line with number, job and time, the lines of its body, and a line ``...``. User texts are kept on
one line, so no body contains such a line. `LogReader` reads the log in pieces and yields each event once it is
complete. The caller appends to the file with one write per event, under a lock. This module exports all events and the
values in them.

Kinds that the format reserves for systems Roost does not know are read as `Unknown`, and kept everywhere.
"""

# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar, Final, Self, TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd, Value
from roost.schedd.event_log.base import KINDS, Event
from roost.schedd.event_log.endings import JobEvicted, JobTerminated, NodeTerminated, PostScriptTerminated
from roost.schedd.event_log.factories import (
    ClusterRemove,
    ClusterSubmit,
    Completion,
    DataflowJobSkipped,
    FactoryPaused,
    FactoryResumed,
    PreSkip,
)
from roost.schedd.event_log.files import (
    CommonFiles,
    CommonStage,
    FileComplete,
    FileRemoved,
    FileTransfer,
    FileUsed,
    ReleaseSpace,
    ReserveSpace,
    TransferStage,
)
from roost.schedd.event_log.job_events import (
    Checkpointed,
    ExecutableError,
    Execute,
    Generic,
    ImageSize,
    JobAborted,
    JobHeld,
    JobReleased,
    JobSuspended,
    JobUnsuspended,
    ShadowException,
    Submit,
)
from roost.schedd.event_log.parts import (
    Bill,
    Lines,
    LogFormatError,
    ProgramExit,
    Resource,
    ResourceTable,
    Traffic,
    Usage,
)
from roost.schedd.event_log.rare import (
    AttributeUpdate,
    GridResourceDown,
    GridResourceUp,
    GridSubmit,
    JobAdInformation,
    JobDisconnected,
    JobReconnected,
    JobReconnectFailed,
    JobStageIn,
    JobStageOut,
    JobStatusKnown,
    JobStatusUnknown,
    NodeExecute,
    RemoteError,
)

#: Any event.
JobEvent: TypeAlias = Event

#: The line that ends an event.
END: Final = "..."
_END_BYTES: Final = END.encode()
#: Maximum size of one event's text, bytes; longer ones are skipped.
EVENT_BYTES_MAX: Final = 1_048_576

_HEADER: Final = re.compile(
    r"(\d{3,}) \((-?\d+)\.(-?\d+)\.(-?\d+)\) "
    r"(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)/(\d\d)) (\d\d):(\d\d):(\d\d)(\.\d+)?(Z?) ?(.*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Event):
    """An event whose number Roost does not write."""

    NUMBER: ClassVar[int] = -1
    NAME: ClassVar[str] = "FutureEvent"

    number: int
    head: str
    body: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        yield self.head
        yield from self.body

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(number=cls.NUMBER, head=head, body=tuple(lines.rest()))

    def attributes(self) -> dict[str, Value]:
        return {"EventHead": self.head, "EventPayloadLines": "\n".join(self.body)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event in a log, with its header."""

    #: None for a text that could not be parsed; `problem` then says why.
    event: Event | None
    number: int
    cluster: int
    proc: int
    #: Epoch s.
    time: float
    problem: str = ""

    def ad(self, *, utc: bool = False) -> ClassAd:
        """The event as an ad: the form from which JSON and XML are made."""
        name = "FutureEvent" if self.event is None else self.event.NAME
        ad = ClassAd(
            {
                "MyType": name,
                "EventTypeNumber": self.number,
                "EventTime": _instant(self.time, utc=utc, sub_second=False, separator="T"),
                "Cluster": self.cluster,
                "Proc": self.proc,
                "Subproc": 0,
            }
        )
        if self.event is not None:
            ad.update(self.event.attributes())
        return ad


def format_event(
    event: Event, cluster: int, proc: int, now: float, *, utc: bool = False, sub_second: bool = False
) -> str:
    """The text of an event, end line included. Times are local unless `utc`."""
    number = event.number if isinstance(event, Unknown) else event.NUMBER
    lines = event.lines()
    head = f"{number:03} ({cluster:03}.{proc:03}.000) {_instant(now, utc=utc, sub_second=sub_second)} {next(lines)}"
    body = "".join([f"{line}\n" for line in lines])
    return f"{head}\n{body}{END}\n"


def _instant(at: float, *, utc: bool, sub_second: bool, separator: str = " ") -> str:
    moment = datetime.fromtimestamp(at, UTC) if utc else datetime.fromtimestamp(at)
    text = moment.strftime(f"%Y-%m-%d{separator}%H:%M:%S")
    return text + (f".{moment.microsecond // 1000:03}" if sub_second else "") + ("Z" if utc else "")


def parse_event(text: str, *, year: int | None = None) -> LoggedEvent:
    """The event of a text without its end line. `year` is that of headers in the old style, which have none (1970).

    Raises `LogFormatError` if there is no header; the result names a body that cannot be parsed.
    """
    first, *rest = text.rstrip("\n").split("\n")
    header = _HEADER.match(first.rstrip("\r"))
    if header is None:
        raise LogFormatError(f"{first[:80]!r} does not begin an event; expected number, (job) and time")
    number, lines = int(header[1]), Lines(rest)
    kind = KINDS.get(number)
    event: Event | None
    problem = ""
    try:
        if kind is None:
            event = Unknown(number=number, head=header[15], body=tuple(rest))
        else:
            event = kind.read(header[15].rstrip(), lines)
    except (LogFormatError, ValueError) as mistake:
        event, problem = None, str(mistake)
    return LoggedEvent(
        event=event,
        number=number,
        cluster=int(header[2]),
        proc=int(header[3]),
        time=_time(header, year),
        problem=problem,
    )


def _time(header: re.Match[str], year: int | None) -> float:
    if header[5] is not None:
        date = int(header[5]), int(header[6]), int(header[7])
    else:
        date = year or 1970, int(header[8]), int(header[9])
    clock = int(header[10]), int(header[11]), int(header[12])
    try:
        moment = datetime(*date, *clock, tzinfo=UTC if header[14] else None)
    except ValueError as problem:
        raise LogFormatError(f"{header[0][:60]!r}: {problem}") from problem
    return moment.timestamp() + float(header[13] or 0)


class LogReader:
    """Reads the bytes of a log in pieces as it grows, and yields each event as soon as it is complete.

    A piece may end anywhere. After a rotation, or when the file was truncated, call `restart`. Text that does not begin
    an event is skipped up to the next end line, and counted in `skipped`. `year` is for headers without one.
    """

    def __init__(self, position: int = 0, *, year: int | None = None) -> None:
        self._year = year
        self._rest = b""
        self._lines: list[bytes] = []
        self._bytes = 0
        #: Offset in the file after the last complete event: where to continue after a restart.
        self.position = position
        #: Number of events that could not be read at all.
        self.skipped = 0

    def restart(self) -> None:
        """Note that the next piece is the beginning of a file; an incomplete event is discarded."""
        self._rest, self._lines, self._bytes, self.position = b"", [], 0, 0

    def feed(self, piece: bytes) -> Iterator[LoggedEvent]:
        """The events that this piece completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._bytes += len(line) + 1
            if line.rstrip(b"\r") == _END_BYTES:
                yield from self._whole()
            elif self._bytes <= EVENT_BYTES_MAX:
                self._lines.append(line)

    def _whole(self) -> Iterator[LoggedEvent]:
        text = b"\n".join(self._lines).decode("utf-8", "surrogateescape")
        self.position += self._bytes
        too_long = self._bytes > EVENT_BYTES_MAX
        self._lines, self._bytes = [], 0
        if too_long:
            self.skipped += 1
            return
        try:
            yield parse_event(text.lstrip("\n"), year=self._year)
        except LogFormatError:
            self.skipped += 1

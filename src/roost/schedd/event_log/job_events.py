"""Events of a job between its submission and its end, in a user's event log: one frozen class each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Value
from roost.schedd.event_log.base import Event, FixedWords, SubmissionEvent, WithReason, after, given, text_of, whole_of
from roost.schedd.event_log.parts import (
    Bill,
    Lines,
    LogFormatError,
    Traffic,
    Usage,
    labelled,
    one_line,
    read_labelled,
    read_usages,
)

_CODE: Final = re.compile(r"Code (-?\d+) Subcode (-?\d+)")
_SLOT: Final = re.compile(r"SlotName: (.*)")
_ATTRIBUTE: Final = re.compile(r"([A-Za-z_][\w.]*) = (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(SubmissionEvent):
    """The job is in the queue."""

    NUMBER: ClassVar[int] = 0
    NAME: ClassVar[str] = "SubmitEvent"
    WORDS: ClassVar[str] = "Job"

    host: str
    #: The name that a workflow gives to this job.
    log_notes: str = ""
    user_notes: str = ""

    @classmethod
    def of(cls, ad: ClassAd, host: str) -> Self:
        """From a job's ad."""
        return cls(host=host, log_notes=text_of(ad, "SubmitEventNotes"), user_notes=text_of(ad, "SubmitEventUserNotes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute(Event):
    """The job's program runs."""

    NUMBER: ClassVar[int] = 1
    NAME: ClassVar[str] = "ExecuteEvent"

    host: str
    slot_name: str = ""
    #: Names and expressions of the machine that the user wants in the log.
    machine: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Iterator[str]:
        yield f"Job executing on host: {self.host}"
        if self.slot_name:
            yield f"\tSlotName: {self.slot_name}"
        for name, text in self.machine:
            yield f"\t{name} = {one_line(text)}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        slot = lines.take_if(_SLOT)
        machine = []
        while found := lines.take_if(_ATTRIBUTE):
            machine.append((found[1], found[2]))
        return cls(
            host=after(head, "Job executing on host: "), slot_name=slot[1] if slot else "", machine=tuple(machine)
        )

    def attributes(self) -> dict[str, Value]:
        return given(ExecuteHost=self.host, SlotName=self.slot_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutableError(Event):
    """The job's program cannot be run."""

    NUMBER: ClassVar[int] = 2
    NAME: ClassVar[str] = "ExecutableErrorEvent"
    WORDS: ClassVar[tuple[str, ...]] = ("Job file not executable.", "Job not properly linked for Condor.")

    kind: int = 0

    def lines(self) -> Iterator[str]:
        yield f"({self.kind}) {self.WORDS[self.kind]}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        for kind, words in enumerate(cls.WORDS):
            if head == f"({kind}) {words}":
                return cls(kind=kind)
        raise LogFormatError(f"{head!r} is not a kind of executable error")

    def attributes(self) -> dict[str, Value]:
        return {"ExecuteErrorType": self.kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed(Event):
    """The job's state has been saved."""

    NUMBER: ClassVar[int] = 3
    NAME: ClassVar[str] = "CheckpointedEvent"
    _SENT: ClassVar[str] = "Run Bytes Sent By Job For Checkpoint"

    run: Usage = field(default_factory=Usage)
    local: Usage = field(default_factory=Usage)
    sent: int = 0

    @classmethod
    def of(cls, ad: ClassAd) -> Self:
        """From a job's ad: what the run has used so far."""
        return cls(run=Bill.of(ad).run)

    def lines(self) -> Iterator[str]:
        yield "Job was checkpointed."
        yield f"\t{self.run}  -  Run Remote Usage"
        yield f"\t{self.local}  -  Run Local Usage"
        yield labelled(self.sent, self._SENT)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        usages = read_usages(lines)
        return cls(
            run=usages.get("Run Remote Usage", Usage()),
            local=usages.get("Run Local Usage", Usage()),
            sent=read_labelled(lines).get(cls._SENT, 0),
        )

    def attributes(self) -> dict[str, Value]:
        return {
            "RunRemoteUsage": str(self.run),
            "RunLocalUsage": str(self.local),
            "SentBytes": float(self.sent),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSize(Event):
    """The job uses more memory than was known."""

    NUMBER: ClassVar[int] = 6
    NAME: ClassVar[str] = "JobImageSizeEvent"
    _LABELS: ClassVar[tuple[str, str, str]] = (
        "MemoryUsage of job (MB)",
        "ResidentSetSize of job (KB)",
        "ProportionalSetSize of job (KB)",
    )

    image_size_kib: int
    #: None: unknown; likewise for the next two.
    memory_usage_mb: int | None = None
    resident_set_kib: int | None = None
    proportional_set_kib: int | None = None

    def lines(self) -> Iterator[str]:
        yield f"Image size of job updated: {self.image_size_kib}"
        values = self.memory_usage_mb, self.resident_set_kib, self.proportional_set_kib
        for value, label in zip(values, self._LABELS, strict=True):
            if value is not None:
                yield labelled(value, label)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = read_labelled(lines)
        size = after(head, "Image size of job updated: ").strip()
        if not size.isdecimal():
            raise LogFormatError(f"{size!r} is not a valid size")
        memory, resident, proportional = (found.get(label) for label in cls._LABELS)
        return cls(
            image_size_kib=int(size),
            memory_usage_mb=memory,
            resident_set_kib=resident,
            proportional_set_kib=proportional,
        )

    def attributes(self) -> dict[str, Value]:
        values = {
            "Size": self.image_size_kib,
            "MemoryUsage": self.memory_usage_mb,
            "ResidentSetSize": self.resident_set_kib,
            "ProportionalSetSize": self.proportional_set_kib,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowException(Event):
    """A run of the job could not be supervised."""

    NUMBER: ClassVar[int] = 7
    NAME: ClassVar[str] = "ShadowExceptionEvent"

    message: str
    traffic: Traffic = field(default_factory=Traffic)

    def lines(self) -> Iterator[str]:
        yield "Shadow exception!"
        yield f"\t{one_line(self.message)}"
        yield from self.traffic.lines()

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(message=lines.take(), traffic=Traffic.read(read_labelled(lines)))

    def attributes(self) -> dict[str, Value]:
        return {
            "Message": self.message,
            "SentBytes": float(self.traffic.sent),
            "ReceivedBytes": float(self.traffic.received),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Generic(Event):
    """A line of free text."""

    NUMBER: ClassVar[int] = 8
    NAME: ClassVar[str] = "GenericEvent"

    text: str

    def lines(self) -> Iterator[str]:
        yield one_line(self.text)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(text=head)

    def attributes(self) -> dict[str, Value]:
        return {"Info": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAborted(WithReason):
    """The job was removed."""

    NUMBER: ClassVar[int] = 9
    NAME: ClassVar[str] = "JobAbortedEvent"
    WORDS: ClassVar[str] = "Job was aborted."

    reason: str = ""

    @classmethod
    def of(cls, ad: ClassAd) -> Self:
        """From a removed job's ad."""
        return cls(reason=text_of(ad, "RemoveReason"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSuspended(Event):
    """All processes of the job are suspended."""

    NUMBER: ClassVar[int] = 10
    NAME: ClassVar[str] = "JobSuspendedEvent"
    _WORDS: ClassVar[str] = "Number of processes actually suspended: "

    processes: int = 1

    def lines(self) -> Iterator[str]:
        yield "Job was suspended."
        yield f"\t{self._WORDS}{self.processes}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        number = after(lines.take(), cls._WORDS).strip()
        if not number.isdecimal():
            raise LogFormatError(f"{number!r} is not a number of processes")
        return cls(processes=int(number))

    def attributes(self) -> dict[str, Value]:
        return {"NumberOfPIDs": self.processes}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUnsuspended(FixedWords):
    """The job continues."""

    NUMBER: ClassVar[int] = 11
    NAME: ClassVar[str] = "JobUnsuspendedEvent"
    WORDS: ClassVar[str] = "Job was unsuspended."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeld(Event):
    """The job is on hold."""

    NUMBER: ClassVar[int] = 12
    NAME: ClassVar[str] = "JobHeldEvent"
    _UNSPECIFIED: ClassVar[str] = "Reason unspecified"

    reason: str = ""
    code: int = 0
    subcode: int = 0

    def lines(self) -> Iterator[str]:
        yield "Job was held."
        yield f"\t{one_line(self.reason) or self._UNSPECIFIED}"
        yield f"\tCode {self.code} Subcode {self.subcode}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        reason = lines.take()
        numbers = lines.take_if(_CODE)
        return cls(
            reason="" if reason == cls._UNSPECIFIED else reason,
            code=int(numbers[1]) if numbers else 0,
            subcode=int(numbers[2]) if numbers else 0,
        )

    def attributes(self) -> dict[str, Value]:
        return {**given(HoldReason=self.reason), "HoldReasonCode": self.code, "HoldReasonSubCode": self.subcode}

    @classmethod
    def of(cls, ad: ClassAd) -> Self:
        """From a held job's ad."""
        return cls(
            reason=text_of(ad, "HoldReason"),
            code=whole_of(ad, "HoldReasonCode"),
            subcode=whole_of(ad, "HoldReasonSubCode"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReleased(WithReason):
    """The job is no longer on hold."""

    NUMBER: ClassVar[int] = 13
    NAME: ClassVar[str] = "JobReleaseEvent"
    WORDS: ClassVar[str] = "Job was released."

    reason: str = ""

    @classmethod
    def of(cls, ad: ClassAd) -> Self:
        """From a released job's ad."""
        return cls(reason=text_of(ad, "ReleaseReason"))

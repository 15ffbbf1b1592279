"""Events that few jobs meet: lost machines, workflows, factories of jobs, transfer of files, other systems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from roost.classad import ParseError, Syntax, Value, evaluate, parse_expression
from roost.schedd.event_log_base import NOTE, Event, WithReason, after, given
from roost.schedd.event_log_parts import Lines, LogFormatError, one_line

_ATTRIBUTE: Final = re.compile(r"([A-Za-z_][\w.]*) = (.*)")
_CODE: Final = re.compile(r"Code (-?\d+) Subcode (-?\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExecute(Event):
    """One node of a parallel job runs."""

    NUMBER: ClassVar[int] = 14
    NAME: ClassVar[str] = "NodeExecuteEvent"
    _HEAD: ClassVar[re.Pattern[str]] = re.compile(r"Node (\d+) executing on host: (.*)")
    _SLOT: ClassVar[re.Pattern[str]] = re.compile(r"SlotName: (.*)")

    node: int
    host: str
    slot_name: str = ""

    def lines(self) -> Iterator[str]:
        yield f"Node {self.node} executing on host: {self.host}"
        if self.slot_name:
            yield f"\tSlotName: {self.slot_name}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = cls._HEAD.match(head)
        if found is None:
            raise LogFormatError(f"{head!r} names no node and host")
        slot = lines.take_if(cls._SLOT)
        return cls(node=int(found[1]), host=found[2], slot_name=slot[1] if slot else "")

    def attributes(self) -> dict[str, Value]:
        return {"Node": self.node, **given(ExecuteHost=self.host, SlotName=self.slot_name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteError(Event):
    """A machine says what went wrong with the job."""

    NUMBER: ClassVar[int] = 21
    NAME: ClassVar[str] = "RemoteErrorEvent"
    _HEAD: ClassVar[re.Pattern[str]] = re.compile(r"(Error|Message) from (\S+) on (.*):\Z")

    host: str
    #: Any number of lines.
    message: str
    daemon: str = "starter"
    critical: bool = True
    code: int = 0
    subcode: int = 0

    def lines(self) -> Iterator[str]:
        yield f"{'Error' if self.critical else 'Message'} from {self.daemon} on {self.host}:"
        for line in self.message.splitlines():
            yield f"\t{line}"
        if self.code:
            yield f"\tCode {self.code} Subcode {self.subcode}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = cls._HEAD.match(head)
        if found is None:
            raise LogFormatError(f"{head!r} does not say who on which host")
        said = list(lines.rest())
        numbers = _CODE.fullmatch(said[-1]) if said else None
        return cls(
            host=found[3],
            message="\n".join(said[:-1] if numbers else said),
            daemon=found[2],
            critical=found[1] == "Error",
            code=int(numbers[1]) if numbers else 0,
            subcode=int(numbers[2]) if numbers else 0,
        )

    def attributes(self) -> dict[str, Value]:
        numbers = {"HoldReasonCode": self.code, "HoldReasonSubCode": self.subcode} if self.code else {}
        return {
            **given(Daemon=self.daemon, ExecuteHost=self.host, ErrorMsg=self.message),
            "CriticalError": self.critical,
            **numbers,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDisconnected(Event):
    """The machine of a running job does not answer."""

    NUMBER: ClassVar[int] = 22
    NAME: ClassVar[str] = "JobDisconnectedEvent"

    reason: str
    machine: str
    address: str

    def lines(self) -> Iterator[str]:
        yield "Job disconnected, attempting to reconnect"
        yield NOTE + one_line(self.reason)
        yield f"{NOTE}Trying to reconnect to {self.machine} {self.address}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        reason = lines.take()
        machine, _, address = after(lines.take(), "Trying to reconnect to ").partition(" ")
        return cls(reason=reason, machine=machine, address=address)

    def attributes(self) -> dict[str, Value]:
        return given(DisconnectReason=self.reason, StartdName=self.machine, StartdAddr=self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReconnected(Event):
    """The machine answers again, and the job still runs there."""

    NUMBER: ClassVar[int] = 23
    NAME: ClassVar[str] = "JobReconnectedEvent"

    machine: str
    address: str
    starter_address: str

    def lines(self) -> Iterator[str]:
        yield f"Job reconnected to {self.machine}"
        yield f"{NOTE}startd address: {self.address}"
        yield f"{NOTE}starter address: {self.starter_address}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(
            machine=after(head, "Job reconnected to "),
            address=after(lines.take(), "startd address: "),
            starter_address=after(lines.take(), "starter address: "),
        )

    def attributes(self) -> dict[str, Value]:
        return given(StartdName=self.machine, StartdAddr=self.address, StarterAddr=self.starter_address)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReconnectFailed(Event):
    """The run is given up; the job waits again."""

    NUMBER: ClassVar[int] = 24
    NAME: ClassVar[str] = "JobReconnectFailedEvent"
    _END: ClassVar[str] = ", rescheduling job"

    reason: str
    machine: str

    def lines(self) -> Iterator[str]:
        yield "Job reconnection failed"
        yield NOTE + one_line(self.reason)
        yield f"{NOTE}Can not reconnect to {self.machine}{self._END}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        reason = lines.take()
        return cls(reason=reason, machine=after(lines.take(), "Can not reconnect to ").removesuffix(cls._END))

    def attributes(self) -> dict[str, Value]:
        return given(Reason=self.reason, StartdName=self.machine)


class _GridResource(Event):
    """An event about another system that runs jobs."""

    __slots__ = ()
    WORDS: ClassVar[str]

    resource: str

    def lines(self) -> Iterator[str]:
        yield self.WORDS
        yield f"{NOTE}GridResource: {self.resource}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(resource=after(lines.take(), "GridResource: "))  # type: ignore[call-arg]

    def attributes(self) -> dict[str, Value]:
        return given(GridResource=self.resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridResourceUp(_GridResource):
    """Another system answers again."""

    NUMBER: ClassVar[int] = 25
    NAME: ClassVar[str] = "GridResourceUpEvent"
    WORDS: ClassVar[str] = "Grid Resource Back Up"

    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GridResourceDown(_GridResource):
    """Another system does not answer."""

    NUMBER: ClassVar[int] = 26
    NAME: ClassVar[str] = "GridResourceDownEvent"
    WORDS: ClassVar[str] = "Detected Down Grid Resource"

    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSubmit(Event):
    """The job was handed to another system."""

    NUMBER: ClassVar[int] = 27
    NAME: ClassVar[str] = "GridSubmitEvent"

    resource: str
    job_id: str

    def lines(self) -> Iterator[str]:
        yield "Job submitted to grid resource"
        yield f"{NOTE}GridResource: {self.resource}"
        yield f"{NOTE}GridJobId: {self.job_id}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(resource=after(lines.take(), "GridResource: "), job_id=after(lines.take(), "GridJobId: "))

    def attributes(self) -> dict[str, Value]:
        return given(GridResource=self.resource, GridJobId=self.job_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAdInformation(Event):
    """Attributes of the job that its user wants told with every event."""

    NUMBER: ClassVar[int] = 28
    NAME: ClassVar[str] = "JobAdInformationEvent"

    #: Names and expressions.
    told: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Iterator[str]:
        yield "Job ad information event triggered."
        for name, text in self.told:
            yield f"{name} = {one_line(text)}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        told = []
        while found := lines.take_if(_ATTRIBUTE):
            told.append((found[1], found[2]))
        return cls(told=tuple(told))

    def attributes(self) -> dict[str, Value]:
        return {name: _value(text) for name, text in self.told}


def _value(text: str) -> Value:
    """The value of an expression without any ad; a text that is none stays text."""
    try:
        return evaluate(parse_expression(text, Syntax.OLD))
    except ParseError:
        return text


class _Words(Event):
    """An event that is nothing but fixed words."""

    __slots__ = ()
    WORDS: ClassVar[str]

    def lines(self) -> Iterator[str]:
        yield self.WORDS

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls()

    def attributes(self) -> dict[str, Value]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatusUnknown(_Words):
    """Another system does not say how the job is."""

    NUMBER: ClassVar[int] = 29
    NAME: ClassVar[str] = "JobStatusUnknownEvent"
    WORDS: ClassVar[str] = "The job's remote status is unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatusKnown(_Words):
    """Another system says again how the job is."""

    NUMBER: ClassVar[int] = 30
    NAME: ClassVar[str] = "JobStatusKnownEvent"
    WORDS: ClassVar[str] = "The job's remote status is known again"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStageIn(_Words):
    """Input goes to another system."""

    NUMBER: ClassVar[int] = 31
    NAME: ClassVar[str] = "JobStageInEvent"
    WORDS: ClassVar[str] = "Job is performing stage-in of input files"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStageOut(_Words):
    """Output comes from another system."""

    NUMBER: ClassVar[int] = 32
    NAME: ClassVar[str] = "JobStageOutEvent"
    WORDS: ClassVar[str] = "Job is performing stage-out of output files"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeUpdate(Event):
    """Somebody changed an attribute of the job."""

    NUMBER: ClassVar[int] = 33
    NAME: ClassVar[str] = "AttributeUpdateEvent"
    _CHANGED: ClassVar[re.Pattern[str]] = re.compile(r"Changing job attribute (\S+) from (.*) to (.*)")
    _SET: ClassVar[re.Pattern[str]] = re.compile(r"Setting job attribute (\S+) to (.*)")

    attribute: str
    #: Expressions as text; "" before: there was none.
    value: str
    old_value: str = ""

    def lines(self) -> Iterator[str]:
        name, value, old = self.attribute, one_line(self.value), one_line(self.old_value)
        yield (
            f"Changing job attribute {name} from {old} to {value}"
            if old
            else f"Setting job attribute {name} to {value}"
        )

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        if changed := cls._CHANGED.match(head):
            return cls(attribute=changed[1], old_value=changed[2], value=changed[3])
        found = cls._SET.match(head)
        if found is None:
            raise LogFormatError(f"{head!r} names no attribute")
        return cls(attribute=found[1], value=found[2])

    def attributes(self) -> dict[str, Value]:
        return given(Attribute=self.attribute, Value=self.value, OldValue=self.old_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreSkip(Event):
    """A script made a workflow leave the job out."""

    NUMBER: ClassVar[int] = 34
    NAME: ClassVar[str] = "PreSkipEvent"

    notes: str

    def lines(self) -> Iterator[str]:
        yield "PRE script return value is PRE_SKIP value"
        yield NOTE + one_line(self.notes)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(notes=lines.take())

    def attributes(self) -> dict[str, Value]:
        return given(SkipEventLogNotes=self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSubmit(Event):
    """A cluster is in the queue whose jobs are made one after another."""

    NUMBER: ClassVar[int] = 35
    NAME: ClassVar[str] = "ClusterSubmitEvent"

    host: str
    log_notes: str = ""
    user_notes: str = ""

    def lines(self) -> Iterator[str]:
        yield f"Cluster submitted from host: {self.host}"
        if self.log_notes or self.user_notes:
            yield NOTE + one_line(self.log_notes)
        if self.user_notes:
            yield NOTE + one_line(self.user_notes)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(host=after(head, "Cluster submitted from host: "), log_notes=lines.take(), user_notes=lines.take())

    def attributes(self) -> dict[str, Value]:
        return given(SubmitHost=self.host, LogNotes=self.log_notes, UserNotes=self.user_notes)


class Completion(IntEnum):
    """How far such a cluster came."""

    ERROR = -1
    INCOMPLETE = 0
    COMPLETE = 1
    PAUSED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRemove(Event):
    """Such a cluster has left the queue."""

    NUMBER: ClassVar[int] = 36
    NAME: ClassVar[str] = "ClusterRemoveEvent"
    _BODY: ClassVar[re.Pattern[str]] = re.compile(r"Materialized (\d+) jobs from (\d+) items\.\s*(\w*)")

    jobs: int
    items: int
    completion: Completion = Completion.COMPLETE
    notes: str = ""

    def lines(self) -> Iterator[str]:
        yield "Cluster removed"
        word = "Error -1" if self.completion is Completion.ERROR else self.completion.name.capitalize()
        yield f"\tMaterialized {self.jobs} jobs from {self.items} items.\t{word}"
        if self.notes:
            yield f"\t{one_line(self.notes)}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = cls._BODY.match(lines.take())
        if found is None:
            raise LogFormatError("the event does not say how many jobs there were")
        word = found[3].upper()
        completion = Completion[word] if word in Completion.__members__ else Completion.COMPLETE
        return cls(jobs=int(found[1]), items=int(found[2]), completion=completion, notes=lines.take())

    def attributes(self) -> dict[str, Value]:
        return {
            "NextProcId": self.jobs,
            "NextRow": self.items,
            "Completion": int(self.completion),
            **given(Notes=self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryPaused(Event):
    """No further jobs of such a cluster are made for now."""

    NUMBER: ClassVar[int] = 37
    NAME: ClassVar[str] = "FactoryPausedEvent"
    _PAUSE: ClassVar[re.Pattern[str]] = re.compile(r"PauseCode (-?\d+)")
    _HOLD: ClassVar[re.Pattern[str]] = re.compile(r"HoldCode (-?\d+)")

    reason: str = ""
    pause_code: int = 0
    hold_code: int = 0

    def lines(self) -> Iterator[str]:
        yield "Job Materialization Paused"
        if self.reason or self.pause_code or self.hold_code:
            yield f"\t{one_line(self.reason)}"
        if self.pause_code:
            yield f"\tPauseCode {self.pause_code}"
        if self.hold_code:
            yield f"\tHoldCode {self.hold_code}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        reason = lines.take()
        pause, hold = lines.take_if(cls._PAUSE), lines.take_if(cls._HOLD)
        return cls(reason=reason, pause_code=int(pause[1]) if pause else 0, hold_code=int(hold[1]) if hold else 0)

    def attributes(self) -> dict[str, Value]:
        numbers = {"PauseCode": self.pause_code, "HoldCode": self.hold_code}
        return {**given(Reason=self.reason), **{name: value for name, value in numbers.items() if value}}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryResumed(WithReason):
    """Jobs of such a cluster are made again."""

    NUMBER: ClassVar[int] = 38
    NAME: ClassVar[str] = "FactoryResumedEvent"
    WORDS: ClassVar[str] = "Job Materialization Resumed"

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowJobSkipped(WithReason):
    """The job did not run, for its output is newer than its input."""

    NUMBER: ClassVar[int] = 46
    NAME: ClassVar[str] = "DataflowJobSkippedEvent"
    WORDS: ClassVar[str] = "Dataflow job was skipped."

    reason: str = ""

"""Events that few jobs meet: lost machines, parallel jobs, other systems, changed attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from roost.base.records import dataclass
from roost.classad import ClassAd, ParseError, Syntax, Value, evaluate, parse_expression, unparse_value
from roost.schedd.event_log.base import NOTE, Event, FixedWords, after, given
from roost.schedd.event_log.parts import Lines, LogFormatError, one_line

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
            raise LogFormatError(f"{head!r} does not name a node and a host")
        slot = lines.take_if(cls._SLOT)
        return cls(node=int(found[1]), host=found[2], slot_name=slot[1] if slot else "")

    def attributes(self) -> dict[str, Value]:
        return {"Node": self.node, **given(ExecuteHost=self.host, SlotName=self.slot_name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteError(Event):
    """A machine reports what went wrong with the job."""

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
    """Attributes of the job that its user wants logged with every event."""

    NUMBER: ClassVar[int] = 28
    NAME: ClassVar[str] = "JobAdInformationEvent"

    #: Names and expressions.
    told: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, ad: ClassAd, wanted: str, event: Event) -> Self:
        """The attributes of a job's ad that `wanted` lists, for logging with `event`."""
        names = dict.fromkeys(re.split(r"[,\s]+", wanted.strip()))
        told = [(name, unparse_value(ad.eval(name))) for name in names if name in ad]
        about = (("TriggerEventTypeNumber", str(event.NUMBER)), ("TriggerEventTypeName", f'"{event.NAME}"'))
        return cls(told=(*about, *told))

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
    """The value of an expression without any ad; a text that is not an expression stays text."""
    try:
        return evaluate(parse_expression(text, Syntax.OLD))
    except ParseError:
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatusUnknown(FixedWords):
    """Another system does not report the status of the job."""

    NUMBER: ClassVar[int] = 29
    NAME: ClassVar[str] = "JobStatusUnknownEvent"
    WORDS: ClassVar[str] = "The job's remote status is unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatusKnown(FixedWords):
    """Another system reports the status of the job again."""

    NUMBER: ClassVar[int] = 30
    NAME: ClassVar[str] = "JobStatusKnownEvent"
    WORDS: ClassVar[str] = "The job's remote status is known again"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStageIn(FixedWords):
    """Input is transferred to another system."""

    NUMBER: ClassVar[int] = 31
    NAME: ClassVar[str] = "JobStageInEvent"
    WORDS: ClassVar[str] = "Job is performing stage-in of input files"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStageOut(FixedWords):
    """Output is transferred from another system."""

    NUMBER: ClassVar[int] = 32
    NAME: ClassVar[str] = "JobStageOutEvent"
    WORDS: ClassVar[str] = "Job is performing stage-out of output files"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeUpdate(Event):
    """An attribute of the job was changed."""

    NUMBER: ClassVar[int] = 33
    NAME: ClassVar[str] = "AttributeUpdateEvent"
    _CHANGED: ClassVar[re.Pattern[str]] = re.compile(r"Changing job attribute (\S+) from (.*) to (.*)")
    _SET: ClassVar[re.Pattern[str]] = re.compile(r"Setting job attribute (\S+) to (.*)")

    attribute: str
    #: Expressions as text; "" before: it did not exist.
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
            raise LogFormatError(f"{head!r} does not name an attribute")
        return cls(attribute=found[1], value=found[2])

    def attributes(self) -> dict[str, Value]:
        return given(Attribute=self.attribute, Value=self.value, OldValue=self.old_value)

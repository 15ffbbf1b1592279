"""The end of a run and the end of a job, as events of a user's event log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Value
from roost.schedd.event_log.base import Event, after, given
from roost.schedd.event_log.parts import (
    Bill,
    Lines,
    LogFormatError,
    ProgramExit,
    ResourceTable,
    Traffic,
    Usage,
    one_line,
    read_labelled,
    read_usages,
    usage_line,
)

_CODE: Final = re.compile(r" Code (-?\d+) Subcode (-?\d+)")
_REASON: Final = re.compile(r"Reason: (.*)")
_NUMBERS: Final = ("ReasonCode", "ReasonSubCode")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvicted(Event):
    """A run of the job is over, and the job is not."""

    NUMBER: ClassVar[int] = 4
    NAME: ClassVar[str] = "JobEvictedEvent"
    _WORDS: ClassVar[str] = "Job was evicted."

    #: A checkpoint of the job was saved.
    checkpointed: bool = False
    #: How the program ended, if it ended by itself and is to run again; None if it was evicted.
    requeued: ProgramExit | None = None
    bill: Bill = field(default_factory=Bill)
    reason: str = ""
    code: int = 0
    subcode: int = 0
    resources: ResourceTable = field(default_factory=ResourceTable)

    def lines(self) -> Iterator[str]:
        numbers = f" Code {self.code} Subcode {self.subcode}" if self.code or self.subcode else ""
        yield self._WORDS + numbers
        if self.requeued is not None:
            yield "\t(0) Job terminated and was requeued"
        else:
            yield "\t(1) Job was checkpointed." if self.checkpointed else "\t(0) CPU times"
        yield usage_line(self.bill.run, "Run Remote Usage")
        yield usage_line(self.bill.local, "Run Local Usage")
        yield from self.bill.traffic.lines()
        if self.requeued is not None:
            yield from self.requeued.lines()
            if self.reason:
                yield f"\t{one_line(self.reason)}"
        elif self.reason:
            yield f"\tReason: {one_line(self.reason)}"
        yield from self.resources.lines()

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        numbers = _CODE.search(after(head, cls._WORDS))
        kind = lines.take()
        usages, traffic = read_usages(lines), Traffic.read(read_labelled(lines))
        requeued = ProgramExit.read(lines) if "requeued" in kind else None
        reason = ""
        if found := lines.take_if(_REASON):
            reason = found[1]
        elif requeued is not None and lines.left and not lines.peek().strip().startswith("Partitionable"):
            reason = lines.take()
        return cls(
            checkpointed=kind.startswith("(1)"),
            requeued=requeued,
            bill=Bill(
                run=usages.get("Run Remote Usage", Usage()),
                local=usages.get("Run Local Usage", Usage()),
                traffic=traffic,
            ),
            reason=reason,
            code=int(numbers[1]) if numbers else 0,
            subcode=int(numbers[2]) if numbers else 0,
            resources=ResourceTable.read(lines),
        )

    def attributes(self) -> dict[str, Value]:
        ending = {"TerminatedNormally": False} if self.requeued is None else self.requeued.attributes()
        # As HTCondor does: a number without a meaning is left out.
        numbers = {name: number for name, number in zip(_NUMBERS, (self.code, self.subcode), strict=True) if number}
        return {
            "Checkpointed": self.checkpointed,
            "TerminatedAndRequeued": self.requeued is not None,
            **ending,
            **self.bill.attributes(total=False),
            **given(Reason=self.reason),
            **numbers,
            **self.resources.attributes(),
        }

    @classmethod
    def of(
        cls,
        ad: ClassAd,
        now: float = 0.0,
        *,
        reason: str = "",
        code: int = 0,
        subcode: int = 0,
        checkpointed: bool = False,
        requeued: bool = False,
    ) -> Self:
        """From a job's ad at the end of a run; `requeued`: its program ended by itself and is to run again."""
        return cls(
            checkpointed=checkpointed,
            requeued=ProgramExit.of(ad) if requeued else None,
            bill=Bill.of(ad),
            reason=reason,
            code=code,
            subcode=subcode,
            resources=ResourceTable.of(ad),
        )


class Ended(Event):
    """The final end of a program."""

    __slots__ = ()
    _WHOSE: ClassVar[str] = "Job"

    exit: ProgramExit
    bill: Bill
    resources: ResourceTable

    def _body(self) -> Iterator[str]:
        yield from self.exit.lines()
        for usage, label in (
            (self.bill.run, "Run Remote Usage"),
            (self.bill.local, "Run Local Usage"),
            (self.bill.total, "Total Remote Usage"),
            (self.bill.total_local, "Total Local Usage"),
        ):
            yield usage_line(usage, label)
        yield from self.bill.traffic.lines("Run", self._WHOSE)
        yield from self.bill.total_traffic.lines("Total", self._WHOSE)
        yield from self.resources.lines()

    @classmethod
    def _parts(cls, lines: Lines) -> tuple[ProgramExit, Bill, ResourceTable]:
        ending = ProgramExit.read(lines)
        if ending is None:
            raise LogFormatError(f"{lines.peek()!r} does not say how the program ended")
        usages = read_usages(lines)
        numbers = read_labelled(lines)
        bill = Bill(
            run=usages.get("Run Remote Usage", Usage()),
            local=usages.get("Run Local Usage", Usage()),
            total=usages.get("Total Remote Usage", Usage()),
            total_local=usages.get("Total Local Usage", Usage()),
            traffic=Traffic.read(numbers, "Run", cls._WHOSE),
            total_traffic=Traffic.read(numbers, "Total", cls._WHOSE),
        )
        return ending, bill, ResourceTable.read(lines)

    def attributes(self) -> dict[str, Value]:
        return self.exit.attributes() | self.bill.attributes(total=True) | self.resources.attributes()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTerminated(Ended):
    """The job's program has ended by itself, or by a signal, and the job leaves the queue."""

    NUMBER: ClassVar[int] = 5
    NAME: ClassVar[str] = "JobTerminatedEvent"

    exit: ProgramExit
    bill: Bill = field(default_factory=Bill)
    resources: ResourceTable = field(default_factory=ResourceTable)

    def lines(self) -> Iterator[str]:
        yield "Job terminated."
        yield from self._body()

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        ending, bill, resources = cls._parts(lines)
        return cls(exit=ending, bill=bill, resources=resources)

    @classmethod
    def of(cls, ad: ClassAd, now: float = 0.0) -> Self:
        """From a job's ad after its end."""
        return cls(exit=ProgramExit.of(ad), bill=Bill.of(ad), resources=ResourceTable.of(ad))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTerminated(Ended):
    """One node of a parallel job has ended."""

    NUMBER: ClassVar[int] = 15
    NAME: ClassVar[str] = "NodeTerminatedEvent"
    _WHOSE: ClassVar[str] = "Node"
    _HEAD: ClassVar[re.Pattern[str]] = re.compile(r"Node (\d+) terminated\.")

    node: int
    exit: ProgramExit
    bill: Bill = field(default_factory=Bill)
    resources: ResourceTable = field(default_factory=ResourceTable)

    def lines(self) -> Iterator[str]:
        yield f"Node {self.node} terminated."
        yield from self._body()

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = cls._HEAD.match(head)
        if found is None:
            raise LogFormatError(f"{head!r} names no node")
        ending, bill, resources = cls._parts(lines)
        return cls(node=int(found[1]), exit=ending, bill=bill, resources=resources)

    def attributes(self) -> dict[str, Value]:
        return {"Node": self.node, **Ended.attributes(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostScriptTerminated(Event):
    """The script that follows a job of a workflow has ended."""

    NUMBER: ClassVar[int] = 16
    NAME: ClassVar[str] = "PostScriptTerminatedEvent"
    _NODE: ClassVar[re.Pattern[str]] = re.compile(r"DAG Node: (.*)")

    exit: ProgramExit
    node_name: str = ""

    def lines(self) -> Iterator[str]:
        yield "POST Script terminated."
        yield from self.exit.lines(core=False)
        if self.node_name:
            yield f"    DAG Node: {self.node_name}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        ending = ProgramExit.read(lines)
        if ending is None:
            raise LogFormatError(f"{lines.peek()!r} does not say how the script ended")
        node = lines.take_if(cls._NODE)
        return cls(exit=ending, node_name=node[1] if node else "")

    def attributes(self) -> dict[str, Value]:
        return {**self.exit.attributes(), **given(DAGNodeName=self.node_name)}

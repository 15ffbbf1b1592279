"""Events of workflows, and of clusters whose jobs are made one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar, Self

from roost.base.records import dataclass
from roost.classad import Value
from roost.schedd.event_log.base import NOTE, Event, SubmissionEvent, WithReason, given
from roost.schedd.event_log.parts import Lines, LogFormatError, one_line


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
class ClusterSubmit(SubmissionEvent):
    """A cluster is in the queue whose jobs are made one after another."""

    NUMBER: ClassVar[int] = 35
    NAME: ClassVar[str] = "ClusterSubmitEvent"
    WORDS: ClassVar[str] = "Cluster"

    host: str
    log_notes: str = ""
    user_notes: str = ""


class Completion(IntEnum):
    """The progress of such a cluster."""

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
    """For now, no further jobs of such a cluster are made."""

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
    """The job did not run because its output is newer than its input."""

    NUMBER: ClassVar[int] = 46
    NAME: ClassVar[str] = "DataflowJobSkippedEvent"
    WORDS: ClassVar[str] = "Dataflow job was skipped."

    reason: str = ""

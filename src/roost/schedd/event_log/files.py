"""Events about files: their transfer, and caches of them on machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar, Final, Self

from roost.base.records import dataclass
from roost.classad import Value
from roost.schedd.event_log.base import Event, given
from roost.schedd.event_log.parts import Lines, LogFormatError, one_line

_PAIR: Final = re.compile(r"([A-Za-z][A-Za-z ]*?): ?(.*)")


def _pairs(lines: Lines) -> dict[str, str]:
    """Lines ``Label: text``."""
    found = {}
    while match := lines.take_if(_PAIR):
        found[match[1]] = match[2]
    return found


def _whole(text: str) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text.strip()) else 0


class TransferStage(IntEnum):
    """A stage of a transfer."""

    INPUT_QUEUED = 1
    INPUT_STARTED = 2
    INPUT_FINISHED = 3
    OUTPUT_QUEUED = 4
    OUTPUT_STARTED = 5
    OUTPUT_FINISHED = 6

    @property
    def words(self) -> str:
        """The wording of the log."""
        kind = "input" if self <= TransferStage.INPUT_FINISHED else "output"
        match (self - 1) % 3:
            case 0:
                return f"Entered queue to transfer {kind} files"
            case 1:
                return f"Started transferring {kind} files"
            case _:
                return f"Finished transferring {kind} files"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTransfer(Event):
    """Files of the job are being transferred."""

    NUMBER: ClassVar[int] = 40
    NAME: ClassVar[str] = "FileTransferEvent"

    stage: TransferStage
    #: Time spent in the transfer queue, s; None if unknown.
    queued_s: int | None = None
    host: str = ""

    def lines(self) -> Iterator[str]:
        yield self.stage.words
        if self.queued_s is not None:
            yield f"\tSeconds spent in queue: {self.queued_s}"
        if self.host:
            yield f"\tTransferring to host: {self.host}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        for stage in TransferStage:
            if stage.words == head:
                break
        else:
            raise LogFormatError(f"{head!r} is not a stage of a transfer")
        found = _pairs(lines)
        queued = found.get("Seconds spent in queue")
        return cls(
            stage=stage,
            queued_s=None if queued is None else _whole(queued),
            host=found.get("Transferring to host", ""),
        )

    def attributes(self) -> dict[str, Value]:
        queued = {} if self.queued_s is None else {"QueueingDelay": self.queued_s}
        return {"Type": int(self.stage), **queued, **given(Host=self.host)}


class _Labelled(Event):
    """An event of lines ``Label: text``, the first of them in the header.

    HTCondor writes the first one on a separate line, which its own reader then misses; here both forms are read.
    """

    __slots__ = ()
    #: Field, label, attribute.
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]]

    def lines(self) -> Iterator[str]:
        for number, (field, label, _) in enumerate(self.LABELS):
            indent = "\t" if number else ""
            yield f"{indent}{label}: {one_line(str(getattr(self, field)))}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        found = _pairs(Lines([head])) | _pairs(lines)
        numbers = {"bytes", "expires_at"}
        texts = {field: found.get(label, "") for field, label, _ in cls.LABELS}
        return cls(**{field: _whole(text) if field in numbers else text for field, text in texts.items()})

    def attributes(self) -> dict[str, Value]:
        return {attribute: getattr(self, field) for field, _, attribute in self.LABELS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveSpace(_Labelled):
    """Space for files was reserved on a machine."""

    NUMBER: ClassVar[int] = 41
    NAME: ClassVar[str] = "ReserveSpaceEvent"
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("bytes", "Bytes reserved", "ReservedSpace"),
        ("expires_at", "Reservation Expiration", "ExpirationTime"),
        ("uuid", "Reservation UUID", "UUID"),
        ("tag", "Tag", "Tag"),
    )

    bytes: int
    expires_at: int
    uuid: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSpace(_Labelled):
    """That space was released."""

    NUMBER: ClassVar[int] = 42
    NAME: ClassVar[str] = "ReleaseSpaceEvent"
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]] = (("uuid", "Reservation UUID", "UUID"),)

    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileComplete(_Labelled):
    """A file is in a machine's cache."""

    NUMBER: ClassVar[int] = 43
    NAME: ClassVar[str] = "FileCompleteEvent"
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("bytes", "Bytes", "Size"),
        ("checksum", "Checksum Value", "Checksum"),
        ("checksum_type", "Checksum Type", "ChecksumType"),
        ("uuid", "UUID", "UUID"),
    )

    bytes: int
    checksum: str
    checksum_type: str
    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUsed(_Labelled):
    """A file was used from a machine's cache."""

    NUMBER: ClassVar[int] = 44
    NAME: ClassVar[str] = "FileUsedEvent"
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("checksum", "Checksum Value", "Checksum"),
        ("checksum_type", "Checksum Type", "ChecksumType"),
        ("tag", "Tag", "Tag"),
    )

    checksum: str
    checksum_type: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRemoved(_Labelled):
    """A file was removed from a machine's cache."""

    NUMBER: ClassVar[int] = 45
    NAME: ClassVar[str] = "FileRemovedEvent"
    LABELS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("bytes", "Bytes", "Size"),
        ("checksum", "Checksum Value", "Checksum"),
        ("checksum_type", "Checksum Type", "ChecksumType"),
        ("tag", "Tag", "Tag"),
    )

    bytes: int
    checksum: str
    checksum_type: str
    tag: str


class CommonStage(IntEnum):
    """A stage of the transfer of common files of several jobs."""

    QUEUED = 1
    STARTED = 2
    FINISHED = 3
    WAITING = 4
    WAITED = 5

    @property
    def words(self) -> str:
        """The wording of the log, misspelling included: readers search for it."""
        return _COMMON_WORDS[self]


_COMMON_WORDS: Final = {
    CommonStage.QUEUED: "Entered queue to transfer common files",
    CommonStage.STARTED: "Started transferring common files",
    CommonStage.FINISHED: "Finished transferring common files",
    CommonStage.WAITING: "Started waiting for previous job to transfer common files",
    CommonStage.WAITED: "Finished waitiing for previous job to transfer common files",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonFiles(Event):
    """Files that several jobs share are being transferred."""

    NUMBER: ClassVar[int] = 47
    NAME: ClassVar[str] = "CommonFilesEvent"
    _WORDS: ClassVar[str] = "Common files event: "

    stage: CommonStage

    def lines(self) -> Iterator[str]:
        yield self._WORDS + self.stage.words

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        for stage in CommonStage:
            if head == cls._WORDS + stage.words:
                return cls(stage=stage)
        raise LogFormatError(f"{head!r} is not a stage of a transfer")

    def attributes(self) -> dict[str, Value]:
        return {"Type": self.stage.words}

"""The history file: the ads of jobs that left the queue, one after another, each followed by a banner.

An ad is written in the old form, one ``Name = expression`` per line; the banner says where the ad begins, whose job it
was and when it ended:

    *** Offset = 0 ClusterId = 7 ProcId = 0 Owner = "me" CompletionDate = 1795256430

The epoch history is a similar file of job runs, with different banners:

    *** EPOCH ClusterId=7 ProcId=0 RunInstanceId=0 Owner="me" CurrentTime=1795256430

Offsets are in bytes. Because the banner follows its ad, a file can be read backwards without an index: the newest job
first, and only as far as the caller wants. Reading tolerates a truncated write, and a file that was truncated at its
beginning. `rotated_name` names the files that a rotation leaves.

This module does not open files; a reader is given an object that yields bytes from an offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final, Protocol

from roost.base.records import dataclass
from roost.classad import ClassAd, ParseError, unparse_value
from roost.classad.forms import Form, format_ad, parse_ad

#: Size of each read, bytes.
_BLOCK: Final = 65_536
#: Maximum size of one ad, bytes; a longer stretch without a banner is not an ad.
AD_BYTES_MAX: Final = 4_194_304
_BANNER: Final = b"*** "
_BANNER_PART: Final = re.compile(r'([A-Za-z]\w*) ?= ?("(?:[^"\\]|\\.)*"|[^\s"]+)')


class Store(Protocol):
    """An object with the bytes of a file."""

    def size(self) -> int:
        """Number of bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Bytes from an offset; fewer at the end."""
        ...


class FileStore:
    """The bytes of an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def size(self) -> int:
        return self._file.seek(0, 2)

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)


class BytesStore:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The line after an ad."""

    #: Where the ad begins, bytes.
    offset: int
    cluster: int
    proc: int
    owner: str = ""
    #: When the job completed, epoch s; 0 for one that was removed.
    completed_at: int = 0
    #: When it was written, epoch s; None if unknown.
    written_at: int | None = None

    def __str__(self) -> str:
        text = (
            f"*** Offset = {self.offset} ClusterId = {self.cluster} ProcId = {self.proc} "
            f"Owner = {unparse_value(self.owner, old=True)} CompletionDate = {self.completed_at}"
        )
        return text if self.written_at is None else f"{text} CurrentTime = {self.written_at}"

    @classmethod
    def read(cls, line: str) -> Banner | None:
        """Parse a banner; None if the line is not one."""
        if not line.startswith(_BANNER.decode()):
            return None
        parts = dict(_BANNER_PART.findall(line))
        numbers = {name: int(text) for name, text in parts.items() if re.fullmatch(r"-?\d{1,18}", text)}
        written = numbers.get("CurrentTime")
        return cls(
            offset=numbers.get("Offset", -1),
            cluster=numbers.get("ClusterId", -1),
            proc=numbers.get("ProcId", -1),
            owner=parts.get("Owner", "").strip('"').replace('\\"', '"'),
            completed_at=numbers.get("CompletionDate", 0),
            written_at=written,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A job of the history."""

    banner: Banner
    ad: ClassAd


def format_entry(ad: ClassAd, offset: int, *, now: int | None = None) -> bytes:
    """The bytes that append a job to a file whose size is `offset` bytes."""
    lines = [line for line in format_ad(ad, Form.OLD).split("\n") if line]
    text = "".join(f"{line}\n" for line in lines)
    banner = Banner(
        offset=offset,
        cluster=_whole(ad, "ClusterId", -1),
        proc=_whole(ad, "ProcId", -1),
        owner=_text(ad, "Owner"),
        completed_at=_whole(ad, "CompletionDate", 0),
        written_at=now,
    )
    return f"{text}{banner}\n".encode("utf-8", "surrogateescape")


def format_epoch(ad: ClassAd, *, now: int) -> bytes:
    """The bytes that add a run of a job to an epoch history."""
    lines = [line for line in format_ad(ad, Form.OLD).split("\n") if line]
    text = "".join(f"{line}\n" for line in (*lines, f"EpochWriteDate = {now}"))
    banner = (
        f"*** EPOCH ClusterId={_whole(ad, 'ClusterId', -1)} ProcId={_whole(ad, 'ProcId', -1)} "
        f"RunInstanceId={_whole(ad, 'NumShadowStarts', 0) - 1} "
        f"Owner={unparse_value(_text(ad, 'Owner') or '?', old=True)} CurrentTime={now}"
    )
    return f"{text}{banner}\n".encode("utf-8", "surrogateescape")


def _whole(ad: ClassAd, name: str, otherwise: int) -> int:
    value = ad.eval(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _text(ad: ClassAd, name: str) -> str:
    value = ad.eval(name)
    return value if isinstance(value, str) else ""


def rotated_name(name: str, at: float) -> str:
    """The new name of a full file: ``history.20261121T102030``."""
    return f"{name}.{datetime.fromtimestamp(at, UTC):%Y%m%dT%H%M%S}"


def is_rotated(name: str, candidate: str) -> bool:
    """Whether a file results from a rotation of another."""
    return re.fullmatch(re.escape(name) + r"\.\d{8}T\d{6}", candidate) is not None


def to_delete(name: str, candidates: list[str], kept_max: int) -> list[str]:
    """The rotated files to delete; the newest are kept."""
    rotated = sorted(candidate for candidate in candidates if is_rotated(name, candidate))
    return rotated[: max(0, len(rotated) - kept_max)]


# -- reading -----------------------------------------------------------------------------------------------------------


def backwards(store: Store) -> Iterator[Entry]:
    """The jobs of a file, the newest first. Text that is not a complete ad is left out."""
    banner: Banner | None = None
    lines: list[bytes] = []
    length = 0
    for line in _lines_backwards(store):
        if line.startswith(_BANNER):
            yield from _entry(banner, lines)
            banner, lines, length = Banner.read(line.decode("utf-8", "surrogateescape")), [], 0
        elif banner is not None:
            length += len(line) + 1
            if length > AD_BYTES_MAX:
                banner, lines, length = None, [], 0
            else:
                lines.append(line)
    yield from _entry(banner, lines)


def forwards(store: Store, offset: int = 0) -> Iterator[tuple[Entry, int]]:
    """The jobs of a file from an offset on, the oldest first, each with the offset after it."""
    lines: list[bytes] = []
    rest = b""
    position = offset
    while block := store.read(offset, _BLOCK):
        offset += len(block)
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            position += len(line) + 1
            if line.startswith(_BANNER):
                banner = Banner.read(line.decode("utf-8", "surrogateescape"))
                for entry in _entry(banner, lines[::-1]):
                    yield entry, position
                lines = []
            else:
                lines.append(line)


def _entry(banner: Banner | None, lines: list[bytes]) -> Iterator[Entry]:
    """The job of a banner and the lines before it, last line first."""
    if banner is None or not lines:
        return
    text = b"\n".join(reversed(lines)).decode("utf-8", "surrogateescape")
    try:
        yield Entry(banner=banner, ad=parse_ad(text, Form.OLD, lazy=True))
    except ParseError:
        return


def _lines_backwards(store: Store) -> Iterator[bytes]:
    """The lines of a file, the last one first; an incomplete last line is left out."""
    end, rest, cut = store.size(), b"", True
    while end > 0:
        begin = max(0, end - _BLOCK)
        data = store.read(begin, end - begin) + rest
        first, *others = data.split(b"\n")
        for line in reversed(others):
            if cut:
                cut = False
                continue
            yield line
        rest, end = first, begin
        if len(rest) > AD_BYTES_MAX:
            return
    if not cut:
        yield rest

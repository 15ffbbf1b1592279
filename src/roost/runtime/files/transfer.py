"""Moving files from one place to another in pieces, over whatever lies between.

A *manifest* lists the items to be moved, by relative names that both sides agree on. The receiving side takes them one
by one: it asks its `FileSink` from where on an item is wanted, pulls pieces of it from the `FileSource` and gives them
to the sink. A piece may come twice; a transfer that broke off goes on where it was, as long as the file is the same. A
file appears under its name when all of it is there.

Until then it has a name that is its writer's alone: of the run that it comes from, the target, and the content by size
and time of change (`mark`). So two runs that write the same target, be it in the same instant, both succeed, and the
file is whole that came last.

Nothing that the other side says is trusted: a name that is absolute or leads upwards is refused, a source serves the
names of its manifest and nothing else. Directories come before what is in them.

What this module does not do: choose what is moved (`input_files`, `output_files`), speak to a bus.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from roost.base.records import dataclass
from roost.model.starter import StarterHold
from roost.runtime.files.deputies import with_hands
from roost.runtime.files.deputy.hands import OWN, Hands

#: Size of a piece, bytes; a message has to hold it.
PIECE_BYTES_MAX: Final = 512 * 1024
#: Length of a name, characters.
NAME_CHARS_MAX: Final = 4096
#: Items of one manifest.
ITEMS_MAX: Final = 200_000
#: How often an item is begun again because what had come of it is gone.
LOSSES_MAX: Final = 8


class Kind(StrEnum):
    """What an item is."""

    FILE = "file"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileItem:
    """One thing to be moved."""

    #: Where it goes, relative to the destination.
    name: str
    kind: Kind = Kind.FILE
    #: Bytes.
    size: int = 0
    #: Permission bits.
    mode: int = 0o644
    #: When it was changed last, ns since the epoch; tells one content of a file from another.
    changed_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferProblem:
    """Why files were not moved."""

    code: StarterHold
    #: errno where there is one.
    subcode: int = 0
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is to be moved, and from where."""

    items: tuple[FileItem, ...]
    #: Name to the file that it is read from. Only the side that has the files knows it.
    sources: Mapping[str, Path]
    #: Names of those that are the daemon's files, not the user's.
    kept: frozenset[str] = frozenset()

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return sum(item.size for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a file."""

    data: bytes
    #: The file ends with it.
    last: bool


class FileSource(Protocol):
    """Where files come from."""

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """A piece of an item, `PIECE_BYTES_MAX` at most."""


class FileSink(Protocol):
    """Where files go."""

    @property
    def code(self) -> StarterHold:
        """The hold that failures lead to."""

    async def begin(self, item: FileItem) -> int | TransferProblem:
        """Make ready for an item; from which byte on it is wanted. A directory is made by it."""

    async def write(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """Take a piece; with the last one the file is there. From which byte on the next one is wanted, which is before
        the end of this one when what came earlier is gone."""


async def move(
    items: Iterable[FileItem],
    source: FileSource,
    sink: FileSink,
    *,
    moved: Callable[[int], None] | None = None,
) -> int | TransferProblem:
    """Move items in their order; how many bytes it were. `moved` hears of each piece how long it was."""
    total = 0
    for item in items:
        begun = await sink.begin(item)
        if isinstance(begun, TransferProblem):
            return begun
        offset, last, losses = begun, item.kind is Kind.DIRECTORY, 0
        while not last:
            piece = await source.read(item, offset, PIECE_BYTES_MAX)
            if isinstance(piece, TransferProblem):
                return piece
            taken = await sink.write(item, offset, piece)
            if isinstance(taken, TransferProblem):
                return taken
            if taken < offset + len(piece.data):
                offset, losses = taken, losses + 1
                if losses > LOSSES_MAX:
                    text = f"{item.name}: its partial copy was removed {losses} times; does a program delete it?"
                    return TransferProblem(code=sink.code, text=text)
                continue
            offset = taken
            total += len(piece.data)
            last = piece.last
            if moved is not None:
                moved(len(piece.data))
    return total


# -- names ---------------------------------------------------------------------------------------------------------


def unsafe(name: str) -> str:
    """Why a name from the other side cannot be taken; empty if it can."""
    if not name or len(name) > NAME_CHARS_MAX or "\0" in name:
        return "it is empty, too long, or has a zero byte"
    if name.startswith("/"):
        return "it is absolute"
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "it leads elsewhere"
    if any(len(os.fsencode(part)) > 255 for part in parts):
        return "a part of it is too long"
    return ""


# -- manifests as text -----------------------------------------------------------------------------------------------


def pack_items(items: Iterable[FileItem]) -> bytes:
    """Items as they travel: JSON."""
    rows = [[item.name, str(item.kind), item.size, item.mode, item.changed_ns] for item in items]
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=True).encode()


def unpack_items(data: bytes) -> tuple[FileItem, ...]:
    """Items from the other side. Raises ValueError for what no honest side sends."""
    rows = json.loads(data)
    if not isinstance(rows, list) or len(rows) > ITEMS_MAX:
        raise ValueError(f"a manifest is a list of at most {ITEMS_MAX} items")
    return tuple(map(_item, rows))


def _item(row: object) -> FileItem:
    match row:
        case [str(name), str(kind), int(size), int(mode), int(changed_ns)] if size >= 0 and kind in tuple(Kind):
            reason = unsafe(name)
            if reason:
                raise ValueError(f"the name {name!r} is refused: {reason}")
            return FileItem(name=name, kind=Kind(kind), size=size, mode=mode & 0o777, changed_ns=changed_ns)
        case _:
            raise ValueError(f"{row!r} is not a valid item of a manifest")


# -- the ends ------------------------------------------------------------------------------------------------------


class LocalSource:
    """Serves the files of a manifest from this machine's disk."""

    def __init__(
        self, manifest: Manifest, code: StarterHold, *, inside: Path | None = None, hands: Hands = OWN
    ) -> None:
        """`code` is the hold that failures lead to.

        Only files within `inside` are served, and only such as `hands` may open.
        """
        self.manifest = manifest
        self.code = code
        self._inside = None if inside is None else inside.resolve()
        self._hands = hands

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """A piece of a file."""
        return await with_hands(self._hands, self.read_now, item, offset, size)

    def read_now(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """The same, waiting for the disk."""
        path = self.manifest.sources.get(item.name)
        if path is None:
            return TransferProblem(code=self.code, text=f"{item.name!r} is not among the files to be moved")
        size = max(1, min(size, PIECE_BYTES_MAX))
        hands = OWN if item.name in self.manifest.kept else self._hands
        try:
            file = hands.open(str(path))
            try:
                self._check(file, item)
                data = os.pread(file, size, offset)
            finally:
                os.close(file)
        except OSError as problem:
            return _problem(self.code, "cannot read", path, problem)
        if offset + len(data) < item.size and len(data) < size:
            return TransferProblem(code=self.code, text=f"{path} became shorter while it was moved")
        return Piece(data=data[: item.size - offset], last=offset + len(data) >= item.size)

    def _check(self, file: int, item: FileItem) -> None:
        """Look at what was opened, not at what the name meant a moment before."""
        here = os.fstat(file)
        if not stat.S_ISREG(here.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        if self._inside is not None:
            found = Path(f"/proc/self/fd/{file}").readlink()
            if not found.is_relative_to(self._inside):
                raise OSError(errno.EXDEV, "it is a link that leads out of the scratch directory")
        if item.changed_ns and here.st_mtime_ns != item.changed_ns:
            raise OSError(errno.ESTALE, "it was changed while it was moved")


class LocalSink:
    """Puts files onto this machine's disk."""

    def __init__(
        self, where: Callable[[str], Path], code: StarterHold, *, writer: str, hands: Hands = OWN, sync: bool = False
    ) -> None:
        """`where` says where a name goes; `code` is the hold that failures lead to; `writer` is the run, in a form that
        no other pool has.

        `hands` write, and so whatever is made belongs to their user. With `sync` a file is on the disk when its last
        piece is taken.
        """
        self.code = code
        self._where = where
        self._writer = writer
        self._hands = hands
        self._sync = sync

    async def begin(self, item: FileItem) -> int | TransferProblem:
        """Make a directory, or find out how much of a file is there."""
        return await with_hands(self._hands, self.begin_now, item)

    async def write(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """Take a piece."""
        return await with_hands(self._hands, self.write_now, item, offset, piece)

    def begin_now(self, item: FileItem) -> int | TransferProblem:
        """The same as `begin`, waiting for the disk."""
        reason = unsafe(item.name)
        if reason:
            return TransferProblem(code=self.code, text=f"the name {item.name!r} is refused: {reason}")
        target = self._where(item.name)
        try:
            if item.kind is Kind.DIRECTORY:
                self._hands.make_directory(str(target), (item.mode & 0o777) | 0o700)
                return 0
            return self._hands.begin(str(target), self._mark(target, item))
        except OSError as problem:
            return _problem(self.code, "cannot write", target, problem)

    def write_now(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """The same as `write`, waiting for the disk."""
        target = self._where(item.name)
        mode = item.mode & 0o777 if piece.last else None
        try:
            return self._hands.put(str(target), self._mark(target, item), offset, piece.data, mode, self._sync)
        except OSError as problem:
            return _problem(self.code, "cannot write", target, problem)

    def _mark(self, target: Path, item: FileItem) -> str:
        return mark(self._writer, target, item)


def mark(writer: str, target: Path, item: FileItem) -> str:
    """The name of a file that is not whole yet: another writer, target or content has another one."""
    text = "\0".join((writer, str(target), item.name, str(item.size), str(item.changed_ns)))
    return f".roost-{hashlib.blake2b(text.encode('utf-8', 'surrogateescape'), digest_size=16).hexdigest()}.part"


def _problem(code: StarterHold, what: str, path: Path, problem: OSError) -> TransferProblem:
    text = f"{what} {path}: {problem.strerror or problem}"
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        text += "; make room on that disk"
    return TransferProblem(code=code, subcode=problem.errno or 0, text=text)

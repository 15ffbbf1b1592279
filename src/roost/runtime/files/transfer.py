"""Transferring files between two places in pieces, over any connection.

A *manifest* lists the items to transfer, by relative names that both sides agree on. The receiving side handles them
one by one: it asks its `FileSink` from where on an item is wanted, pulls pieces of it from the `FileSource` and passes
them to the sink. A piece may arrive twice; an interrupted transfer resumes where it was, as long as the file is the
same. A file appears under its name once it is complete.

Until then it has a name that only its writer uses: derived from the run, the target, and the content by size and time
of change (`mark`). Two runs that write the same target, even at the same instant, therefore both succeed, and the one
that finishes last determines the content.

Nothing from the other side is trusted: a name that is absolute or leads upwards is refused, and a source serves only
the names of its manifest. Directories come before their contents.

This module does not choose what is transferred (`input_files`, `output_files`), or use a bus.
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
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.worker.hands import OWN, Hands

#: Size of a piece, bytes; it must fit into a message.
PIECE_BYTES_MAX: Final = 512 * 1024
#: Maximum length of a name, characters.
NAME_CHARS_MAX: Final = 4096
#: Maximum number of items of one manifest.
ITEMS_MAX: Final = 200_000
#: How often an item is begun again because its earlier pieces are gone.
LOSSES_MAX: Final = 8


class ItemKind(StrEnum):
    """What an item is."""

    FILE = "file"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileItem:
    """One item to transfer."""

    #: Its destination, relative to the target directory.
    name: str
    kind: ItemKind = ItemKind.FILE
    #: Size, bytes.
    size: int = 0
    #: Permission bits.
    mode: int = 0o644
    #: Time of the last change, ns since the epoch; distinguishes versions of a file.
    changed_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferProblem:
    """Why files were not transferred."""

    code: StarterHold
    #: errno if there is one.
    subcode: int = 0
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The items to transfer, and their source."""

    items: tuple[FileItem, ...]
    #: Name to the path of its source. Known only to the side that has the files.
    sources: Mapping[str, Path]
    #: Names of items that are the daemon's files, not the user's.
    kept: frozenset[str] = frozenset()

    @property
    def size_bytes(self) -> int:
        """Total size."""
        return sum(item.size for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a file."""

    data: bytes
    #: The file ends with it.
    last: bool


class FileSource(Protocol):
    """The source of files."""

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """Read a piece of an item, at most `PIECE_BYTES_MAX`."""


class FileSink(Protocol):
    """The destination of files."""

    @property
    def code(self) -> StarterHold:
        """The hold code of failures."""

    async def begin(self, item: FileItem) -> int | TransferProblem:
        """Prepare for an item; return from which byte on it is wanted. A directory is created."""

    async def write(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """Write a piece; the last one completes the file. Return from which byte on the next one is wanted, which is
        before the end of this one if earlier pieces are gone.
        """


async def move(
    items: Iterable[FileItem],
    source: FileSource,
    sink: FileSink,
    *,
    moved: Callable[[int], None] | None = None,
) -> int | TransferProblem:
    """Transfer items in order; return the number of bytes. `moved` is called with the length of each piece."""
    total = 0
    for item in items:
        begun = await sink.begin(item)
        if isinstance(begun, TransferProblem):
            return begun
        offset, last, losses = begun, item.kind is ItemKind.DIRECTORY, 0
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
    """Why a name from the other side is refused; empty if it is accepted."""
    if not name or len(name) > NAME_CHARS_MAX or "\0" in name:
        return "it is empty, too long, or contains a null byte"
    if name.startswith("/"):
        return "it is an absolute path"
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "it leads outside the directory"
    if any(len(os.fsencode(part)) > 255 for part in parts):
        return "one of its components is too long"
    return ""


# -- manifests as text -----------------------------------------------------------------------------------------------


def pack_items(items: Iterable[FileItem]) -> bytes:
    """Items in wire form: JSON."""
    rows = [[item.name, str(item.kind), item.size, item.mode, item.changed_ns] for item in items]
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=True).encode()


def unpack_items(data: bytes) -> tuple[FileItem, ...]:
    """Parse items from the other side. Raises ValueError for invalid ones."""
    rows = json.loads(data)
    if not isinstance(rows, list) or len(rows) > ITEMS_MAX:
        raise ValueError(f"a manifest must be a list of at most {ITEMS_MAX} items")
    return tuple(map(_item, rows))


def _item(row: object) -> FileItem:
    match row:
        case [str(name), str(kind), int(size), int(mode), int(changed_ns)] if size >= 0 and kind in tuple(ItemKind):
            reason = unsafe(name)
            if reason:
                raise ValueError(f"the name {name!r} is not allowed: {reason}")
            return FileItem(name=name, kind=ItemKind(kind), size=size, mode=mode & 0o777, changed_ns=changed_ns)
        case _:
            raise ValueError(f"{row!r} is not a valid item of a manifest")


# -- the ends ------------------------------------------------------------------------------------------------------


class LocalSource:
    """Serves the files of a manifest from this machine's disk."""

    def __init__(
        self, manifest: Manifest, code: StarterHold, *, inside: Path | None = None, hands: Hands = OWN
    ) -> None:
        """`code` is the hold code of failures.

        Only files within `inside` are served, and only those that `hands` may open.
        """
        self.manifest = manifest
        self.code = code
        self._inside = None if inside is None else inside.resolve()
        self._hands = hands

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """Read a piece of a file."""
        return await with_hands(self._hands, self.read_now, item, offset, size)

    def read_now(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        """The same, blocking on the disk."""
        path = self.manifest.sources.get(item.name)
        if path is None:
            return TransferProblem(code=self.code, text=f"{item.name!r} is not one of the files to be transferred")
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
            return TransferProblem(code=self.code, text=f"{path} was truncated while it was being transferred")
        return Piece(data=data[: item.size - offset], last=offset + len(data) >= item.size)

    def _check(self, file: int, item: FileItem) -> None:
        """Check the opened file, not what the name referred to a moment before."""
        here = os.fstat(file)
        if not stat.S_ISREG(here.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if self._inside is not None:
            found = Path(f"/proc/self/fd/{file}").readlink()
            if not found.is_relative_to(self._inside):
                raise OSError(errno.EXDEV, "it is a symbolic link that leads outside the scratch directory")
        if item.changed_ns and here.st_mtime_ns != item.changed_ns:
            raise OSError(errno.ESTALE, "it was modified while it was being transferred")


class LocalSink:
    """Writes files to this machine's disk."""

    def __init__(
        self, where: Callable[[str], Path], code: StarterHold, *, writer: str, hands: Hands = OWN, sync: bool = False
    ) -> None:
        """`where` gives the destination of a name; `code` is the hold code of failures; `writer` identifies the run
        uniquely among all pools.

        `hands` write the files, which therefore belong to their user. With `sync` a file is on disk when its last piece
        is accepted.
        """
        self.code = code
        self._where = where
        self._writer = writer
        self._hands = hands
        self._sync = sync

    async def begin(self, item: FileItem) -> int | TransferProblem:
        """Make a directory, or determine how much of a file exists."""
        return await with_hands(self._hands, self.begin_now, item)

    async def write(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """Write a piece."""
        return await with_hands(self._hands, self.write_now, item, offset, piece)

    def begin_now(self, item: FileItem) -> int | TransferProblem:
        """The same as `begin`, blocking on the disk."""
        reason = unsafe(item.name)
        if reason:
            return TransferProblem(code=self.code, text=f"the name {item.name!r} is not allowed: {reason}")
        target = self._where(item.name)
        try:
            if item.kind is ItemKind.DIRECTORY:
                self._hands.make_directory(str(target), (item.mode & 0o777) | 0o700)
                return 0
            return self._hands.begin(str(target), self._mark(target, item))
        except OSError as problem:
            return _problem(self.code, "cannot write", target, problem)

    def write_now(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        """The same as `write`, blocking on the disk."""
        target = self._where(item.name)
        mode = item.mode & 0o777 if piece.last else None
        try:
            return self._hands.put(str(target), self._mark(target, item), offset, piece.data, mode, self._sync)
        except OSError as problem:
            return _problem(self.code, "cannot write", target, problem)

    def _mark(self, target: Path, item: FileItem) -> str:
        return mark(self._writer, target, item)


def mark(writer: str, target: Path, item: FileItem) -> str:
    """The name of an incomplete file, unique to its writer, target and content."""
    text = "\0".join((writer, str(target), item.name, str(item.size), str(item.changed_ns)))
    return f".roost-{hashlib.blake2b(text.encode('utf-8', 'surrogateescape'), digest_size=16).hexdigest()}.part"


def _problem(code: StarterHold, what: str, path: Path, problem: OSError) -> TransferProblem:
    text = f"{what} {path}: {problem.strerror or problem}"
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        text += "; free some space on that disk"
    return TransferProblem(code=code, subcode=problem.errno or 0, text=text)

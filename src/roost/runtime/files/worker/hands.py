# pathlib and contextlib are too large for the process that does this as another user.
# ruff: noqa: SIM105, PTH101, PTH102, PTH104, PTH108, PTH112, PTH114, PTH116, PTH118, PTH120, PTH208
"""Operations on users' files: examine, open, write, each complete in itself.

A `Hands` performs them with the identity of its own process; a `FileWorker` (see `file_workers`) has a process of the
user perform the same operations. Nothing here decides what is allowed: the kernel does.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KIND, _FILE, _DIRECTORY, _CHARACTERS = 0o170000, 0o100000, 0o040000, 0o020000
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
_ALONE = _WRITE | os.O_EXCL


class Looked:
    """The file at a path."""

    __slots__ = ("changed_ns", "inode", "mode", "size")

    def __init__(self, mode: int, size: int, changed_ns: int, inode: int) -> None:
        self.mode = mode
        #: Size, bytes.
        self.size = size
        #: Time of the last change, ns since the epoch.
        self.changed_ns = changed_ns
        self.inode = inode

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode & _KIND == _FILE

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.mode & _KIND == _DIRECTORY


class Hands:
    """Operations as the user of this process. All of them raise OSError."""

    def look(self, path: str) -> Looked:
        """The file at a path, following links."""
        found = os.stat(path)
        return Looked(found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino)

    def exists(self, path: str) -> bool:
        """Whether the name exists, even as a dangling link."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def names(self, directory: str) -> list[str]:
        """The entries of a directory, sorted."""
        return sorted(os.listdir(directory))

    def real(self, path: str) -> str:
        """The path without links."""
        return os.path.realpath(path)

    def open(self, path: str) -> int:
        """Open for reading, without blocking; the caller closes the descriptor."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)

    def make_directory(self, path: str, mode: int) -> None:
        """Make a directory with its parents, or set the mode of an existing one."""
        _make_directories(path)
        os.chmod(path, mode)

    def begin(self, target: str, mark: str) -> int:
        """Prepare to receive a file in pieces; return how much of it exists.

        Until it is complete, it is next to the target under the name `mark`, which only its writer uses.
        """
        _make_directories(os.path.dirname(target))
        target = _written(target)
        if os.path.isdir(target):
            raise IsADirectoryError(errno.EISDIR, "a directory has that name", target)
        try:
            return os.stat(_beside(target, mark)).st_size
        except FileNotFoundError:
            return 0

    def put(self, target: str, mark: str, offset: int, data: bytes, mode: int | None, sync: bool) -> int:
        """Write a piece of a file; return from where on the next one is wanted. A mode marks the last piece: the file
        gets its name.

        That is where the piece ends, or less if earlier pieces are gone: then nothing is written. `sync`: the complete
        file is on disk.
        """
        target = _written(target)
        partial = _beside(target, mark)
        file = _own(partial)
        if file < 0:
            if offset:
                return 0
            if os.path.lexists(partial):
                # It is not a file of this writer.
                os.unlink(partial)
            file = os.open(partial, _ALONE, 0o600)
        try:
            there = os.fstat(file).st_size
            if offset > there:
                return there
            try:
                _take(file, data, offset, mode, sync)
            except OSError:
                # No writer will continue it, and its space is needed.
                os.unlink(partial)
                raise
        finally:
            os.close(file)
        if mode is not None:
            try:
                os.rename(partial, target)
            except FileNotFoundError:
                # Another process has just removed it; if the directory is gone, the next attempt to begin it fails.
                return 0
        return offset + len(data)

    def discard(self, target: str, mark: str) -> None:
        """Remove an incomplete file, made by `begin` and `put`, that will not be completed."""
        try:
            os.unlink(_beside(_written(target), mark))
        except FileNotFoundError:
            pass

    def make(self, path: str, data: bytes, mode: int) -> None:
        """Create a file; an existing entry with its name is removed, even a link, but the user's own regular file is
        overwritten.
        """
        try:
            file = os.open(path, _ALONE, mode)
        except FileExistsError:
            file = _own(path)
            if file < 0:
                os.unlink(path)
                file = os.open(path, _ALONE, mode)
        try:
            _take(file, data, 0, mode, False)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(file)

    def called(self, operation: str, arguments: list[Any], data: bytes) -> list[Any]:
        """Perform a running job's request: see `calls`."""
        from roost.runtime.files.worker.calls import called

        return called(operation, arguments, data)

    def append(self, path: str, data: bytes) -> None:
        """Append to a file, created if it does not exist: all of the data, or nothing if the disk is full."""
        file = os.open(path, _WRITE | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
        try:
            found = os.fstat(file)
            if found.st_mode & _KIND not in (_FILE, _CHARACTERS):
                raise OSError(errno.EINVAL, "it is not a regular file", path)
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(file, rest) :]
            except OSError:
                written = len(data) - len(rest)
                # Not if another process has appended something meanwhile.
                if found.st_mode & _KIND == _FILE and os.fstat(file).st_size == found.st_size + written:
                    os.ftruncate(file, found.st_size)
                raise
        finally:
            os.close(file)


#: The `Hands` of this process.
OWN = Hands()


def _make_directories(path: str) -> None:
    if not path or os.path.isdir(path):
        return
    _make_directories(os.path.dirname(path))
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        # Another process has just made it, or it is not a directory.
        if not os.path.isdir(path):
            raise


def _own(path: str) -> int:
    """Open a regular file that belongs to this user and has no other name, for writing; -1 for any other file."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1
    found = os.fstat(file)
    if found.st_mode & _KIND == _FILE and found.st_nlink == 1 and found.st_uid == os.geteuid():
        return file
    os.close(file)
    return -1


def _written(target: str) -> str:
    """A link is written through, as the user who made it intends."""
    return os.path.realpath(target) if os.path.islink(target) else target


def _beside(target: str, mark: str) -> str:
    return os.path.join(os.path.dirname(target), mark)


def _take(file: int, data: bytes, at: int, mode: int | None, sync: bool) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, at)
        rest, at = rest[written:], at + written
    if mode is not None:
        os.ftruncate(file, at)
        os.fchmod(file, mode)
        if sync:
            os.fsync(file)


def done(operation: str, arguments: list[Any], data: bytes) -> tuple[Any, int]:
    """Perform the request of another process; return the answer, and a descriptor to pass on, or -1."""
    if operation == "look":
        found = OWN.look(*arguments)
        return [found.mode, found.size, found.changed_ns, found.inode], -1
    if operation == "open":
        return None, OWN.open(*arguments)
    if operation == "put":
        target, mark, offset, mode, sync = arguments
        return OWN.put(target, mark, offset, data, mode, sync), -1
    if operation == "called":
        return OWN.called(arguments[0], arguments[1], data), -1
    if operation == "make":
        path, mode = arguments
        return OWN.make(path, data, mode), -1  # type: ignore[func-returns-value]
    if operation == "append":
        return OWN.append(arguments[0], data), -1  # type: ignore[func-returns-value]
    assert operation in ("exists", "names", "real", "make_directory", "begin", "discard"), operation
    return getattr(OWN, operation)(*arguments), -1

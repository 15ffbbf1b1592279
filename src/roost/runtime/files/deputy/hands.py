# pathlib and contextlib are too large for the process that does this as another user.
# ruff: noqa: SIM105, PTH101, PTH102, PTH104, PTH108, PTH112, PTH114, PTH116, PTH118, PTH120, PTH208
"""Operations on users' files: examine, open, write, each complete in itself.

A `Hands` does them with the identity of its own process; a `Deputy` (see `deputies`) has the same operations done by a
process of the user's. Nothing here decides what is allowed: the kernel does.
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
    """What is at a path."""

    __slots__ = ("changed_ns", "inode", "mode", "size")

    def __init__(self, mode: int, size: int, changed_ns: int, inode: int) -> None:
        self.mode = mode
        #: Bytes.
        self.size = size
        #: When it was changed last, ns since the epoch.
        self.changed_ns = changed_ns
        self.inode = inode

    @property
    def is_file(self) -> bool:
        """A plain file."""
        return self.mode & _KIND == _FILE

    @property
    def is_directory(self) -> bool:
        """A directory."""
        return self.mode & _KIND == _DIRECTORY


class Hands:
    """Operations as the user of this process. All of them raise OSError."""

    def look(self, path: str) -> Looked:
        """What is at a path, links followed."""
        found = os.stat(path)
        return Looked(found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino)

    def exists(self, path: str) -> bool:
        """Whether there is something of that name, be it a link that leads nowhere."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def names(self, directory: str) -> list[str]:
        """What is in a directory, sorted."""
        return sorted(os.listdir(directory))

    def real(self, path: str) -> str:
        """The path without links."""
        return os.path.realpath(path)

    def open(self, path: str) -> int:
        """Open for reading, without waiting; the caller closes the descriptor."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)

    def make_directory(self, path: str, mode: int) -> None:
        """Make a directory, with those above it, or give the one that is there the mode."""
        _make_directories(path)
        os.chmod(path, mode)

    def begin(self, target: str, mark: str) -> int:
        """Make ready for a file that comes in pieces; how much of it is there.

        Until it is whole it is beside the target under the name `mark`, which is the writer's alone.
        """
        _make_directories(os.path.dirname(target))
        target = _written(target)
        if os.path.isdir(target):
            raise IsADirectoryError(errno.EISDIR, "there is a directory of that name", target)
        try:
            return os.stat(_beside(target, mark)).st_size
        except FileNotFoundError:
            return 0

    def put(self, target: str, mark: str, offset: int, data: bytes, mode: int | None, sync: bool) -> int:
        """Take a piece of a file; from where on the next one is wanted. With a mode it is the last one: the file gets
        its name.

        That is where the piece ends, or less if what came before it is gone: nothing is taken then. `sync`: what is
        whole is on the disk.
        """
        target = _written(target)
        partial = _beside(target, mark)
        file = _own(partial)
        if file < 0:
            if offset:
                return 0
            if os.path.lexists(partial):
                # It is not a file of this writer's.
                os.unlink(partial)
            file = os.open(partial, _ALONE, 0o600)
        try:
            there = os.fstat(file).st_size
            if offset > there:
                return there
            try:
                _take(file, data, offset, mode, sync)
            except OSError:
                # No writer continues it, and it takes room that is needed.
                os.unlink(partial)
                raise
        finally:
            os.close(file)
        if mode is not None:
            try:
                os.rename(partial, target)
            except FileNotFoundError:
                # Another process has removed it just now; where the directory is gone it fails when it is begun again.
                return 0
        return offset + len(data)

    def discard(self, target: str, mark: str) -> None:
        """Remove what there is of a file that is not whole and will not be: `begin` and `put` have made it."""
        try:
            os.unlink(_beside(_written(target), mark))
        except FileNotFoundError:
            pass

    def make(self, path: str, data: bytes, mode: int) -> None:
        """Create a file; what has its name is removed, even a link, but the user's own plain file is overwritten."""
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

    def called(self, deed: str, arguments: list[Any], data: bytes) -> list[Any]:
        """Do what a running job asks for: see `calls`."""
        from roost.runtime.files.deputy.calls import called

        return called(deed, arguments, data)

    def append(self, path: str, data: bytes) -> None:
        """Append to a file, created if it does not exist: all of the data, or nothing where the disk is full."""
        file = os.open(path, _WRITE | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
        try:
            found = os.fstat(file)
            if found.st_mode & _KIND not in (_FILE, _CHARACTERS):
                raise OSError(errno.EINVAL, "it is not a plain file", path)
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(file, rest) :]
            except OSError:
                written = len(data) - len(rest)
                # Not if another process has added something meanwhile.
                if found.st_mode & _KIND == _FILE and os.fstat(file).st_size == found.st_size + written:
                    os.ftruncate(file, found.st_size)
                raise
        finally:
            os.close(file)


#: Those of this process.
OWN = Hands()


def _make_directories(path: str) -> None:
    if not path or os.path.isdir(path):
        return
    _make_directories(os.path.dirname(path))
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        # Another process has made it just now, or it is not a directory.
        if not os.path.isdir(path):
            raise


def _own(path: str) -> int:
    """Open a plain file that is one's own and has no other name, for writing; -1 if it is anything else."""
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
    """A link is written through, as the user who made it wants it."""
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


def done(deed: str, arguments: list[Any], data: bytes) -> tuple[Any, int]:
    """Do what another process asks for: the answer, and a descriptor to be handed over, or -1."""
    if deed == "look":
        found = OWN.look(*arguments)
        return [found.mode, found.size, found.changed_ns, found.inode], -1
    if deed == "open":
        return None, OWN.open(*arguments)
    if deed == "put":
        target, mark, offset, mode, sync = arguments
        return OWN.put(target, mark, offset, data, mode, sync), -1
    if deed == "called":
        return OWN.called(arguments[0], arguments[1], data), -1
    if deed == "make":
        path, mode = arguments
        return OWN.make(path, data, mode), -1  # type: ignore[func-returns-value]
    if deed == "append":
        return OWN.append(arguments[0], data), -1  # type: ignore[func-returns-value]
    assert deed in ("exists", "names", "real", "make_directory", "begin", "discard"), deed
    return getattr(OWN, deed)(*arguments), -1

# pathlib, shutil and base64's friends are too large for the process that does this as another user.
# ruff: noqa: PTH106, PTH108, PTH115, PTH116, PTH118, PTH208
"""File operations of a running job where it was submitted (chirp): each call names its file and is complete.

`called` performs one with the identity of its own process. It returns a number, as the system call does, and the data
read in base 64, because an answer is JSON. Nothing here decides what is allowed: the kernel does.
"""

from __future__ import annotations

import binascii
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Maximum number of bytes that one call reads.
READ_MAX = 384 * 1024
#: Maximum depth of directories that one call removes.
DEPTH_MAX = 64
_FLAGS = {"a": os.O_APPEND, "t": os.O_TRUNC, "c": os.O_CREAT, "x": os.O_EXCL}
_ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def called(operation: str, arguments: list[Any], data: bytes) -> list[Any]:
    """Perform a job's request. Raises OSError."""
    if operation == "open":
        path, letters, mode = arguments
        file = os.open(path, open_flags(letters) | _ALWAYS, mode)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EISDIR if stat.S_ISDIR(os.fstat(file).st_mode) else errno.EINVAL, "no plain file")
            return [0, "", numbers(os.fstat(file))]
        finally:
            os.close(file)
    if operation == "read":
        path, size, offset = arguments
        file = os.open(path, os.O_RDONLY | _ALWAYS)
        try:
            found = os.pread(file, min(size, READ_MAX), offset)
        finally:
            os.close(file)
        return [len(found), binascii.b2a_base64(found, newline=False).decode(), []]
    if operation == "write":
        path, offset, appends = arguments
        return [_written(path, offset, appends, data), "", []]
    if operation in ("stat", "lstat"):
        return [0, "", numbers(os.stat(arguments[0]) if operation == "stat" else os.lstat(arguments[0]))]
    if operation == "statfs":
        disk = os.statvfs(arguments[0])
        return [0, "", [0, disk.f_bsize, disk.f_blocks, disk.f_bfree, disk.f_bavail, disk.f_files, disk.f_ffree]]
    if operation == "getdir":
        return [0, "", sorted(os.listdir(arguments[0]))]
    if operation == "readlink":
        return [0, "", [os.readlink(arguments[0])]]
    if operation == "access":
        path, mode = arguments
        if not os.access(path, mode):
            raise OSError(errno.EACCES if os.path.lexists(path) else errno.ENOENT, "not permitted", path)
        return [0, "", []]
    if operation == "rmall":
        _remove_all(arguments[0], 0)
        return [0, "", []]
    if operation == "utime":
        path, accessed, changed = arguments
        os.utime(path, (accessed, changed))
        return [0, "", []]
    assert operation in (
        "rename",
        "unlink",
        "rmdir",
        "mkdir",
        "link",
        "symlink",
        "chmod",
        "chown",
        "lchown",
        "truncate",
    ), operation
    getattr(os, operation)(*arguments)
    return [0, "", []]


def open_flags(letters: str) -> int:
    """The flags of the system call for letters of ``rwatcx``."""
    reads, writes = "r" in letters, "w" in letters or "a" in letters
    flags = os.O_RDWR if reads and writes else os.O_WRONLY if writes else os.O_RDONLY
    for letter, flag in _FLAGS.items():
        flags |= flag if letter in letters else 0
    return flags


def numbers(found: os.stat_result) -> list[int]:
    """The 13 numbers by which chirp describes a file."""
    return [
        found.st_dev, found.st_ino, found.st_mode, found.st_nlink, found.st_uid, found.st_gid, found.st_rdev,
        found.st_size, found.st_blksize, found.st_blocks, int(found.st_atime), int(found.st_mtime), int(found.st_ctime),
    ]  # fmt: skip


def _written(path: str, offset: int, appends: bool, data: bytes) -> int:
    file = os.open(path, os.O_WRONLY | (os.O_APPEND if appends else 0) | _ALWAYS)
    try:
        done = 0
        while done < len(data):
            done += os.write(file, data[done:]) if appends else os.pwrite(file, data[done:], offset + done)
        return done
    finally:
        os.close(file)


def _remove_all(path: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise OSError(errno.ELOOP, f"more than {DEPTH_MAX} nested directories", path)
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    for name in os.listdir(path):
        _remove_all(os.path.join(path, name), depth + 1)
    os.rmdir(path)

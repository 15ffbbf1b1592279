"""Atomic file writes: each file is written under a temporary name unique to its writer, then renamed.

    write_whole(path, text, mode=0o600)
    rewrite_whole(path, text)  # keeps mode and owner

The temporary name contains the target, the machine, its boot, the process (number and start) and a counter, and the
file is created exclusively: no two writers ever share one, whether threads, processes or machines with a shared file
system. Of two that write the same target the last one wins, and its file is complete.

A killed writer leaves such a file behind. `sweep` removes those of a directory whose writers are dead; daemons call it
at startup for the directories that they own, a DAG's process for the files of its DAG.

Files transferred for jobs in pieces have a separate class (`transfer`, `worker.hands`).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import socket
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PREFIX: Final = ".roost-"
_SUFFIX: Final = ".tmp"
#: Age of a file whose writer on another machine is considered dead, s.
FOREIGN_S: Final = 86_400.0

_numbers: Final = itertools.count()
#: This process's number and its identifier; recomputed after a fork.
_own: tuple[int, str] = (0, "")


def write_whole(path: Path, data: str | bytes, *, mode: int = 0o666, sync: bool = False) -> None:
    """Write a file atomically, subject to the umask. `sync`: it is then on disk. Raises OSError."""
    descriptor, fresh = open_beside(path, mode=mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_bytes(data))
            if sync:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def rewrite_whole(path: Path, data: str | bytes) -> None:
    """Replace the contents of a user's file atomically, keeping its mode and owner; a link is followed.

    It is then on disk. Raises OSError.
    """
    path = path.resolve(strict=True)
    before = path.stat()
    descriptor, fresh = open_beside(path, mode=0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, before.st_uid, before.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            file.write(_bytes(data))
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def write_first(path: Path, data: str | bytes, *, mode: int = 0o666) -> None:
    """Write a new file atomically. Raises FileExistsError if it exists, OSError."""
    descriptor, fresh = open_beside(path, mode=mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_bytes(data))
        os.link(fresh, path)
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def open_beside(path: Path, *, mode: int = 0o666) -> tuple[int, Path]:
    """Create a file unique to this writer next to a path; return its descriptor, for writing, and its name.

    Raises OSError.
    """
    while True:
        name = f"{_PREFIX}{_of_target(path.name)}-{_writer()}-{next(_numbers)}{_SUFFIX}"
        fresh = path.with_name(name)
        with contextlib.suppress(FileExistsError):
            return os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), fresh


def sweep(directory: Path, targets: Iterable[str] | None = None) -> None:
    """Remove the files of dead writers in a directory; only for these targets, if given."""
    wanted = None if targets is None else {_of_target(each) for each in targets}
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(directory)):
            parts = entry.name.removeprefix(_PREFIX).removesuffix(_SUFFIX).split("-")
            if not (entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX) and len(parts) == 6):
                continue
            if (wanted is None or parts[0] in wanted) and _is_dead(entry, parts[1:5]):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108


def _is_dead(entry: os.DirEntry[str], writer: list[str]) -> bool:
    from roost.runtime.processes.shepherd.processes import is_alive

    machine, boot, pid, start = _writer().split("-")
    if writer[0] != machine:
        with contextlib.suppress(OSError):
            return time.time() - entry.stat(follow_symlinks=False).st_mtime > FOREIGN_S
        return False
    if writer[1] != boot:
        return True
    if writer[2:] == [pid, start]:
        return False
    return not (writer[2].isdigit() and writer[3].isdigit() and is_alive(int(writer[2]), int(writer[3])))


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def _of_target(name: str) -> str:
    return _hash(os.fsencode(name))


def _writer() -> str:
    """Machine and process namespace, boot, number and start of this process."""
    global _own
    pid = os.getpid()
    if _own[0] != pid:
        # Commands that write nothing do not need it.
        from roost.runtime.processes.shepherd.processes import boot_id, start_of

        space = ""
        with contextlib.suppress(OSError):
            space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
        machine = _hash(f"{socket.gethostname()} {space}".encode("utf-8", "surrogateescape"))
        _own = pid, f"{machine}-{_hash(boot_id().encode())}-{pid}-{start_of(pid)}"
    return _own[1]


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=6).hexdigest()

"""The lock that a backup of a pool holds while it copies the database and the files that the queue keeps for jobs.

A job that leaves the queue loses its files in `spool`. The copy of the database may still have that job, so the queue
removes no files of jobs while the lock is held. The lock ends with its process; no request and no timeout is needed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_NAME: Final = "backup.lock"


class BackupRuns(Exception):
    """Another backup is being taken."""


def is_held(home: Path) -> bool:
    """Whether a backup of the pool in a state directory is copying files now."""
    path = home / _NAME
    # Asked for each job that leaves; usually there is no such file.
    if not os.path.exists(path):  # noqa: PTH110
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Hold the lock. Raises BackupRuns, OSError."""
    path = home / _NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRuns from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
    finally:
        os.close(descriptor)

"""The TMPDIR of a job in a Grid Engine queue instance: ``JOBID.TASK.QUEUE`` in the queue's `tmpdir`.

It is created for the job's user only and removed with the scratch directory. The queue's `tmpdir` belongs to the site
and may be shared, even with other pools, so existing entries are left alone, and the job gets a free name. The name is
stored next to the record of the run, so that a later daemon removes it. It is stored in one write of less than a page,
which a kill leaves complete and a power failure leaves complete or absent.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from roost.runtime.processes.accounts import Account
from roost.runtime.processes.sandbox import SandboxFailed, remove_tree

#: Suffix of the files that say where a run has its TMPDIR.
LISTED: Final = ".tmpdir"
#: Number of names that are tried if directories of earlier jobs exist.
_TRIES: Final = 100


def make_tmpdir(base: Path, name: str, listed: Path, owner: Account | None) -> Path:
    """Create the directory, and list it. Raises SandboxFailed."""
    for number in range(1, _TRIES + 1):
        path = base / (name if number == 1 else f"{name}.{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as problem:
            raise _failed(path, problem) from problem
        try:
            if owner is not None and os.geteuid() == 0:
                _give(path, owner)
            _list(listed, path)
        except OSError as problem:
            path.rmdir()
            listed.unlink(missing_ok=True)
            raise _failed(path, problem) from problem
        return path
    raise SandboxFailed(f"cannot create {base / name}, the job's TMPDIR: remove what earlier jobs left there")


def _give(path: Path, owner: Account) -> None:
    """Change the owner of a directory that was just created, and not of anything put in its place."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(directory).st_uid == os.geteuid():
            os.fchown(directory, owner.uid, owner.gid)
    finally:
        os.close(directory)


def _list(listed: Path, path: Path) -> None:
    # A short job spends much of its time on files; replacing one costs as much as creating ten.
    descriptor = os.open(listed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        data = os.fsencode(path)
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(listed))
    finally:
        os.close(descriptor)


def _failed(path: Path, problem: OSError) -> SandboxFailed:
    return SandboxFailed(f"cannot create {path}, the job's TMPDIR: {problem.strerror}; see the queue's `tmpdir`")


def tmpdir_of(listed: Path) -> Path | None:
    """The listed directory; None for none."""
    try:
        path = Path(os.fsdecode(listed.read_bytes()))
    except OSError:
        return None
    # After a power failure a file may be empty, or contain zero bytes; nothing else must then be removed.
    return path if path.is_absolute() and path.parent != path else None


def removed_at_once(path: Path, listed: Path) -> bool:
    """Remove a directory in which a job has left nothing, without blocking; return whether it is gone."""
    try:
        # Its user owns it: a link in its place is not followed.
        os.rmdir(path)  # noqa: PTH106
        os.unlink(listed)  # noqa: PTH108 - every job has one
    except OSError:
        return False
    return True


def remove_tmpdir(listed: Path) -> str:
    """Remove the listed directory; return why something had to be left, or "" if nothing was. Blocks on the disk."""
    path = tmpdir_of(listed)
    # Its user owns it, and may have put a link in its place: nothing here may follow one.
    text = "" if path is None else remove_tree(path)
    try:
        if not text:
            listed.unlink(missing_ok=True)
    except OSError as problem:
        return f"{listed} cannot be removed: {problem.strerror}"
    return text

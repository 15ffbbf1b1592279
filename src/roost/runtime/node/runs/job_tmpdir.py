"""The TMPDIR of a job in a queue instance of a Grid Engine cell: ``JOBID.TASK.QUEUE`` in the queue's `tmpdir`.

It is made for the job's user alone and removed with the scratch directory. That directory is the site's and may be
shared, with other pools too, so what is there already is left alone, and the job gets a name that is free. Which one
is written down beside the record of the run, so that a daemon that comes later removes it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from roost.runtime.files.whole_files import write_whole
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.sandbox import SandboxFailed, remove_tree

#: What the names of the files end with that say where a run has its TMPDIR.
LISTED: Final = ".tmpdir"
#: Names that are tried where directories of earlier ones are there.
_TRIES: Final = 100


def make_tmpdir(base: Path, name: str, listed: Path, owner: Account | None) -> Path:
    """Make the directory, and list it. Raises SandboxFailed."""
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
            write_whole(listed, os.fsencode(path))
        except OSError as problem:
            path.rmdir()
            raise _failed(path, problem) from problem
        return path
    raise SandboxFailed(f"cannot make {base / name}, the TMPDIR of the job: remove what earlier jobs left there")


def _give(path: Path, owner: Account) -> None:
    """Give away a directory that was just made, and nothing that was put into its place."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(directory).st_uid == os.geteuid():
            os.fchown(directory, owner.uid, owner.gid)
    finally:
        os.close(directory)


def _failed(path: Path, problem: OSError) -> SandboxFailed:
    return SandboxFailed(f"cannot make {path}, the TMPDIR of the job: {problem.strerror}; see `tmpdir` of the queue")


def tmpdir_of(listed: Path) -> Path | None:
    """The directory that is listed; None for none."""
    try:
        path = Path(os.fsdecode(listed.read_bytes()))
    except OSError:
        return None
    # After a power failure a file may be empty, and nothing else is to be removed then.
    return path if path.is_absolute() and path.parent != path else None


def remove_tmpdir(listed: Path) -> str:
    """Remove the directory that is listed; why something had to be left, or "" if nothing was. Waits for the disk."""
    path = tmpdir_of(listed)
    # Its user owns it, and may have put a link in its place: nothing here may follow one.
    text = "" if path is None else remove_tree(path)
    try:
        if not text:
            listed.unlink(missing_ok=True)
    except OSError as problem:
        return f"{listed} cannot be removed: {problem.strerror}"
    return text

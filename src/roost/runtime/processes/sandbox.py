"""The scratch directory of a job: created for its user only, measured, and removed whatever the job has put there.

Removal never follows a link and never recurses deeply: subdirectories are moved to the top one after the other and
emptied there, so that neither a long path nor a deep tree is an obstacle. Directories whose mode prevents removal are
changed first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Self

from roost.base.records import dataclass
from roost.runtime.processes.accounts import Account

#: JOB_EXECDIR_PERMISSIONS to the mode of the directory.
MODES: Final = {"user": 0o700, "group": 0o750, "world": 0o755}
#: Maximum number of files and directories that a measurement examines; the rest is not counted.
MEASURED_MAX: Final = 1_000_000

_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KIB: Final = 1024
#: Maximum number of files that are removed at once.
_FEW: Final = 16


class SandboxFailed(Exception):
    """The scratch directory could not be created; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A scratch directory. Its functions block on the disk."""

    path: Path

    @classmethod
    def make(cls, execute: Path, name: str, *, owner: Account | None = None, permissions: str = "user") -> Self:
        """Create ``dir_<name>`` in the directory EXECUTE. Raises SandboxFailed."""
        path = execute / f"dir_{name}"
        try:
            os.mkdir(path, 0o700)  # noqa: PTH102 - every job has one
            if owner is not None and os.geteuid() == 0:
                os.chown(path, owner.uid, owner.gid)
            if permissions in MODES and MODES[permissions] != 0o700:
                path.chmod(MODES[permissions])
        except OSError as problem:
            text = f"cannot create the scratch directory {path}: {problem.strerror}"
            raise SandboxFailed(text + _remedy(execute, problem)) from problem
        return cls(path=path)

    def size_kib(self) -> int:
        """The space used by files, directories and links in it, KiB; a file with several names in it counts once."""
        seen: set[tuple[int, int]] = set()
        total = 0
        for count, found in enumerate(_everything(self.path)):
            if count >= MEASURED_MAX:
                break
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
            total += found.st_size if not stat.S_ISDIR(found.st_mode) else 0
        return -(-total // _KIB)

    def removed_at_once(self) -> bool:
        """Remove it if that does not block: it has few regular files, or none; return whether it is gone."""
        if self.emptied() is None:
            return False
        try:
            os.rmdir(self.path)  # noqa: PTH106
        except OSError:
            return False
        return True

    def emptied(self, keep: frozenset[str] = frozenset()) -> list[str] | None:
        """Remove everything in it except files with some names, if that does not block; return their paths, None if it
        would.
        """
        try:
            with os.scandir(self.path) as entries:
                found = list(islice(entries, _FEW + 1))
            if len(found) > _FEW or any(each.is_dir(follow_symlinks=False) for each in found):
                return None
            kept = [each.path for each in found if each.name in keep]
            for each in found:
                if each.name not in keep:
                    os.unlink(each.path)  # noqa: PTH108
        except OSError:
            return None
        return kept

    def remove(self) -> str:
        """Remove it with all its contents; return why something had to be left, or "" if nothing was."""
        return remove_tree(self.path)


def remove_tree(path: Path) -> str:
    """Remove a directory with all its contents; return why something had to be left, or "" if nothing was.

    Others may use it at the same time, including the user of the job.
    """
    try:
        top = _opened(str(path), None)
    except FileNotFoundError:
        return ""
    except NotADirectoryError:
        return _unlinked(path)
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    problems: list[str] = []
    try:
        _empty(top, path, problems)
    except OSError as problem:
        problems.append(f"{path}: {problem.strerror}")
    finally:
        os.close(top)
    try:
        path.rmdir()
    except FileNotFoundError:
        pass
    except OSError as problem:
        problems.append(f"{path}: {problem.strerror}")
    return "; ".join(problems[:3]) + (f"; and {len(problems) - 3} more" if len(problems) > 3 else "")


def _unlinked(path: Path) -> str:
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    return ""


def _empty(top: int, path: Path, problems: list[str]) -> None:
    """Empty the top directory: remove files; open directories, move their own directories up, and remove them."""
    # Names that nothing there can have, whatever a job has made of this directory.
    number, token = 0, os.urandom(8).hex()
    # A directory that could not be removed is not tried again.
    given_up: set[str] = set()
    while True:
        directories = [name for name in _clear(top, path, problems, given_up) if name not in given_up]
        if not directories:
            return
        for name in directories:
            try:
                number = _level(top, name, number, token, path, problems)
                os.rmdir(name, dir_fd=top)
            except OSError as problem:
                given_up.add(name)
                if problem.errno != errno.ENOENT:
                    problems.append(f"{path}/{name}: {problem.strerror}")


def _level(top: int, name: str, number: int, token: str, path: Path, problems: list[str]) -> int:
    """Empty one directory of the top: directories in it move up."""
    here = _opened(name, top)
    try:
        for inner in _clear(here, path / name, problems, set()):
            number += 1
            _permit(inner, here)
            os.rename(inner, f".roost-removed-{number}-{token}", src_dir_fd=here, dst_dir_fd=top)
    finally:
        os.close(here)
    return number


def _clear(directory: int, path: Path, problems: list[str], given_up: set[str]) -> list[str]:
    """Remove all files of a directory; return the directories in it."""
    directories = []
    for name in os.listdir(directory):
        if name in given_up:
            continue
        try:
            if _is_removed(name, directory):
                continue
            directories.append(name)
        except FileNotFoundError:
            continue
        except OSError as problem:
            given_up.add(name)
            problems.append(f"{path / name}: {problem.strerror}")
    return directories


def _is_removed(name: str, directory: int) -> bool:
    """Remove the entry with a name in a directory, unless it is a directory. Raises OSError."""
    try:
        os.unlink(name, dir_fd=directory)
    except (IsADirectoryError, PermissionError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise
        return False
    return True


def _opened(name: str, within: int | None) -> int:
    """Open a directory to empty it, whatever its mode."""
    _permit(name, within)
    return os.open(name, _OPEN, dir_fd=within)


def _permit(name: str, within: int | None) -> None:
    found = os.stat(name, dir_fd=within, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o700 == 0o700:
        return
    # Change what was checked, even if another process puts a link in its place meanwhile.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=within)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(0o700)
    finally:
        os.close(handle)


def _everything(path: Path) -> Iterator[os.stat_result]:
    ahead = [str(path)]
    while ahead:
        try:
            entries = list(os.scandir(ahead.pop()))
        except OSError:
            # It has gone meanwhile, or this process has no access.
            continue
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield found
            if stat.S_ISDIR(found.st_mode):
                ahead.append(entry.path)


def _remedy(execute: Path, problem: OSError) -> str:
    match problem.errno:
        case errno.ENOENT:
            return f"; create {execute}, or set EXECUTE"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"; allow this daemon to write to {execute}, or set EXECUTE"
        case errno.ENOSPC | errno.EDQUOT:
            return f"; free some space on the disk of {execute}"
        case _:
            return ""

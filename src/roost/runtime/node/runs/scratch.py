"""The directories in which a machine makes scratch directories: EXECUTE, and SLOT<N>_EXECUTE for single slots.

The directory ``execute`` of the state directory is used as it is. Any other belongs to the site and may be shared, with
other pools or with other users of the machine, so a machine makes one directory of its own there, ``roost-<digest>``,
and may remove everything in that directory. The directories in use are recorded before the first job: when EXECUTE
changes and the daemon is restarted, running jobs keep their directory, and leftovers in a directory that is no longer
configured are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.config import Config
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home
from roost.runtime.role import ConfigurationRefused

_log = logging.getLogger("roost.node")

#: The list of the directories, in the directory of the records of runs.
LIST: Final = "execute.json"


def execute_of(config: Config, slot: int = 0) -> Path:
    """The value of EXECUTE for a slot; 0 for the machine. Raises ConfigError."""
    return Path((config.get("EXECUTE", slot=slot) if slot else config.get("EXECUTE")) or os.curdir)


def directories_of(config: Config) -> dict[int, Path]:
    """Slot to directory: 0 is the machine, others are slots with a SLOT<N>_EXECUTE. Raises ConfigError."""
    return {slot: execute_of(config, slot) for slot in (0, *config.slot_numbers("SLOT<N>_EXECUTE"))}


def problem_of(directory: Path, slot: int = 0) -> str:
    """Why scratch directories cannot be made there; "" if they can."""
    name = f"SLOT{slot}_EXECUTE" if slot else "EXECUTE"
    if not directory.is_absolute():
        return f"{name} = {directory} is not an absolute path"
    if directory.is_dir():
        return ""
    if directory.exists():
        return f"{name} = {directory} is not a directory"
    return f"{name} = {directory} does not exist; create the directory, or name another"


class Scratch:
    """The directories of one machine."""

    def __init__(self, directories: Mapping[int, Path], home: Home) -> None:
        """Create them. `directories`: slot, 0 for the machine, to directory. Raises ConfigurationRefused."""
        self._home = home
        self._list = home.jobs / LIST
        for slot, directory in directories.items():
            problem = "" if directory == home.execute else problem_of(directory, slot)
            if problem:
                raise ConfigurationRefused(problem)
        #: The configured directories, for messages about disks; the machine's first.
        self.configured = tuple(dict.fromkeys(directories.values()))
        self._of_slot = {slot: self._own(directory) for slot, directory in directories.items()}
        #: The directories in which new scratch directories are made.
        self.current = tuple(dict.fromkeys(self._of_slot.values()))
        self.known = tuple(dict.fromkeys((*self.current, home.execute, *self._earlier())))
        self._write()

    def of(self, slot: int) -> Path:
        """The directory for the scratch directories of a slot."""
        return self._of_slot.get(slot, self._of_slot[0])

    def found(self, name: str) -> Path | None:
        """The scratch directory with that name, wherever it was made."""
        return next((path for each in self.known if (path := each / name).is_dir()), None)

    def forget_empty(self) -> None:
        """Remove directories that are neither configured nor in use any longer."""
        for each in self.known:
            if each not in self.current and each != self._home.execute:
                # A directory with contents stays listed.
                with contextlib.suppress(OSError):
                    each.rmdir()
        self.known = tuple(
            each for each in self.known if each in self.current or each == self._home.execute or each.exists()
        )
        self._write()

    def _own(self, directory: Path) -> Path:
        """The machine's own directory within a configured one."""
        if directory == self._home.execute:
            return directory
        digest = hashlib.blake2b(os.fsencode(self._home.path), digest_size=6).hexdigest()
        path = directory / f"roost-{digest}"
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            found = os.lstat(path)
        except OSError as error:
            raise ConfigurationRefused(
                f"EXECUTE: cannot create {path}: {error.strerror}; allow this daemon to write to {directory}, "
                "or name another directory"
            ) from None
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise ConfigurationRefused(
                f"EXECUTE: {path} is not a directory that only this daemon's user can write to; remove it"
            )
        return path

    def _earlier(self) -> list[Path]:
        try:
            found = json.loads(self._list.read_text())
            return [Path(each) for each in found if isinstance(each, str)]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            _log.error(
                "%s cannot be read, and directories that were EXECUTE earlier are not cleaned up: %s", LIST, error
            )
            return []

    def _write(self) -> None:
        listed = [str(each) for each in self.known if each != self._home.execute]
        try:
            if listed != [str(each) for each in self._earlier()]:
                write_whole(self._list, json.dumps(listed))
        except OSError as error:
            raise ConfigurationRefused(f"cannot write {self._list}: {error.strerror}") from None

"""The machine from which a user submits, as the submit language's host: files, environment, commands, random numbers.

Everything here is effects: it reads the system and decides nothing. Files are accessed as the user who runs this
program; a file that cannot be read is treated as missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.config import CommandResult
from roost.config.limits import DEFAULT_LIMITS
from roost.schedd.submit import FileKind

#: Time limit of a command whose output is items, s.
COMMAND_S: Final = 60.0
#: How much of a file with items is read, characters; `roost.schedd.submit` reports if there is more.
ITEMS_CHARS_MAX: Final = 500_000_000
#: Names under which this program's own open files can be read.
_HANDED_OVER: Final = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
#: Maximum number of entries of one directory tree whose sizes are summed.
_ENTRIES_MAX: Final = 1_000_000


class SystemSubmitHost:
    """The submit language's view of this machine."""

    def __init__(self, cwd: str | None = None) -> None:
        #: The user's working directory. PWD keeps the path that the user took there, through links.
        self._cwd = cwd or _logical_cwd()

    @property
    def cwd(self) -> str:
        """The directory from which the user submits, absolute."""
        return self._cwd

    def _path(self, path: str) -> Path:
        return Path(self._cwd, path)

    def environment(self) -> Mapping[str, str]:
        """The environment of this process."""
        return os.environ

    def read_text(self, path: str) -> str | None:
        """The text of a regular file, or of a pipe passed to this program; bytes that are not UTF-8 are escaped."""
        whole = self._path(path)
        try:
            # Opening a pipe without a writer would wait forever.
            if not whole.is_file() and not str(whole).startswith(_HANDED_OVER):
                return None
            with whole.open(encoding="utf-8", errors="replace", newline="") as file:
                return file.read(max(ITEMS_CHARS_MAX, DEFAULT_LIMITS.file_chars_max) + 1)
        except (OSError, ValueError):
            return None

    def kind_of(self, path: str) -> FileKind | None:
        """What a path is, following links; None if the user may not read it."""
        whole = self._path(path)
        try:
            if whole.is_dir():
                return FileKind.DIRECTORY
            return FileKind.FILE if whole.exists() and os.access(whole, os.R_OK) else None
        except (OSError, ValueError):
            return None

    def size_of(self, path: str) -> int | None:
        """The size of a file, or of all files in a directory, bytes."""
        whole = self._path(path)
        try:
            if whole.is_dir():
                return _tree_size(str(whole))
            return whole.stat().st_size
        except (OSError, ValueError):
            return None

    def glob(self, pattern: str) -> list[str]:
        """The paths that a pattern matches; names that begin with a dot only if the pattern has it."""
        try:
            from glob import glob

            return glob(pattern, root_dir=None if pattern.startswith("/") else self._cwd)  # noqa: PTH207
        except (OSError, ValueError):
            return []

    def run_command(self, command: str) -> CommandResult:
        """Run a command line with the shell, in the user's working directory."""
        import subprocess

        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                capture_output=True,
                cwd=self._cwd,
                timeout=COMMAND_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return CommandResult(status=127, output="")
        return CommandResult(status=done.returncode, output=done.stdout.decode("utf-8", "replace"))

    def random_integer(self, low: int, high: int) -> int:
        """A number from the system's random generator."""
        import random

        return random.SystemRandom().randint(low, high)

    def local_date(self, instant: float) -> tuple[int, int, int]:
        """The date in the time zone of this process (TZ)."""
        day = time.localtime(instant)
        return day.tm_year, day.tm_mon, day.tm_mday


def _logical_cwd() -> str:
    """The working directory under the user's name for it, if that is the same directory."""
    named = os.environ.get("PWD", "")
    try:
        if named.startswith("/") and Path(named).samefile("."):
            return named
    except OSError:
        pass
    return str(Path.cwd())


def _tree_size(root: str) -> int:
    total = entries = 0
    for directory, _, names in os.walk(root):
        for name in names:
            entries += 1
            if entries > _ENTRIES_MAX:
                return total
            try:
                total += Path(directory, name).stat().st_size
            except OSError:
                continue
    return total

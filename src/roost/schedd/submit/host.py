"""What reading a submit description needs from the machine it is submitted on, as one protocol.

The room itself opens no file and runs no command: the command line passes in the real machine (`roost.runtime`), tests
and the simulator a `MemorySubmitHost`. Paths are as users write them; a path that is not absolute is relative to `cwd`.
"""

from __future__ import annotations

import fnmatch
import posixpath
import random
from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from roost.base.records import dataclass, field
from roost.classad import FixedWorld, World
from roost.config import CommandResult
from roost.config.expressions import constant_value, parsed


class FileKind(StrEnum):
    """What a path is."""

    FILE = "file"
    DIRECTORY = "directory"


class SubmitHost(Protocol):
    """The machine as a submit description sees it."""

    @property
    def cwd(self) -> str:
        """The directory from which the user submits, absolute."""
        ...

    def environment(self) -> Mapping[str, str]:
        """The user's environment."""
        ...

    def read_text(self, path: str) -> str | None:
        """The text of a file, or None if it cannot be read."""
        ...

    def kind_of(self, path: str) -> FileKind | None:
        """What a path is; None if it does not exist or the user may not read it."""
        ...

    def size_of(self, path: str) -> int | None:
        """The size of a file, or of all files in a directory, bytes; None if it does not exist."""
        ...

    def glob(self, pattern: str) -> list[str]:
        """The paths that a pattern matches, in the form of the pattern: relative ones stay relative. In any order."""
        ...

    def run_command(self, command: str) -> CommandResult:
        """Run a command line and return its output."""
        ...

    def random_integer(self, low: int, high: int) -> int:
        """A random whole number, both ends included."""
        ...

    def local_date(self, instant: float) -> tuple[int, int, int]:
        """The year, month and day of an instant, epoch s, in the time zone of the submitting machine."""
        ...


@dataclass(slots=True, kw_only=True)
class MemorySubmitHost:
    """A machine made of dictionaries."""

    cwd: str = "/home/me"
    #: Absolute path to text; directories are their parents, and those named below.
    files: dict[str, str] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)
    commands: dict[str, CommandResult] = field(default_factory=dict)
    seed: int = 0
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def environment(self) -> Mapping[str, str]:
        return self.variables

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def read_text(self, path: str) -> str | None:
        return self.files.get(self._absolute(path))

    def kind_of(self, path: str) -> FileKind | None:
        whole = self._absolute(path)
        if whole in self.files:
            return FileKind.FILE
        inside = whole.rstrip("/") + "/"
        known = whole == self.cwd or whole == "/" or whole in self.directories
        return FileKind.DIRECTORY if known or any(file.startswith(inside) for file in self.files) else None

    def size_of(self, path: str) -> int | None:
        whole = self._absolute(path)
        match self.kind_of(path):
            case FileKind.FILE:
                return len(self.files[whole].encode())
            case FileKind.DIRECTORY:
                inside = whole.rstrip("/") + "/"
                return sum(len(text.encode()) for file, text in self.files.items() if file.startswith(inside))
            case None:
                return None

    def glob(self, pattern: str) -> list[str]:
        whole = self._absolute(pattern)
        known = set(self.directories)
        for file in self.files:
            known.add(file)
            while (file := posixpath.dirname(file)) not in ("", "/"):
                known.add(file)
        depth = whole.count("/")
        found = [path for path in known if path.count("/") == depth and fnmatch.fnmatchcase(path, whole)]
        cut = 0 if pattern.startswith("/") else len(self.cwd.rstrip("/")) + 1
        return [path[cut:] for path in found]

    def run_command(self, command: str) -> CommandResult:
        return self.commands.get(command, CommandResult(status=127, output=""))

    def random_integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def local_date(self, instant: float) -> tuple[int, int, int]:
        from datetime import UTC, datetime

        day = datetime.fromtimestamp(instant, UTC)
        return day.year, day.month, day.day


@dataclass(slots=True, kw_only=True)
class LanguageHost:
    """A `SubmitHost` adapted to the reader of the configuration language."""

    host: SubmitHost
    #: The value of time() in expressions.
    now: float
    #: Names of environment variables that were read.
    asked: set[str] = field(default_factory=set)

    @property
    def _world(self) -> World:
        return FixedWorld(instant=self.now)

    def read_text(self, path: str) -> str | None:
        return self.host.read_text(path)

    def list_directory(self, path: str) -> list[str] | None:
        return None

    def run_command(self, command: str) -> CommandResult:
        return self.host.run_command(command)

    def write_cache(self, path: str, text: str) -> bool:
        return False

    def environment(self) -> Mapping[str, str]:
        return _Noted(self.host.environment(), self.asked)

    def random_integer(self, low: int, high: int) -> int:
        return self.host.random_integer(low, high)

    def evaluate(self, expression: str) -> object:
        return constant_value(expression, self._world)

    def parse_expression(self, expression: str) -> None:
        parsed(expression)


class _Noted(dict[str, str]):
    """An environment that records which variables are read."""

    def __init__(self, variables: Mapping[str, str], asked: set[str]) -> None:
        super().__init__(variables)
        self._asked = asked

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """The value of a variable."""
        self._asked.add(name)
        return super().get(name, default)

"""The outside world of the configuration language, as a protocol, and an implementation made of dictionaries.

The room itself opens no file, runs no command and draws no random number: it asks a `Host`. The command line
gives it the real one; tests, the simulator and `roost config` on text given as an argument use `MemoryHost`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from roost.base.records import dataclass, field
from roost.classad import FixedWorld, World
from roost.config.expressions import ExpressionProblem, constant_value, parsed

__all__ = ["CommandResult", "ExpressionProblem", "Host", "MemoryHost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The result of a command that was run for its output."""

    status: int
    output: str


class Host(Protocol):
    """The world as configuration sees it."""

    def read_text(self, path: str) -> str | None:
        """The text of a file, or None when there is no readable file of that name."""
        ...

    def list_directory(self, path: str) -> list[str] | None:
        """The names of the files in a directory, or None when it is not a readable directory."""
        ...

    def run_command(self, command: str) -> CommandResult:
        """Run a command line and return what it printed."""
        ...

    def write_cache(self, path: str, text: str) -> bool:
        """Keep the output of ``include command into``; False when that is impossible."""
        ...

    def environment(self) -> Mapping[str, str]:
        """The environment variables."""
        ...

    def random_integer(self, low: int, high: int) -> int:
        """A random whole number from ``low`` to ``high``, both included."""
        ...

    def evaluate(self, expression: str) -> object:
        """Evaluate a ClassAd expression without any ad.

        Gives a bool, int, float or str, None for UNDEFINED, and any other object (whose str() is its ClassAd
        text) for lists and ads. Raises `ExpressionProblem` when it does not parse or gives ERROR.
        """
        ...

    def parse_expression(self, expression: str) -> None:
        """Raise `ExpressionProblem` unless the text is a well-formed ClassAd expression."""
        ...


@dataclass(slots=True, kw_only=True)
class MemoryHost:
    """A `Host` whose files, commands and environment are dictionaries."""

    #: path to text; a directory is the set of paths below it
    files: dict[str, str] = field(default_factory=dict)
    #: command line to result; an unknown command ends with status 127
    commands: dict[str, CommandResult] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    #: evaluates expressions instead of `roost.classad`
    evaluator: Callable[[str], object] | None = None
    #: the source of time() and similar functions in expressions
    world: World = field(default_factory=FixedWorld)
    seed: int = 0
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def read_text(self, path: str) -> str | None:
        return self.files.get(path)

    def list_directory(self, path: str) -> list[str] | None:
        prefix = path.rstrip("/") + "/"
        names = [file[len(prefix) :] for file in self.files if file.startswith(prefix)]
        return [name for name in names if "/" not in name] or None

    def run_command(self, command: str) -> CommandResult:
        return self.commands.get(command, CommandResult(status=127, output=""))

    def write_cache(self, path: str, text: str) -> bool:
        self.files[path] = text
        return True

    def environment(self) -> Mapping[str, str]:
        return self.variables

    def random_integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def evaluate(self, expression: str) -> object:
        return constant_value(expression, self.world) if self.evaluator is None else self.evaluator(expression)

    def parse_expression(self, expression: str) -> None:
        parsed(expression)

"""The administrator's programs around simulated jobs: hooks, prolog and epilog, as a scenario describes them.

A program is named by the last part of its path, which is that of its knob. A program that is not described takes a
second and succeeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd

#: Time that a program takes by default, s.
USUAL_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program."""

    takes_s: float = USUAL_S
    #: Its exit statuses, one for each run; the last counts for all others.
    statuses: tuple[int, ...] = (0,)
    #: Attributes that it prints.
    prints: ClassAd | None = None
    #: Options of `qconf` that it runs at its end, one command each, with pseudo-variables such as `$host`.
    qconf: tuple[str, ...] = ()
    #: Its exit status is that of the last of these commands.
    passes_on: bool = False

    def status(self, before: int) -> int:
        """The exit status after that many earlier runs."""
        return self.statuses[min(before, len(self.statuses) - 1)]


def name_of(command: str) -> str:
    """The last part of the path of a command ``[user@]path arguments``."""
    words = command.split()
    return words[0].rpartition("/")[2] if words else ""


_USUAL: Final = Script()


class Scripts:
    """All programs, and how often each has run."""

    def __init__(self, described: Mapping[str, Script]) -> None:
        self._described = described
        self.counts: Counter[str] = Counter()

    def run(self, command: str) -> tuple[Script, int]:
        """Start a program, by its path and arguments; return its description, and the status with which it ends."""
        name = name_of(command)
        script = self._described.get(name, _USUAL)
        before, self.counts[name] = self.counts[name], self.counts[name] + 1
        return script, script.status(before)


__all__ = ["USUAL_S", "Script", "Scripts"]

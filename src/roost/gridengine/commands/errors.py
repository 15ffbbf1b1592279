"""How a command fails: a message on standard error, and Grid Engine's exit statuses."""

from __future__ import annotations

from typing import Final

#: Exit statuses of Grid Engine 8.1.9, as observed.
FAILED: Final = 1
USAGE: Final = 2
NO_INPUT: Final = 4
BAD_VALUE: Final = 7
NO_SCRIPT: Final = 14
#: the cell's limit of jobs is reached
TOO_MANY_JOBS: Final = 25


class Failure(Exception):
    """Ends a command; the text is printed as it is."""

    def __init__(self, text: str, status: int = FAILED) -> None:
        super().__init__(text)
        self.status = status


def rejected(text: str, status: int = FAILED) -> Failure:
    """A rejected submission."""
    return Failure(f"Unable to run job: {text}\nExiting.", status)

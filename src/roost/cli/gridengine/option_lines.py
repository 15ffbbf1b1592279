"""The words of options in one line: a line of a request file, or of a script behind its prefix."""

from __future__ import annotations

import shlex

from roost.gridengine.commands.errors import Failure


def words_of(line: str, place: str) -> list[str]:
    """The words of a line, quotes taken away. Raises Failure."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise Failure(f"{place}: {error}: {line.strip()}") from None

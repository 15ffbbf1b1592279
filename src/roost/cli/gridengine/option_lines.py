"""Options in one line: a line of a request file, or a line of a script after its prefix."""

from __future__ import annotations

import shlex

from roost.gridengine.commands.errors import Failure


def words_of(line: str, place: str) -> list[str]:
    """The words of a line, with quotes removed. Raises Failure."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise Failure(f"{place}: {error}: {line.strip()}") from None

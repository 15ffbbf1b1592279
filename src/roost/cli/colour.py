"""Colours for people: on a terminal, unless NO_COLOR is set or TERM says that it has none."""

from __future__ import annotations

import os
import sys
from typing import IO, Final

_CODES: Final = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
#: States of slots and jobs, and words of progress, to their colours.
MEANING: Final = {
    "Claimed": "green", "Busy": "green", "R": "green", "running": "green",
    "Suspended": "yellow", "S": "yellow", "Retiring": "yellow", "suspended": "yellow",
    "Preempting": "red", "H": "red", "Killing": "red", "Vacating": "red", "held": "red",
    "Owner": "blue", "Drained": "blue",
}  # fmt: skip


def wanted(stream: IO[str] | None = None) -> bool:
    """Whether to use colours on a stream."""
    stream = sys.stdout if stream is None else stream
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(text: str, colour: str, *, on: bool | None = None) -> str:
    """Text in a colour, if colours are used; surrounding spaces stay outside."""
    code = _CODES.get(colour)
    if code is None or not (wanted() if on is None else on) or not text.strip():
        return text
    bare = text.strip()
    return text.replace(bare, f"\x1b[{code}m{bare}\x1b[0m", 1)


def by_meaning(text: str) -> str:
    """A word of the table above, or the last of several separated by slashes, in its colour."""
    return painted(text, MEANING.get(text.strip().rpartition("/")[2], ""))

"""Detects files that are not text, and limits how many mistakes of a file are shown.

A user who names the wrong file (a program, an archive, a page of prose) gets one sentence, not one error per line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

#: Characters at the beginning that are checked.
_LOOKED_AT: Final = 4096
#: Largest share of undecodable or control characters in a text.
_UNREADABLE_MAX: Final = 0.1
#: Most mistakes of one file that are shown; the rest are counted.
SHOWN_MAX: Final = 20


def nature(text: str) -> str:
    """What a file is that is not text, with its article; "" for text. `text` is its decoded content, with errors."""
    if text.startswith("\x7fELF"):
        return "a program"
    head = text[:_LOOKED_AT]
    strange = sum(1 for c in head if c == "\ufffd" or "\udc80" <= c <= "\udcff" or (c < " " and c not in "\t\n\r\f\v"))
    return "a binary file" if "\0" in head or strange > len(head) * _UNREADABLE_MAX else ""


def shown(mistakes: Sequence[object], dropped: int = 0, most: int = SHOWN_MAX) -> list[str]:
    """The first mistakes of a file as lines, and how many there are beyond them."""
    lines = [str(each) for each in mistakes[:most]]
    more = len(mistakes) - len(lines) + dropped
    return [*lines, f"and {more} more"] if more else lines


def joined(mistakes: Iterable[object], dropped: int = 0) -> str:
    """The same as one text."""
    return "\n".join(shown(tuple(mistakes), dropped))

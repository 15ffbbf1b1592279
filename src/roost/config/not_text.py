"""Whether what was read as text is text at all, and how many of a file's mistakes a person is shown.

A user who names the wrong file (a program, an archive, a page of prose) is told so in one sentence, not once a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

#: Characters of the beginning that are looked at.
_LOOKED_AT: Final = 4096
#: Part of them that may be unreadable, or control characters, in a text.
_UNREADABLE_MAX: Final = 0.1
#: Mistakes of one file that are shown; the rest is counted.
SHOWN_MAX: Final = 20


def nature(text: str) -> str:
    """What a file is that is not text, with its article; "" for text. `text` is what was decoded of it, with errors."""
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

"""Stand-ins for values that Python lacks, the names of the text forms, and exceptions."""

from __future__ import annotations

from enum import IntEnum


class ClassAdException(Exception):
    """An error about an ad or an expression."""


class Value(IntEnum):
    """The two values that are not data. Both are true in Python, so compare with them."""

    Error = 1
    Undefined = 2


class ParserType(IntEnum):
    """The text form of the input."""

    #: Determined by the first character.
    Auto = -1
    Old = 0
    XML = 1
    JSON = 2
    New = 3
    FileAuto = 4


Parser = ParserType

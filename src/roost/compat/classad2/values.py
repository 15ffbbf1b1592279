"""What the bindings have for values that Python lacks, the names of the text forms, and errors."""

from __future__ import annotations

from enum import IntEnum


class ClassAdException(Exception):
    """Something is wrong with an ad or an expression."""


class Value(IntEnum):
    """The two values that are not data. Both are true in Python: compare with them."""

    Error = 1
    Undefined = 2


class ParserType(IntEnum):
    """The text form that is read."""

    #: By the first character.
    Auto = -1
    Old = 0
    XML = 1
    JSON = 2
    New = 3
    FileAuto = 4


Parser = ParserType

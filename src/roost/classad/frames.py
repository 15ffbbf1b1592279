"""What the parser has open: an operator that waits for its right operand, or a bracket for its partner."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, TypeAlias


class Open(IntEnum):
    """What a frame waits for."""

    NOTHING = -1  # lies below all others
    INFIX = 0
    PREFIX = 1
    ELVIS = 2
    OTHERWISE = 3  # the last operand of a conditional
    THEN = 4  # the middle operand of a conditional: a bracket that ":" closes
    PAREN = 5
    SUBSCRIPT = 6
    CALL = 7
    LIST = 8
    AD = 9


CLOSER: Final = {
    Open.THEN: ":",
    Open.PAREN: ")",
    Open.SUBSCRIPT: "]",
    Open.CALL: ")",
    Open.LIST: "}",
    Open.AD: "]",
}
OPENED_BY: Final = {
    Open.THEN: "?",
    Open.PAREN: "(",
    Open.SUBSCRIPT: "[",
    Open.CALL: "(",
    Open.LIST: "{",
    Open.AD: "[",
}

#: Something that is still open: its binding strength (0 for the conditional, -1 for brackets); what it waits for;
#: offset of the operator or the opening bracket; the operator, or the name of a call or of an ad's attribute; what
#: was read since the bracket.
Frame: TypeAlias = tuple[int, Open, int, str, list[Any]]

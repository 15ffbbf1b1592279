"""The lines that `qconf` prints about a text that it refuses.

`qconf` itself checks the form of a text, and prints ``error:``, the file, and that it could not be read; refusals by
the master do not have that. It stops at the first mistake.
"""

from __future__ import annotations

import re
from typing import Final

from roost.base.diagnostics import Diagnostic
from roost.gridengine.problems import ProblemCode, Refused

#: Messages about the form of a value.
_VALUE: Final = re.compile(
    r"error parsing |\".*\" is not an u_long32 value|parameter \"\w+\" must be a positive|unknown specifier"
)
#: Messages about the form of a line.
_LINE: Final = re.compile(
    r"Value for |All list elements|'=' has to|The last character|There is an extra comma|values in the attribute|\" \""
)
_FORM: Final = (ProblemCode.UNKNOWN_ATTRIBUTE, ProblemCode.REPEATED_ATTRIBUTE)
#: Places of the line number in messages.
_PLACES: Final = (
    ("values in the attribute value list should", "values in the attribute value list in line {} should"),
    ("each value in the attribute value list should", "each value in the attribute value list in line {} should"),
    ("the line should", "line {} should"),
    ("between the attribute name and the value", "between the attribute name and the value in line {}"),
)


def placed(problem: Diagnostic) -> str:
    """The message with its line number, if Grid Engine prints it."""
    for words, with_line in _PLACES:
        if words in problem.message:
            return problem.message.replace(words, with_line.format(problem.span.line))
    return problem.message


def is_of_value(message: str) -> bool:
    """Whether a message is about an invalid value of a type."""
    return bool(_VALUE.match(message))


def quoted_in(message: str) -> str:
    """The first text in double quotes of a message; "" for none."""
    found = re.search(r'"([^"]*)"', message)
    return found[1] if found else ""


def unread(refused: Refused, file: str, *, queue: bool = False, prefix: str = "error: ") -> list[str]:
    """The message of `qconf` about a text, without its last line; the master's messages have no last line."""
    problem = refused.problems[0]
    message = placed(problem)
    if problem.code is ProblemCode.MISSING_ATTRIBUTE:
        return [f"{prefix}{message}"]
    if not (is_of_value(message) or _LINE.match(message) or problem.code in _FORM):
        return []
    reading = "reading conf file: " if "unknown specifier" in message else ""
    lines = [f"{prefix}{reading}{message}"]
    if queue and reading:
        lines.append(f'{prefix}error parsing queue type from string "{quoted_in(message)}"')
    if queue and is_of_value(message):
        lines.append(f'{prefix}Error during parsing of attribute value "{quoted_in(message)}"')
    return [*lines, f'{prefix}error reading file: "{file}"']

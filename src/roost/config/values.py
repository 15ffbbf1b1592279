"""Reading expanded text as typed values.

Plain numbers and keywords are read here; any other number or boolean is a ClassAd expression of constants, which the
host evaluates. A reader returns the value, or a `ValueProblem` that describes the error; it never raises.
"""

from __future__ import annotations

import re

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.config.diagnostics import Code
from roost.config.host import ExpressionProblem, Host
from roost.config.knob import Knob, KnobType

_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\Z")
_SEPARATOR = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An expanded value about to be read."""

    name: str
    text: str
    span: Span
    knob: Knob | None
    host: Host


@dataclass(frozen=True, slots=True)
class ValueProblem:
    """Why a text is not a value of the wanted type."""

    code: Code
    message: str


def _evaluated(reading: Reading, code: Code) -> object:
    try:
        return reading.host.evaluate(reading.text)
    except ExpressionProblem as problem:
        return ValueProblem(code, f"{_short(reading.text)} cannot be evaluated: {problem}")


def as_integer(reading: Reading) -> int | ValueProblem:
    """A whole number in range; a real without a fraction counts."""
    value: object = int(reading.text) if _INTEGER.match(reading.text) else _evaluated(reading, Code.BAD_INTEGER)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, ValueProblem):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        return ValueProblem(Code.BAD_INTEGER, f"{_short(reading.text)} is not a whole number")
    return _in_range(reading, value) or value


def as_real(reading: Reading) -> float | ValueProblem:
    """A number in range."""
    value: object = float(reading.text) if _REAL.match(reading.text) else _evaluated(reading, Code.BAD_REAL)
    if isinstance(value, ValueProblem):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ValueProblem(Code.BAD_REAL, f"{_short(reading.text)} is not a number")
    return _in_range(reading, value) or float(value)


def as_boolean(reading: Reading) -> bool | ValueProblem:
    """A truth value; a number is true unless it is 0."""
    word = reading.text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    value = _evaluated(reading, Code.BAD_BOOLEAN)
    if isinstance(value, ValueProblem):
        return value
    if isinstance(value, bool | int | float):
        return bool(value)
    return ValueProblem(Code.BAD_BOOLEAN, f"{_short(reading.text)} is neither true nor false")


def as_list(reading: Reading) -> tuple[str, ...]:
    """The members of a list."""
    return tuple(member for member in _SEPARATOR.split(reading.text) if member)


def member_problem(reading: Reading) -> ValueProblem | None:
    """The first member that a list may not have."""
    wrong = reading.knob.wrong_member(as_list(reading)) if reading.knob else None
    if reading.knob is None or wrong is None:
        return None
    return ValueProblem(Code.BAD_MEMBER, f"{_short(wrong)} cannot be a member: the list has {reading.knob.members}")


def as_expression(reading: Reading) -> str | ValueProblem:
    """The text, if it is a well-formed expression, and in range if it is a number."""
    try:
        reading.host.parse_expression(reading.text)
    except ExpressionProblem as problem:
        at = f" (at character {problem.column})" if problem.column else ""
        return ValueProblem(Code.BAD_EXPRESSION, f"{_short(reading.text)} is not an expression: {problem}{at}")
    is_number = _REAL.match(reading.text) is not None
    number = int(reading.text) if _INTEGER.match(reading.text) else float(reading.text) if is_number else None
    return (None if number is None else _in_range(reading, number)) or reading.text


def as_word(reading: Reading) -> str | ValueProblem:
    """The text, if it is one of the words the knob allows."""
    words = reading.knob.words if reading.knob else ()
    if words and reading.text.lower() not in words:
        return ValueProblem(Code.BAD_CHOICE, f"{_short(reading.text)} is not one of {', '.join(words)}")
    return reading.text


def problem_of(reading: Reading) -> ValueProblem | None:
    """What is wrong with a value, read as the type of its knob; None when nothing is."""
    result: object = None
    match reading.knob.type if reading.knob else KnobType.STRING:
        case KnobType.INTEGER:
            result = as_integer(reading)
        case KnobType.REAL:
            result = as_real(reading)
        case KnobType.BOOLEAN:
            result = as_boolean(reading)
        case KnobType.EXPRESSION:
            result = as_expression(reading)
        case KnobType.STRING:
            result = as_word(reading)
        case KnobType.LIST:
            result = member_problem(reading)
        case KnobType.PATH | KnobType.MACRO:
            return None
    return result if isinstance(result, ValueProblem) else None


def _in_range(reading: Reading, value: float) -> ValueProblem | None:
    knob = reading.knob
    if knob is None:
        return None
    if (knob.low is None or value >= knob.low) and (knob.high is None or value <= knob.high):
        return None
    return ValueProblem(Code.OUT_OF_RANGE, f"{value} is outside the range {knob.range_text()}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")

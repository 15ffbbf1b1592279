"""ClassAd expressions in configuration values: evaluating constants and checking syntax.

The bridge to `roost.classad`. Expressions are read in the old spelling (in strings only ``\\"`` is an
escape), which is that of configuration. They are evaluated without any ad: an attribute reference is
UNDEFINED.
"""

from __future__ import annotations

from roost.base.records import dataclass
from roost.classad import ERROR, UNDEFINED, Expr, ParseError, Syntax, Value, World, evaluate, parse_expression
from roost.classad import unparse_value as _unparse_value


class ExpressionProblem(Exception):
    """A ClassAd expression does not parse, or evaluates to ERROR; ``column`` (from 1) is 0 when unknown."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, slots=True)
class Other:
    """A value that is neither a number nor a boolean nor a string; str() gives its ClassAd text."""

    value: Value

    def __str__(self) -> str:
        return _unparse_value(self.value)


def parsed(text: str) -> Expr:
    """The expression that a text is. Raises `ExpressionProblem`."""
    try:
        return parse_expression(text, Syntax.OLD)
    except ParseError as problem:
        hint = f" ({problem.hint})" if problem.hint else ""
        raise ExpressionProblem(problem.message + hint, problem.start + 1) from problem


def constant_value(text: str, world: World) -> object:
    """The value of an expression without any ad, as `Host.evaluate` wants it."""
    value = evaluate(parsed(text), world=world)
    if value is UNDEFINED:
        return None
    if value is ERROR:
        raise ExpressionProblem("it evaluates to ERROR")
    return value if isinstance(value, bool | int | float | str) else Other(value)

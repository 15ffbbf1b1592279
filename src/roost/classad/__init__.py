"""The ClassAd language: expressions with three-valued logic, ads, matching, and their text forms.

    >>> from roost.classad import ClassAd, parse_expression
    >>> machine = ClassAd({"Memory": 2048, "KeyboardIdle": 1200})
    >>> machine.set("START", "KeyboardIdle > 15 * 60 && TARGET.RequestMemory <= Memory")
    >>> machine.eval("START", ClassAd({"RequestMemory": 1024}))
    True

The room is pure and imports nothing else of Roost. It needs only the standard library, and NumPy for
`roost.classad.vector`, which is imported only when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.base.late import late
from roost.classad.ad import ClassAd
from roost.classad.unparse import unparse

if TYPE_CHECKING:
    from roost.classad.errors import ClassAdError, ParseError
    from roost.classad.evaluation import evaluate
    from roost.classad.expr import Expr, parse_expression
    from roost.classad.lexer import Syntax
    from roost.classad.tracing import Trace, Traced, trace
    from roost.classad.unparse import unparse_value
    from roost.classad.values import ERROR, UNDEFINED, AbsTime, ListValue, RelTime, Value, type_name
    from roost.classad.world import WORLD, FixedWorld, World

__getattr__ = late(
    __name__,
    {
        "errors": ("ClassAdError", "ParseError"),
        "evaluation": ("evaluate",),
        "expr": ("Expr", "parse_expression"),
        "lexer": ("Syntax",),
        "tracing": ("Trace", "Traced", "trace"),
        "unparse": ("unparse_value",),
        "values": ("ERROR", "UNDEFINED", "AbsTime", "ListValue", "RelTime", "Value", "type_name"),
        "world": ("WORLD", "FixedWorld", "World"),
    },
)


__all__ = [
    "ERROR",
    "UNDEFINED",
    "WORLD",
    "AbsTime",
    "ClassAd",
    "ClassAdError",
    "Expr",
    "FixedWorld",
    "ListValue",
    "ParseError",
    "RelTime",
    "Syntax",
    "Trace",
    "Traced",
    "Value",
    "World",
    "evaluate",
    "parse_expression",
    "trace",
    "type_name",
    "unparse",
    "unparse_value",
]

"""The results of built-in functions, by the types of their arguments.

Only what rules use is distinguished: functions with the same kind of result share a row, and an unlisted function can
return anything. A function that does not exist gives ERROR, like a call with too many or too few arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.classad import functions
from roost.classad.partial import KIND_TESTS
from roost.classad.syntax import Node
from roost.policy.lint.abstract import ANYTHING, ERROR, INF, INSTANT, PLAIN, Abstract, Types, number

_CONDITIONS: Final = frozenset(
    (
        "regexp",
        "regexpmember",
        "stringlistmember",
        "stringlistimember",
        "stringlistsintersect",
        "bool",
        "stringlistsubsetmatch",
        "stringlistisubsetmatch",
        "stringlist_regexpmember",
        "member",
        "identicalmember",
        "anycompare",
        "allcompare",
        "versionle",
        "versionlt",
        "versionge",
        "versiongt",
        "versioneq",
        "version_in_range",
    )
)
_STRINGS: Final = frozenset(
    (
        "strcat",
        "join",
        "toupper",
        "tolower",
        "substr",
        "string",
        "replace",
        "replaceall",
        "regexps",
        "unparse",
        "formattime",
        "interval",
        "usermap",
        "userhome",
        "envv1tov2",
        "mergeenvironment",
        "listtoargs",
    )
)
_COUNTS: Final = frozenset(("size", "stringlistsize", "countmatches", "stringlistsum", "stringlistavg"))
_NUMBERS: Final = frozenset(("pow", "sum", "avg", "stringlistmin", "stringlistmax", "strcmp", "stricmp", "versioncmp"))
#: Functions whose result has the unit of their first argument.
_LIKE_FIRST: Final = frozenset(("int", "real", "floor", "ceil", "ceiling", "round", "quantize"))

_MAYBE: Final = Types.UNDEFINED | Types.ERROR


def call_result(name: str, args: Sequence[Node], values: Sequence[Abstract]) -> Abstract:
    """The possible results of a call of the function with a folded name."""
    function = functions.lookup(name)
    if function is None or not function.accepts(len(args)):
        return ERROR
    if name == "time":
        return number(1.0, INF, unit=INSTANT, integer=True)
    if name == "random":
        return number(0.0, INF, unit=PLAIN).with_(Types.ERROR if args else Types.NOTHING)
    if name in KIND_TESTS:
        return _predicate(name, values)
    maybe = _passed_on(values)
    if name == "member" and len(values) == 2 and not values[1].types & (Types.LIST | Types.UNDEFINED):
        return ERROR
    if name in _CONDITIONS:
        return Abstract(Types.BOOLEAN | maybe | Types.ERROR)
    if name in _STRINGS:
        return Abstract(Types.STRING | maybe)
    if name in _COUNTS:
        return number(0.0, INF, unit=PLAIN).with_(_MAYBE)
    if name in _NUMBERS:
        return Abstract(Types.NUMBER | _MAYBE)
    if name in _LIKE_FIRST:
        return _like_first(name, values)
    if name in ("min", "max"):
        return Abstract(Types.NUMBER | _MAYBE)
    return ANYTHING


def _passed_on(values: Sequence[Abstract]) -> int:
    types = Types.NOTHING
    for value in values:
        types |= value.types & _MAYBE
    return types


def _predicate(name: str, values: Sequence[Abstract]) -> Abstract:
    asked = {
        "isundefined": Types.UNDEFINED,
        "iserror": Types.ERROR,
        "isstring": Types.STRING,
        "isinteger": Types.INTEGER,
        "isreal": Types.REAL,
        "isboolean": Types.BOOLEAN,
        "islist": Types.LIST,
        "isclassad": Types.AD,
    }.get(name, Types.TIME)
    value = values[0]
    return Abstract(
        (Types.TRUE if value.types & asked else Types.NOTHING)
        | (Types.FALSE if value.types & ~asked else Types.NOTHING)
    )


def _like_first(name: str, values: Sequence[Abstract]) -> Abstract:
    value = values[0]
    # Some of these turn UNDEFINED into ERROR.
    types = value.types & _MAYBE | (Types.ERROR if value.can_be_undefined else Types.NOTHING)
    if value.types & (Types.COUNTABLE | Types.STRING | Types.TIME):
        types |= Types.NUMBER if name in ("real", "quantize") else Types.INTEGER
    if value.types & (Types.STRING | Types.LIST | Types.AD):
        types |= Types.ERROR
    low, high = value.interval
    if value.types & (Types.STRING | Types.TIME) or low > high:
        low, high = -INF, INF
    slack = 0.0 if name == "real" else 1.0
    return Abstract(types, low - slack, INF if name == "quantize" else high + slack, value.unit)

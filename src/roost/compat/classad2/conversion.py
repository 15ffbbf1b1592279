"""Converts values of the language to Python objects and back.

| of the language  | in Python                                                                   |
|------------------|-----------------------------------------------------------------------------|
| undefined, error | `Value.Undefined`, `Value.Error`; None goes in as undefined                 |
| absolute time    | `datetime` in UTC; one without a zone goes in as local time                 |
| relative time    | `float`, s                                                                  |
| list             | `list`, whose items that are not constants are `ExprTree`                    |
| ad               | `ClassAd`, a copy                                                           |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.classad import ERROR, UNDEFINED, AbsTime, Expr, ListValue, RelTime, evaluate
from roost.classad import ClassAd as Ad
from roost.classad.ad import Cell
from roost.classad.syntax import AdNode, Call, ListNode, Literal, Node
from roost.classad.unparse import item_node
from roost.compat.classad2.values import ClassAdException, Value

if TYPE_CHECKING:
    from roost.compat.classad2.ad import ClassAd
    from roost.compat.classad2.expr import ExprTree

CONVERT_FAILED: Final = "Unable to convert Python object to a ClassAd expression."


class Makes(Protocol):
    """The classes that wrap values, according to the version of the bindings."""

    @classmethod
    def _of_ad(cls, ad: Ad) -> ClassAd: ...

    @classmethod
    def _of_expr(cls, expr: Expr) -> ExprTree: ...


def to_python(value: object, makes: type[Makes]) -> Any:
    """A value as a Python object."""
    match value:
        case bool() | int() | float() | str():
            return value
        case Ad():
            return makes._of_ad(value.copy())
        case ListValue(items=items):
            return [cell_to_python(item, makes) for item in items]
        case AbsTime(secs=secs):
            return datetime.fromtimestamp(secs, UTC)
        case RelTime(secs=length):
            return length
    return Value.Undefined if value is UNDEFINED else Value.Error


def cell_to_python(cell: Cell, makes: type[Makes]) -> Any:
    """The content of an ad or list as a Python object: constants, lists and ads as such, anything else as
    `ExprTree`."""
    if isinstance(cell, Expr):
        return node_to_python(cell.tree, makes)
    return to_python(cell, makes)


def node_to_python(tree: Node, makes: type[Makes]) -> Any:
    """A syntax tree as a Python object."""
    match tree:
        case Literal(value=value) if not isinstance(value, RelTime):
            return to_python(value, makes)
        case ListNode(items=items):
            return [node_to_python(item, makes) for item in items]
        case AdNode():
            return to_python(evaluate(Expr(tree)), makes)
        case Call(name=name, args=(Literal(),)) if name.lower() in ("abstime", "real"):
            return to_python(evaluate(Expr(tree)), makes)
    return makes._of_expr(Expr(tree))


def to_cell(value: object) -> Any:
    """A Python object as the content of an ad. Raises ClassAdException, OverflowError."""
    from roost.compat.classad2.ad import ClassAd
    from roost.compat.classad2.expr import ExprTree

    match value:
        case Value():
            return UNDEFINED if value is Value.Undefined else ERROR
        case ClassAd():
            return value._ad.copy()
        case ExprTree():
            return value._expr
        case bytes():
            return value.decode("utf-8", "surrogateescape")
        case str() | bool() | int() | float() | None:
            return _plain(value)
        case datetime():
            return AbsTime(int(value.timestamp()), 0)
        case Mapping():
            return ad_of(value)
        case Iterable():
            return Expr(ListNode(tuple([item_node(_item(each)) for each in value])))
    raise ClassAdException(CONVERT_FAILED)


def _plain(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} does not fit the 64 bits of a ClassAd integer")
    if isinstance(value, str) and "\0" in value:
        raise ValueError("embedded null character")
    return value


def _item(value: object) -> Any:
    return Ad({"item": to_cell(value)}).cells["item"]


def ad_of(attributes: Mapping[Any, Any]) -> Ad:
    """An ad from a mapping. Raises ClassAdException, TypeError."""
    ad = Ad()
    for name, value in attributes.items():
        put(ad, name, value)
    return ad


def put(ad: Ad, name: object, value: object) -> None:
    """Set an attribute. Raises ClassAdException, TypeError."""
    if not isinstance(name, str):
        raise TypeError("ClassAd keys are strings")
    cell = to_cell(value)
    if not name:
        raise ClassAdException("Insert(key, v) failed")
    try:
        ad[name] = cell
    except TypeError:
        raise ClassAdException(CONVERT_FAILED) from None

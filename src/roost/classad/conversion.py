"""Converts Python data to cells of an ad."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from roost.classad.expr import Expr
from roost.classad.limits import AD_NESTING_MAX
from roost.classad.syntax import ListNode, Literal
from roost.classad.values import INT_MAX, INT_MIN, UNDEFINED, AbsTime, Exceptional, ListValue, RelTime

if TYPE_CHECKING:
    from roost.classad.ad import Cell, ClassAd


def to_cell(value: Any, owner: ClassAd) -> Cell:
    """The cell of `owner` for `value`. Raises TypeError, or ValueError for data that the language cannot represent.

    Subclasses of str, int and float (a StrEnum, NumPy's numbers) become plain ones. An ad that is nested elsewhere
    already, or that contains `owner`, is copied.
    """
    kind = value.__class__
    if kind is bool or kind is float or (kind is str and "\0" not in value):
        return value  # type: ignore[no-any-return]
    if kind is int and INT_MIN <= value <= INT_MAX:
        return value  # type: ignore[no-any-return]
    return _other_cell(value, owner)


def _other_cell(value: Any, owner: ClassAd) -> Cell:
    from roost.classad.ad import ClassAd, cell_of

    match value:
        case Exceptional() | AbsTime() | ListValue():
            return value
        case RelTime():
            return Expr(Literal(value))
        case Expr():
            return cell_of(value.tree, owner, expression=value)
        case ClassAd():
            return _nested(value, owner)
        case None:
            return UNDEFINED
        case Mapping():
            return _built(ClassAd, value)
        case list() | tuple():
            return _built(_list, value, owner)
        case _:
            return _scalar(value)


def _scalar(value: Any) -> Cell:
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    match value:
        case bool():
            return value
        case str():
            if "\0" in value:
                raise ValueError("a ClassAd string cannot hold a NUL character")
            return str.__str__(value)
        case float():
            return float(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"a {type(value).__name__} cannot be the value of a ClassAd attribute") from None
    if not INT_MIN <= number <= INT_MAX:
        raise ValueError(f"{number} does not fit the 64 bits of a ClassAd integer")
    return number


def _built(build: Any, *arguments: Any) -> Cell:
    try:
        cell: Cell = build(*arguments)
    except RecursionError:
        raise ValueError("the data are nested too deep, or hold themselves") from None
    return cell


def _list(items: list[Any] | tuple[Any, ...], owner: ClassAd) -> Expr:
    from roost.classad.unparse import item_node

    return Expr(ListNode(tuple([item_node(to_cell(item, owner)) for item in items])))


def _nested(value: ClassAd, owner: ClassAd) -> ClassAd:
    around = enclosing(owner)
    if len(around) + height_of(value) > AD_NESTING_MAX:
        raise ValueError(f"ads cannot be nested deeper than {AD_NESTING_MAX} levels")
    if any(link is ad for nested in nested_in(value) for link in chain(nested) for ad in around):
        raise ValueError("an ad cannot hold one that is chained to it")
    return value.copy() if value.scope is not None or any(value is ad for ad in around) else value


def enclosing(ad: ClassAd) -> list[ClassAd]:
    """The ad and those it is nested in, outward."""
    found = [ad]
    while (scope := found[-1].scope) is not None:
        found.append(scope)
    return found


def chain(ad: ClassAd) -> list[ClassAd]:
    """The ads that `ad` is chained to, nearest first."""
    found = []
    link = ad.chained
    while link is not None:
        found.append(link)
        link = link.chained
    return found


def height_of(ad: ClassAd) -> int:
    """Levels of ads in `ad`: 1 if it holds none."""
    from roost.classad.ad import ClassAd

    height, level = 0, [ad]
    while level:
        height += 1
        level = [cell for nested in level for cell in nested.cells.values() if isinstance(cell, ClassAd)]
    return height


def nested_in(ad: ClassAd) -> list[ClassAd]:
    """The ad and all that are nested in it."""
    from roost.classad.ad import ClassAd

    found = [ad]
    for nested in found:
        found += [cell for cell in nested.cells.values() if isinstance(cell, ClassAd) and cell.scope is nested]
    return found

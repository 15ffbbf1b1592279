"""Detects expressions that depend on what the grid of situations does not vary, so that they cannot be called never
TRUE.

An expression is *opaque* if it depends on the date, calls a function that the grid does not support, compares
attributes with each other, or does arithmetic in which the grid's values need not contain the limits. Time since a
change of the slot or the job is supported in one form: ``time() - EnteredCurrentActivity`` against a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Final

from roost.classad.syntax import Binary, Call, Literal, Node, Op, children, strip
from roost.classad.values import fold
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.abstract import Types
from roost.policy.lint.grid import DRIVEN, ORDER, SENSORS, is_axis, names_inside, side_of
from roost.policy.lint.operators import SWAPPED
from roost.policy.lint.pool import Expression
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import is_boolean, is_reference_to, is_undefined, reference, references
from roost.policy.model import AdKind

#: Functions that the grid supports.
_PLAIN_CALLS: Final = frozenset(("time", "isundefined", "ifthenelse", "int", "real", "floor", "ceil", "iserror"))


def is_opaque(expression: Expression, computed: frozenset[str]) -> bool:
    """Whether an expression depends on something that the grid does not vary; `computed` are the attributes that the
    configuration computes from others, for which the grid has no limits."""
    for node, _ in expression.nodes:
        if isinstance(node, Call) and fold(node.name) not in _PLAIN_CALLS:
            return True
        if isinstance(node, Binary) and node.op in ORDER:
            both = [[fold(name) for _, name in names_inside(side)] for side in (node.left, node.right)]
            if all(both):
                return True
            for other, names in ((node.right, both[0]), (node.left, both[1])):
                if not computed.isdisjoint(names) and not (is_boolean(other) or is_undefined(other)):
                    return True
            if node.op in (Op.IS, Op.ISNT) and any(_is_real(side) for side in (node.left, node.right)):
                # The grid has integers where both are possible.
                return True
            if len({*both[0], *both[1]} - DRIVEN) > 1:
                return True
            if _asks_the_time(node, {*both[0], *both[1]}) and _limit_of_time(expression, node) is None:
                return True
            if {"keyboardidle", "consoleidle"} <= {*both[0], *both[1]}:
                return True
            for side, names in zip((node.left, node.right), both, strict=True):
                if {*names} - DRIVEN and not is_axis(expression, side):
                    return True
    if len(_directions(expression)) > 1:
        return True
    for _, where, name in references(expression):
        row = row_of(name, side_of(expression, where, name) or AdKind.NONE)
        if row is not None and row.varies and fold(name) not in SENSORS | DRIVEN and name.upper() not in KNOB_POLICIES:
            return True
    return False


#: Instants set by a moment: time() minus one of these is a duration that is varied.
SINCE: Final = ("enteredcurrentactivity", "enteredcurrentstate", "jobstart")
_NOW_NAMES: Final = frozenset(("currenttime", "mycurrenttime"))


def limits_of_time(expression: Expression) -> Iterator[float]:
    """The constants with which times since a change of the slot or the job are compared."""
    for node, _ in expression.nodes:
        if isinstance(node, Binary) and node.op in ORDER:
            limit = _limit_of_time(expression, node)
            if limit is not None:
                yield limit


def _asks_the_time(node: Node, names: set[str]) -> bool:
    """Whether a comparison depends on the current time, which the grid does not vary."""
    work, asks = [node], bool(names & {*_NOW_NAMES, *SINCE})
    while work and not asks:
        one = work.pop()
        asks = isinstance(one, Call) and fold(one.name) == "time"
        work.extend(children(one))
    return asks


def _limit_of_time(expression: Expression, node: Binary) -> float | None:
    """The constant with which a time since a change is compared; None if the node is not such a comparison."""
    for side, other in ((strip(node.left), node.right), (strip(node.right), node.left)):
        limit = expression.alone.of(other)
        number = limit.single if limit.constant and limit.only(Types.NUMBER) else None
        if number is None or not isfinite(number):
            continue
        if not isinstance(side, Binary) or side.op is not Op.SUB or not _is_now(side.left):
            continue
        since = reference(side.right)
        if since is not None and fold(since[1]) in SINCE:
            return number
    return None


def _directions(expression: Expression) -> set[Op]:
    """The directions in which CpuBusyTime is compared; the grid has only the values 0 and very long."""
    found: set[Op] = set()
    for node, _ in expression.nodes:
        if isinstance(node, Binary) and node.op in ORDER:
            for side, op in ((node.left, node.op), (node.right, SWAPPED.get(node.op, Op.EQ))):
                if is_reference_to(side, "CpuBusyTime"):
                    found.add({Op.GE: Op.GT, Op.LE: Op.LT}.get(op, op))
                elif any(fold(name) == "cpubusytime" for _, name in names_inside(side)):
                    found |= {Op.LT, Op.GT}
    return found | {Op.LT, Op.GT} if found - {Op.LT, Op.GT} else found


def _is_real(node: Node) -> bool:
    node = strip(node)
    return isinstance(node, Literal) and isinstance(node.value, float)


def _is_now(node: Node) -> bool:
    node = strip(node)
    if isinstance(node, Call):
        return fold(node.name) == "time" and not node.args
    found = reference(node)
    return found is not None and fold(found[1]) in _NOW_NAMES

"""Calls of built-in functions on vectors.

Choice (`ifThenElse`) and the type predicates work on columns. Any other function of values is called once for each
distinct combination of its arguments (`distinct`). A list written in the call of a function that evaluates its items
(`sum`, `member`, …) counts as separate arguments. Functions on unevaluated expressions, and random numbers, are left to
the scalar evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from roost.classad import functions
from roost.classad.allowance import IN_FORCE
from roost.classad.functions.registry import Builtin
from roost.classad.lookup import subscript_value
from roost.classad.state import EvaluationStopped, State
from roost.classad.syntax import Call, ListNode, Literal, Name, Select, strip
from roost.classad.values import ERROR, UNDEFINED, ListValue, RelTime, Value, fold
from roost.classad.vector.distinct import apply_distinct
from roost.classad.vector.kinds import BOOL, DEFER, DEFERRED, ERR, INT, OTHER, REAL, STRING, UNDEF, is_plain, kind_of
from roost.classad.vector.logic import by_kind, choose
from roost.classad.vector.run import Code, Run, VectorPart
from roost.classad.vector.vectors import Operand

if TYPE_CHECKING:
    from roost.classad.syntax import Node

#: Predicates that a kind answers.
_PREDICATES: Final = {
    "isundefined": UNDEF,
    "iserror": ERR,
    "isboolean": BOOL,
    "isinteger": INT,
    "isreal": REAL,
    "isstring": STRING,
}
#: Functions that only evaluate the items of a list argument.
_OVER_ITEMS: Final = frozenset(
    ("sum", "avg", "min", "max", "member", "identicalmember", "anycompare", "allcompare", "quantize")
)
#: Functions over a list of ads, and their value if the list is UNDEFINED.
_WITHOUT_LIST: Final[dict[str, Value]] = {"countmatches": 0, "evalineachcontext": UNDEFINED}
#: Functions whose result differs from call to call.
_NEVER_SAME: Final = frozenset(("random",))


def call(node: Call, part: Callable[[Node], VectorPart], remembered: Callable[..., VectorPart]) -> VectorPart:
    """The part of a call; `part` compiles an argument, `remembered` joins code with the parts it is made of."""
    name = fold(node.name)
    function = functions.lookup(name)
    if function is None or not function.accepts(len(node.args)):
        return remembered(lambda run: ERROR)
    if name == "ifthenelse":
        test, then, last = (part(argument) for argument in node.args)
        return remembered(
            lambda run: choose(test.code(run), lambda: then.code(run), lambda: last.code(run)), test, then, last
        )
    if name == "debug":
        return part(node.args[0])
    if name in _WITHOUT_LIST:
        return _in_contexts(name, node, part, remembered)
    if function.eager is None or name in _NEVER_SAME:
        return remembered(lambda run: DEFERRED)
    if name in _PREDICATES:
        argument, kind = part(node.args[0]), _PREDICATES[name]
        return remembered(lambda run: _is_kind(argument.code(run), kind), argument)
    return _eager(name, function, node, part, remembered)


def _in_contexts(
    name: str, node: Call, part: Callable[[Node], VectorPart], remembered: Callable[..., VectorPart]
) -> VectorPart:
    """countMatches and similar functions: only rows that have no list are decided here (machines without GPUs,
    mostly)."""
    expression, listed = node.args[0], part(node.args[1])
    scope = None
    if isinstance(expression, Select):
        # The scalar evaluator looks up the base first, and that may fail.
        base = strip(expression.base)
        scope = fold(base.name) if isinstance(base, Name) and not base.absolute else ""
        if scope not in ("my", "target"):
            return remembered(lambda run: DEFERRED)
    answers: dict[int, Operand] = {UNDEF: _WITHOUT_LIST[name], OTHER: DEFERRED, DEFER: DEFERRED}

    def code(run: Run) -> Operand:
        if scope is not None and run.shadowed(scope):
            return DEFERRED
        return by_kind(listed.code(run), answers, ERROR)

    return remembered(code, VectorPart(lambda run: ERROR))


def _is_kind(x: Operand, kind: int) -> Operand:
    return by_kind(x, {kind: True, DEFER: DEFERRED}, False)


def _eager(
    name: str, function: Builtin, node: Call, part: Callable[[Node], VectorPart], remembered: Callable[..., VectorPart]
) -> VectorPart:
    #: For each argument its code, or the codes of the items of a list.
    shape: list[Code | list[Code]] = []
    for argument in node.args:
        inner = strip(argument)
        if isinstance(inner, ListNode) and name in _OVER_ITEMS and plain_items(inner.items) is None:
            shape.append([part(item).code for item in inner.items])
        else:
            shape.append(part(argument).code)

    def code(run: Run) -> Operand:
        operands: list[Operand] = []
        for one in shape:
            if isinstance(one, list):
                operands.extend([each(run) for each in one])
            else:
                operands.append(one(run))
        if not function.pure:
            run.trace.volatile = True
        return _distinct_call(run, function, _packing(shape), operands)

    # Never a constant: the call needs the state of a run.
    return remembered(code, VectorPart(lambda run: ERROR))


def plain_items(items: tuple[Node, ...]) -> tuple[Value, ...] | None:
    """The values of the items of a list of literals; None if one is not a literal, or reads as another type."""
    values = [item.value for item in items if isinstance(item, Literal) and not isinstance(item.value, RelTime)]
    return tuple(values) if len(values) == len(items) else None


def _packing(shape: Sequence[object]) -> list[int | None]:
    """For each argument the number of items of the list it is, None for a single value."""
    return [len(one) if isinstance(one, list) else None for one in shape]


def _distinct_call(run: Run, function: Builtin, packing: list[int | None], operands: list[Operand]) -> Operand:
    state, eager = run.context, function.eager
    assert eager is not None
    allowance = IN_FORCE.get()
    most = 0

    def once(*values: Value) -> Operand:
        nonlocal most
        arguments: list[Value] = []
        at = 0
        for count in packing:
            if count is None:
                arguments.append(values[at])
                at += 1
            else:
                arguments.append(ListValue(values[at : at + count]))
                at += count
        before = state.fuel
        granted = before if allowance is None else allowance.for_one()
        if not granted:
            return DEFERRED
        state.fuel = granted
        try:
            value: Value = eager(state, *arguments)
        except EvaluationStopped:
            return DEFERRED
        finally:
            if allowance is not None:
                allowance.charge(granted, state.fuel)
            most = max(most, granted - state.fuel)
            state.fuel = before
        return value if kind_of(value) != DEFER else DEFERRED

    result = apply_distinct(once, operands, run.rows.size)
    run.trace.steps += most
    return result


def subscript(base: Code, index: Code) -> Code:
    """``base[index]`` where the base is a list of plain values."""

    def item(found: Value, at: Value) -> Operand:
        if not is_plain(found):
            return DEFERRED
        return subscript_value(State(), found, at)

    return lambda run: apply_distinct(item, [base(run), index(run)], run.rows.size if run is not None else 1)

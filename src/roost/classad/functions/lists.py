"""Functions on lists: membership, comparison of all items, sums and bounds.

Items are evaluated in the current ad, whichever ad the list was written in, as the reference library does it.
An operator of the reference library makes the numbers it compares alike *in place*; what a loop keeps from
one comparison to the next is therefore the converted number (`_alike`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.classad import ops
from roost.classad.functions.registry import FUNCTIONS, builtin
from roost.classad.functions.strings import is_ad
from roost.classad.values import ERROR, UNDEFINED, ListValue, Value, fold

if TYPE_CHECKING:
    from roost.classad.compiler import Compiler
    from roost.classad.state import Code, State
    from roost.classad.syntax import Call

_NUMERIC: Final = frozenset((bool, int, float))


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    """Two numbers of the same type, reals if either is one; anything else as it is."""
    if a.__class__ not in _NUMERIC or b.__class__ not in _NUMERIC:
        return a, b
    if a.__class__ is float or b.__class__ is float:
        return float(a), float(b)  # type: ignore[arg-type]
    return int(a), int(b)  # type: ignore[arg-type]


# -- membership ----------------------------------------------------------------------------------


@builtin("member", least=2, most=2)
def member(ctx: State, wanted: Value, among: Value) -> Value:
    """member(x, list): whether an item is ``==`` x; items that cannot be compared do not count."""
    if among is UNDEFINED or wanted is UNDEFINED:
        return UNDEFINED
    if not isinstance(among, ListValue) or isinstance(wanted, ListValue) or wanted is ERROR or is_ad(wanted):
        return ERROR
    for item in ctx.items_here(among):
        ctx.spend(1)
        ctx.spend_on_comparison(item, wanted)
        item, wanted = _alike(item, wanted)
        if ops.equal(item, wanted) is True:
            return True
    return False


@builtin("identicalMember", least=2, most=2)
def identical_member(ctx: State, wanted: Value, among: Value) -> Value:
    """identicalMember(x, list): whether an item ``is`` x, which may be UNDEFINED or ERROR."""
    if among is UNDEFINED:
        return UNDEFINED
    if not isinstance(among, ListValue) or isinstance(wanted, ListValue) or is_ad(wanted):
        return ERROR
    for item in ctx.items_here(among):
        ctx.spend(1)
        ctx.spend_on_comparison(item, wanted)
        if ops.identical(item, wanted) is True:
            return True
    return False


# -- comparison of items -------------------------------------------------------------------------

_COMPARISONS: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "<": ops.less,
    "<=": ops.less_equal,
    "==": ops.equal,
    "!=": ops.not_equal,
    ">": ops.greater,
    ">=": ops.greater_equal,
    "is": ops.identical,
    "isnt": ops.not_identical,
}


def _compare_items(ctx: State, operator: Value, among: Value, other: Value, decisive: bool) -> Value:
    """Compare items until one has the `decisive` result."""
    if operator is UNDEFINED:
        return UNDEFINED
    compare = _COMPARISONS.get(operator) if isinstance(operator, str) else None
    if compare is None:
        return ERROR
    if among is UNDEFINED:
        return UNDEFINED
    if not isinstance(among, ListValue):
        return ERROR
    promotes = operator not in ("is", "isnt")
    for item in ctx.items_here(among):
        ctx.spend(1)
        ctx.spend_on_comparison(item, other)
        if promotes:
            item, other = _alike(item, other)
        result = compare(item, other)
        if result is UNDEFINED:
            return False
        if result is ERROR:
            return ERROR
        if result is decisive:
            return decisive
    return not decisive


@builtin("anyCompare", least=3, most=3)
def any_compare(ctx: State, operator: Value, among: Value, other: Value) -> Value:
    """anyCompare(op, list, x): whether ``item op x`` for an item; an UNDEFINED comparison ends it with
    false."""
    return _compare_items(ctx, operator, among, other, True)


@builtin("allCompare", least=3, most=3)
def all_compare(ctx: State, operator: Value, among: Value, other: Value) -> Value:
    """allCompare(op, list, x): whether ``item op x`` for all items."""
    return _compare_items(ctx, operator, among, other, False)


def _one_by_one(compiler: Compiler, call: Call) -> Code:
    """Both stop at an UNDEFINED operator or list: the rest is not evaluated."""
    operator, among, other = (compiler.compile(argument) for argument in call.args)
    decisive = fold(call.name) == "anycompare"

    def run(state: State) -> Value:
        sign = operator(state)
        if sign is UNDEFINED:
            return UNDEFINED
        if sign.__class__ is not str or sign not in _COMPARISONS:
            return ERROR
        found = among(state)
        return UNDEFINED if found is UNDEFINED else _compare_items(state, sign, found, other(state), decisive)

    return run


for _name in ("anycompare", "allcompare"):
    FUNCTIONS[_name] = replace(FUNCTIONS[_name], special=_one_by_one)


# -- sums and bounds -----------------------------------------------------------------------------


def _numbers(ctx: State, among: Value) -> list[Value] | Value:
    """The items that are numbers, without those that are UNDEFINED; or the value that stands for the list."""
    if among is UNDEFINED:
        return UNDEFINED
    if not isinstance(among, ListValue):
        return ERROR
    items = ctx.items_here(among)
    ctx.spend(len(items))
    numbers: list[Value] = [item for item in items if item is not UNDEFINED]
    return numbers if all(item.__class__ in _NUMERIC for item in numbers) else ERROR


def _total(numbers: list[Value]) -> Value:
    """The sum; a single number stays what it is, a boolean included."""
    if not numbers:
        return 0
    total = numbers[0]
    for number in numbers[1:]:
        total = ops.add(total, number)
    return total


@builtin("sum", least=1, most=1)
def total(ctx: State, among: Value) -> Value:
    """sum(list): of no number it is 0."""
    numbers = _numbers(ctx, among)
    return _total(numbers) if isinstance(numbers, list) else numbers


@builtin("avg", least=1, most=1)
def average(ctx: State, among: Value) -> Value:
    """avg(list): a real; of no number it is the integer 0."""
    numbers = _numbers(ctx, among)
    if not isinstance(numbers, list):
        return numbers
    if not numbers:
        return 0
    return ops.divide(_total(numbers), float(len(numbers)))


def _bound(name: str, better: Callable[[Value, Value], Value]) -> None:
    @builtin(name, least=1, most=1)
    def bound(ctx: State, among: Value) -> Value:
        numbers = _numbers(ctx, among)
        if not isinstance(numbers, list):
            return numbers
        if not numbers:
            return UNDEFINED
        best = numbers[0]
        for number in numbers[1:]:
            number, best = _alike(number, best)
            if better(number, best) is True:
                best = number
        return best


_bound("min", ops.less)
_bound("max", ops.greater)

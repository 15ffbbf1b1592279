"""The closures of the evaluator: Python functions of the state, built from the closures of their operands.

`compiler` chooses the closure for a node. The most common forms in policies (a name, ``TARGET.name``, a comparison with
a constant) have specialized closures that handle the ordinary operand types directly and leave the rest to the tables
in `ops`. `translator` writes the same steps as one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roost.classad.ad import MISSING, ClassAd, cell_of
from roost.classad.lookup import absolute_value, cell_count, enter, find, name_value, select_value, subscript_value
from roost.classad.ops import LONG_TEXT_CHARS, truth
from roost.classad.state import NO_AD, PLAIN, Code, State
from roost.classad.syntax import AdNode
from roost.classad.values import ERROR, INT_MAX, INT_MIN, UNDEFINED, Value, fold, wrap

# -- names ---------------------------------------------------------------------------------------


def name(key: str) -> Code:
    """``name``."""

    def run(state: State) -> Value:
        ad = state.ad
        cell = ad.cells.get(key, MISSING)
        if cell.__class__ in PLAIN:
            return cell  # type: ignore[return-value]
        if cell is MISSING:
            return name_value(state, key)
        return enter(state, ad, cell, key)

    return run


def absolute(key: str) -> Code:
    """``.name``."""
    return lambda state: absolute_value(state, key)


def select(base: Code, key: str) -> Code:
    """``base.name``."""
    return lambda state: select_value(state, base(state), key)


def my(key: str) -> Code:
    """``MY.name``: the current ad, unless it has an attribute called MY."""

    def run(state: State) -> Value:
        ad = state.ad
        if ad.cell("my") is not MISSING:
            return select_value(state, name_value(state, "my"), key)
        cell = ad.cells.get(key, MISSING)
        if cell.__class__ in PLAIN:
            return cell  # type: ignore[return-value]
        return _selected(state, ad, cell, key)

    return run


def target(key: str) -> Code:
    """``TARGET.name``: the other ad, unless the current one has an attribute called TARGET."""

    def run(state: State) -> Value:
        ad = state.ad
        other = state.right if ad is state.left else state.left if ad is state.right else None
        if other is None or ad.cell("target") is not MISSING:
            return select_value(state, name_value(state, "target"), key)
        cell = other.cells.get(key, MISSING)
        if cell.__class__ in PLAIN:
            return cell  # type: ignore[return-value]
        return _selected(state, other, cell, key)

    return run


def _selected(state: State, ad: ClassAd, cell: Any, key: str) -> Value:
    if cell is MISSING:
        found = find(state, ad, key)
        return UNDEFINED if found is None else enter(state, found[0], found[1], key)
    return enter(state, ad, cell, key)


def subscript(base: Code, index: Code) -> Code:
    """``base[index]``."""
    return lambda state: subscript_value(state, base(state), index(state))


def ad(node: AdNode) -> Code:
    """A nested ad: each evaluation gets a copy that knows its enclosing ad."""
    pattern = cell_of(node, NO_AD)
    assert isinstance(pattern, ClassAd)
    steps = cell_count(pattern)

    def run(state: State) -> Value:
        state.spend(steps)
        home = state.ad if state.home is None else state.home
        ad = pattern.copy()
        ad.scope = None if home is NO_AD else home
        return ad

    return run


# -- operators -----------------------------------------------------------------------------------


def and_2(first: Code, second: Code) -> Code:
    """``a && b``."""

    def run(state: State) -> Value:
        x = first(state)
        if x is not True:
            if x is False:
                return False
            x = truth(x)
            if x is False or x is ERROR:
                return x
        y = second(state)
        if y is False:
            return False
        if y is not True:
            y = truth(y)
        return y if x is True or y is not True else UNDEFINED

    return run


def or_2(first: Code, second: Code) -> Code:
    """``a || b``."""

    def run(state: State) -> Value:
        x = first(state)
        if x is not False:
            if x is True:
                return True
            x = truth(x)
            if x is True or x is ERROR:
                return x
        y = second(state)
        if y is True:
            return True
        if y is not False:
            y = truth(y)
        return y if x is False or y is not False else UNDEFINED

    return run


def and_all(codes: list[Code]) -> Code:
    """``a && b && c …``."""

    def run(state: State) -> Value:
        result: Value = True
        for code in codes:
            x = code(state)
            if x is True:
                continue
            if x is not False:
                x = truth(x)
                if x is True:
                    continue
                if x is UNDEFINED:
                    result = UNDEFINED
                    continue
            return x
        return result

    return run


def or_all(codes: list[Code]) -> Code:
    """``a || b || c …``."""

    def run(state: State) -> Value:
        result: Value = False
        for code in codes:
            x = code(state)
            if x is False:
                continue
            if x is not True:
                x = truth(x)
                if x is False:
                    continue
                if x is UNDEFINED:
                    result = UNDEFINED
                    continue
            return x
        return result

    return run


def conditional(tests: list[tuple[Code, Code]], otherwise: Code) -> Code:
    """``a ? b : c ? d : e``: pairs of a test and its branch, and the last operand."""

    def run(state: State) -> Value:
        for test, then in tests:
            x = truth(test(state))
            if x is True:
                return then(state)
            if x is not False:
                return x
        return otherwise(state)

    return run


def elvis(left: Code, right: Code) -> Code:
    """``left ?: right``."""

    def run(state: State) -> Value:
        x = left(state)
        return right(state) if x is UNDEFINED else x

    return run


def compare(compare: Callable[[Any, Any], bool], run: Callable[[Value, Value], Value], left: Code, right: Code) -> Code:
    """A comparison; `compare` handles two numbers of one type, `run` everything else."""

    def compared(state: State) -> Value:
        x, y = left(state), right(state)
        kind = x.__class__
        if kind is y.__class__:
            if kind is int or kind is float:
                return compare(x, y)
            if kind is str and len(x) > LONG_TEXT_CHARS:  # type: ignore[arg-type]
                state.spend_on_comparison(x, y)
        return run(x, y)

    return compared


def compare_number(
    compare: Callable[[Any, Any], bool], run: Callable[[Value, Value], Value], left: Code, number: Any
) -> Code:
    """A comparison with a constant number."""
    kind = number.__class__

    def compared(state: State) -> Value:
        x = left(state)
        return compare(x, number) if x.__class__ is kind else run(x, number)

    return compared


def compare_text(negated: bool, run: Callable[[Value, Value], Value], left: Code, text: str) -> Code:
    """``==`` with a constant string, or ``!=`` if `negated`."""
    folded, length = fold(text), len(text)

    def compared(state: State) -> Value:
        x = left(state)
        if x.__class__ is str:
            # Folding keeps the length.
            return (x == text or (len(x) == length and fold(x) == folded)) is not negated
        return run(x, text)

    return compared


def identity(wanted: bool, left: Code, value: Value) -> Code:
    """``is`` with a constant, or ``isnt`` unless `wanted`."""
    kind = value.__class__

    def compared(state: State) -> Value:
        x = left(state)
        return (x.__class__ is kind and x == value) is wanted

    return compared


def identical(run: Callable[[Value, Value], Value], left: Code, right: Code) -> Code:
    """``is`` or ``isnt``, as given by `run`."""

    def compared(state: State) -> Value:
        x, y = left(state), right(state)
        if x.__class__ is str and len(x) > LONG_TEXT_CHARS:
            state.spend_on_comparison(x, y)
        return run(x, y)

    return compared


def arithmetic(
    compute: Callable[[Any, Any], Any], run: Callable[[Value, Value], Value], left: Code, right: Code
) -> Code:
    """A sum, difference or product; `compute` handles two integers, `run` everything else."""

    def computed(state: State) -> Value:
        x, y = left(state), right(state)
        if x.__class__ is int and y.__class__ is int:
            result = compute(x, y)
            return result if INT_MIN <= result <= INT_MAX else wrap(result)
        return run(x, y)

    return computed


# -- calls ---------------------------------------------------------------------------------------


def call(run: Callable[..., Value], codes: list[Code]) -> Code:
    """A call of a function that takes the state and values."""
    match codes:
        case []:
            return lambda state: run(state)
        case [a]:
            return lambda state: run(state, a(state))
        case [a, b]:
            return lambda state: run(state, a(state), b(state))
        case [a, b, c]:
            return lambda state: run(state, a(state), b(state), c(state))
    return lambda state: run(state, *[code(state) for code in codes])

"""How names are found, and the values of what they name.

A name is looked up in the current ad (and the ads it is chained to), then among the special names, then in the
enclosing ads outward, and finally, for a name in one of the two ads of a match, in the other ad. The definition found
is evaluated *in the ad where it was found*.

Cycles. The reference library marks each attribute while a reference to it is evaluated; meeting a marked one again
is UNDEFINED. So does `enter`, where the evaluation has marks; see `evaluation`.
"""

from __future__ import annotations

from roost.classad.ad import Cell, ClassAd, Missing
from roost.classad.expr import Expr
from roost.classad.state import (
    LIST_STEPS,
    MATCH_NAMES,
    NO_AD,
    SPECIAL_NAMES,
    EvaluationFailed,
    EvaluationStopped,
    State,
    TooDeep,
)
from roost.classad.values import ERROR, UNDEFINED, ListValue, Value, fold


def name_value(state: State, key: str) -> Value:
    """The value of the unscoped name `key` that the current ad does not define itself, or not as a plain value."""
    ad = state.ad
    found = find(state, ad, key)
    if found is None:
        other = state.other_ad()
        found = None if other is None else find(state, other, key)
        if found is None:
            return UNDEFINED
    return enter(state, found[0], found[1], key)


def absolute_value(state: State, key: str) -> Value:
    """The value of ``.name``."""
    if state.start is NO_AD:
        raise EvaluationFailed
    found = find(state, state.root_ad(), key)
    return UNDEFINED if found is None else enter(state, found[0], found[1], key)


def select_value(state: State, base: Value, key: str) -> Value:
    """The value of ``base.name``."""
    if isinstance(base, ClassAd):
        found = find(state, base, key)
        return UNDEFINED if found is None else enter(state, found[0], found[1], key)
    if base is UNDEFINED:
        return UNDEFINED
    if isinstance(base, ListValue):
        state.deepen()
        picked = [_homeless(state, select_value(state, item, key)) for item in state.items_here(base)]
        state.depth += 1
        return ListValue(tuple(picked), NO_AD)
    return ERROR


def subscript_value(state: State, base: Value, index: Value) -> Value:
    """The value of ``base[index]``: an item of a list, or an attribute that an ad itself has."""
    if base is ERROR or index is ERROR:
        return ERROR
    if base is UNDEFINED or index is UNDEFINED:
        return UNDEFINED
    if isinstance(base, ListValue) and index.__class__ is int:
        # The reference library cuts the index to 32 bits.
        at = ((index + 2**31) & 0xFFFF_FFFF) - 2**31
        if not 0 <= at < len(base.items):
            return ERROR
        item = base.items[at]
        if item.__class__ is not Expr:
            return item  # type: ignore[return-value]
        return state.value_in(item, state.ad if base.scope is None else base.scope)
    if isinstance(base, ClassAd) and isinstance(index, str):
        cell = base.cell(fold(index))
        if cell.__class__ is Expr:
            marks, state.marks = state.marks, None if state.marks is None else set()
            cell = state.value_in(cell, base)
            state.marks = marks
        return UNDEFINED if isinstance(cell, Missing) else _homeless(state, cell)  # type: ignore[arg-type]
    return ERROR


def evaluate_apart(state: State, cell: Cell, ad: ClassAd) -> Value:
    """The value of a cell in the context of the nested ad `ad`, with separate marks; ERROR if it fails."""
    if cell.__class__ is not Expr:
        return cell  # type: ignore[return-value]
    marks, state.marks = state.marks, None if state.marks is None else set()
    other = state.other_ad()
    visitor, state.visitor = state.visitor, None if other is None else (ad, other)
    value = state.value_in(cell, ad)
    state.marks, state.visitor = marks, visitor
    return value


def _homeless(state: State, value: Value) -> Value:
    """A list or ad detached from its context: names in it no longer see the enclosing ads."""
    if isinstance(value, ListValue):
        state.spend(LIST_STEPS)
        return ListValue(value.items, NO_AD)
    if isinstance(value, ClassAd) and (value.scope is not None or state.left is not None):
        state.spend(cell_count(value))
        value = value.copy()
        value.scope = None
    return value


def cell_count(ad: ClassAd) -> int:
    """Attributes of an ad and of all ads nested in it."""
    count = 0
    work = [ad]
    while work:
        cells = work.pop().cells.values()
        count += len(cells) + LIST_STEPS
        work += [cell for cell in cells if isinstance(cell, ClassAd)]
    return count


def find(state: State, start: ClassAd, key: str) -> tuple[ClassAd, Cell] | None:
    """The cell that `key` names from `start` outward, and the ad to evaluate it in; None if there is none."""
    ad: ClassAd | None = start
    special = key in SPECIAL_NAMES
    while ad is not None:
        cell = ad.cell(key)
        if not isinstance(cell, Missing):
            return ad, cell
        if special:
            return _special(state, ad, key)
        if (ad is state.left or ad is state.right) and key not in MATCH_NAMES:
            return None
        ad = None if ad is state.root else state.scope_of(ad)
    return None


def _special(state: State, ad: ClassAd, key: str) -> tuple[ClassAd, Cell] | None:
    if ad is NO_AD:
        return None
    if key == "currenttime":
        return ad, int(state.world.now())
    if key == "parent":
        outer = None if ad is state.root_ad() else state.scope_of(ad)
        return None if outer is None else (ad, outer)
    return ad, state.root_ad() if key in ("toplevel", "root") else ad


def enter(state: State, holder: ClassAd, cell: Cell, key: str) -> Value:
    """The value of a cell that was found in `holder` under `key`."""
    if cell.__class__ is not Expr:
        return cell  # type: ignore[return-value]
    state.fuel -= 1
    if state.fuel < 0:
        raise EvaluationStopped
    if state.careful:
        return _enter_carefully(state, holder, cell, key)
    state.depth -= 1
    if state.depth < 0:
        raise TooDeep
    saved = state.ad
    state.ad = holder
    value: Value = (cell._code or cell.code)(state)
    state.ad = saved
    state.depth += 1
    return value


def _enter_carefully(state: State, holder: ClassAd, cell: Expr, key: str) -> Value:
    """`enter` where attributes are marked against cycles, or inside the items of a list from another ad."""
    marks = state.marks
    mark = (id(holder), key)
    if marks is not None:
        if mark in marks:
            return UNDEFINED
        marks.add(mark)
    state.depth -= 1
    if state.depth < 0:
        raise TooDeep if marks is None else EvaluationStopped
    saved, home = state.ad, state.home
    state.ad, state.home = holder, None
    value = state.code_of(cell, key)(state)
    state.ad, state.home = saved, home
    if marks is not None:
        marks.discard(mark)
    state.depth += 1
    return value

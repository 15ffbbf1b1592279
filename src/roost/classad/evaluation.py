"""Evaluating an expression: the state of one evaluation, and how names are found.

An expression is compiled once to nested Python closures (`compiler`), each a function of a `State`. The state
knows the current ad (in which unscoped names are looked up first), the two ads of a match, and the budgets.

A name is looked up in the current ad (and the ads it is chained to), then among the special names, then in the
enclosing ads outward, and at last, for a name that stands in one of the two ads of a match itself, in the other.
What is found is evaluated *in the ad where it was found*.

Cycles. The reference library marks each attribute while a reference to it is evaluated; meeting a marked one again
is UNDEFINED. Marking costs, and a cycle always runs into the depth limit if nothing is marked. So an evaluation
starts without marks and with a small depth; the rare one that goes deeper starts over with marks and full depth.

Failure. A few mistakes (`random(0)`, a limit of `limits` exceeded) are not the value ERROR but end the evaluation at
once, whatever stands around them, as in the reference library. The whole expression is then ERROR. A subscript
is a wall: what fails behind it is an ordinary ERROR. Nothing here raises to the caller.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from roost.classad.ad import MISSING, Cell, ClassAd, Missing
from roost.classad.expr import Expr, parse_expression
from roost.classad.limits import EVALUATION_FRAMES_MAX, EVALUATION_FUEL, REFERENCE_DEPTH_MAX
from roost.classad.ops import text_steps
from roost.classad.syntax import Node
from roost.classad.values import ERROR, UNDEFINED, AbsTime, Exceptional, ListValue, RelTime, Value, fold
from roost.classad.world import WORLD, World

T = TypeVar("T")
Code: TypeAlias = "Callable[[State], Value]"

#: Classes of cells that are their own value.
PLAIN: Final = frozenset((int, float, str, bool, Exceptional, AbsTime, RelTime, ListValue))

#: Steps that a new list or ad costs, for it takes memory.
_LIST_STEPS: Final = 8

#: Depth of references tried without marks.
_UNMARKED_DEPTH: Final = 48


class EvaluationStopped(Exception):
    """A limit was exceeded; never leaves this room."""


class EvaluationFailed(EvaluationStopped):
    """A function ends the evaluation; a subscript around it makes it ERROR. Never leaves this room."""


class _TooDeep(EvaluationStopped):
    """References go deeper than is tried without marks."""


class State:
    """The state of one evaluation; functions know it as their context."""

    __slots__ = (
        "ad",
        "careful",
        "depth",
        "fuel",
        "home",
        "left",
        "marks",
        "match",
        "right",
        "root",
        "start",
        "visitor",
        "world",
    )

    def __init__(self, ad: ClassAd | None = None, target: ClassAd | None = None, world: World = WORLD) -> None:
        #: The current ad, and the one in which the evaluation began.
        self.ad = self.start = NO_AD if ad is None else ad
        #: The ads of a match; None when one ad is evaluated alone.
        self.left = ad if target is not None else None
        self.right = target if ad is not None else None
        #: The outermost ad; None until somebody asks.
        self.root: ClassAd | None = None
        #: The ad around both ads of a match; None until somebody asks.
        self.match: ClassAd | None = None
        #: References that may still be opened.
        self.depth = _UNMARKED_DEPTH
        self.fuel = EVALUATION_FUEL
        #: Attributes being evaluated through a reference: identity of the ad, key. None while none are marked.
        self.marks: set[tuple[int, str]] | None = None
        #: The ad that lists and ads are written in, where that is not the current one.
        self.home: ClassAd | None = None
        #: Whether there are marks or a home to mind.
        self.careful = False
        #: A nested ad from which names are looked up in the other ad too; see `evaluate_apart`.
        self.visitor: tuple[ClassAd, ClassAd] | None = None
        self.world = world

    # -- what functions need -------------------------------------------------------------------

    def spend(self, steps: int) -> None:
        """Pay for `steps` steps of work."""
        self.fuel -= steps
        if self.fuel < 0:
            raise EvaluationStopped

    def spend_on_comparison(self, x: Value, y: Value) -> None:
        """Pay for comparing two values: long strings take time."""
        if x.__class__ is str and y.__class__ is str:
            self.spend(text_steps(min(len(x), len(y))))

    def items(self, value: ListValue) -> list[Value]:
        """The items of a list, evaluated in the ad where the list was written."""
        saved = self.ad
        if value.scope is not None:
            self.ad = value.scope
        found = self.items_here(value)
        self.ad = saved
        return found

    def items_here(self, value: ListValue) -> list[Value]:
        """The items of a list, evaluated in the current ad; lists and ads written in them keep to their own."""
        self.spend(len(value.items))
        if self.home is None and (value.scope is None or value.scope is self.ad):
            return [item.code(self) if isinstance(item, Expr) else item for item in value.items]
        home, careful = self.home, self.careful
        self.home, self.careful = value.scope, True
        found = [item.code(self) if isinstance(item, Expr) else item for item in value.items]
        self.home, self.careful = home, careful
        return found

    def evaluate_text(self, text: str) -> Value:
        """The value of an expression given as text, in the current ad. Raises ParseError."""
        self.spend(len(text))
        expression = parse_expression(text)
        self.deepen()
        home, self.home = self.home, None
        value = expression.code(self)
        self.depth += 1
        self.home = home
        return value

    def code_of(self, cell: Expr, key: str) -> Code:
        """The code of the expression of the attribute `key`; a traced evaluation has another."""
        return cell.code

    def value_in(self, expression: Expr, scope: ClassAd) -> Value:
        """The value of an expression in the ad `scope`; ERROR where it fails."""
        return _walled(self, expression, scope)

    def deepen(self) -> None:
        """Open one more level of indirection."""
        self.spend(1)
        self.depth -= 1
        if self.depth < 0:
            raise _TooDeep if self.marks is None else EvaluationStopped

    # -- scopes --------------------------------------------------------------------------------

    def scope_of(self, ad: ClassAd) -> ClassAd | None:
        """The ad around `ad`."""
        if ad is self.left:
            return self.match_ad().context_of_left
        if ad is self.right:
            return self.match_ad().context_of_right
        return ad.scope

    def other_ad(self) -> ClassAd | None:
        """The ad that names missing in the current one are looked up in; None if there is none."""
        ad = self.ad
        if ad is self.left:
            return self.right
        if ad is self.right:
            return self.left
        if self.visitor is not None and self.visitor[0] is ad:
            return self.visitor[1]
        return None

    def match_ad(self) -> MatchAd:
        """The ad around both ads of a match."""
        match = self.match
        if match is None:
            assert self.left is not None and self.right is not None
            match = self.match = MatchAd(self.left, self.right)
        assert isinstance(match, MatchAd)
        return match

    def root_ad(self) -> ClassAd:
        """The outermost ad."""
        root = self.root
        if root is None:
            root = self.start
            while (outer := self.scope_of(root)) is not None:
                root = outer
            self.root = root
        return root


class MatchAd(ClassAd):
    """The ad that the reference library puts around two ads to match them.

    It is what ``toplevel`` shows in a match, and where ``other``, ``left`` or ``symmetricMatch`` are found.
    """

    __slots__ = ("context_of_left", "context_of_right")

    def __init__(self, left: ClassAd, right: ClassAd) -> None:
        super().__init__()
        self.context_of_left = self._context(".LEFT", ".RIGHT")
        self.context_of_right = self._context(".RIGHT", ".LEFT")
        self.put("lCtx", self.context_of_left)
        self.put("rCtx", self.context_of_right)
        for name, ad in (("LEFT", left), ("RIGHT", right)):
            # They are shown here, not nested here: this ad goes when the evaluation ends.
            scope = ad.scope
            self.put(name, ad)
            ad.scope = scope
        for name, text in _MATCH_EXPRESSIONS:
            self.put(name, parse_expression(text))

    def _context(self, mine: str, other: str) -> ClassAd:
        context = ClassAd()
        for name, text in (("other", other), ("target", other), ("my", mine), ("ad", mine)):
            context.put(name, parse_expression(text))
        context.scope = self
        return context


_MATCH_EXPRESSIONS: Final = (
    ("symmetricMatch", "RIGHT.requirements && LEFT.requirements"),
    ("leftMatchesRight", "RIGHT.requirements"),
    ("rightMatchesLeft", "LEFT.requirements"),
    ("leftRankValue", "LEFT.rank"),
    ("rightRankValue", "RIGHT.rank"),
)

#: Names that the ads around a match define.
MATCH_NAMES: Final = frozenset(
    ("other", "target", "my", "ad", "lctx", "rctx", "left", "right", *(name.lower() for name, _ in _MATCH_EXPRESSIONS))
)
#: Names that every ad knows unless it has such an attribute.
SPECIAL_NAMES: Final = frozenset(("self", "my", "parent", "toplevel", "root", "currenttime"))

#: Stands for the current ad where there is none.
NO_AD: Final = ClassAd()


# -- names ---------------------------------------------------------------------------------------


def name_value(state: State, key: str) -> Value:
    """The value of the unscoped name `key` that the current ad does not define itself, or not plainly."""
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
        return _walled(state, item, state.ad if base.scope is None else base.scope)
    if isinstance(base, ClassAd) and isinstance(index, str):
        cell = base.cell(fold(index))
        if cell.__class__ is Expr:
            marks, state.marks = state.marks, None if state.marks is None else set()
            cell = _walled(state, cell, base)
            state.marks = marks
        return UNDEFINED if isinstance(cell, Missing) else _homeless(state, cell)  # type: ignore[arg-type]
    return ERROR


def _walled(state: State, expression: Expr, scope: ClassAd) -> Value:
    """The value of an expression in `scope`; ERROR where it fails."""
    saved, depth, home = state.ad, state.depth, state.home
    state.spend(_LIST_STEPS)
    state.deepen()
    state.ad, state.home = scope, None
    try:
        return expression.code(state)
    except EvaluationFailed:
        return ERROR
    finally:
        state.ad, state.depth, state.home = saved, depth, home


def evaluate_apart(state: State, cell: Cell, ad: ClassAd) -> Value:
    """The value of a cell in the context of the nested ad `ad`, with marks of its own; ERROR where it fails."""
    if cell.__class__ is not Expr:
        return cell  # type: ignore[return-value]
    marks, state.marks = state.marks, None if state.marks is None else set()
    other = state.other_ad()
    visitor, state.visitor = state.visitor, None if other is None else (ad, other)
    value = _walled(state, cell, ad)
    state.marks, state.visitor = marks, visitor
    return value


def _homeless(state: State, value: Value) -> Value:
    """A list or ad taken out of where it stood: names in it no longer see the ads around."""
    if isinstance(value, ListValue):
        state.spend(_LIST_STEPS)
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
        count += len(cells) + _LIST_STEPS
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
        raise _TooDeep
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
        raise _TooDeep if marks is None else EvaluationStopped
    saved, home = state.ad, state.home
    state.ad, state.home = holder, None
    value = state.code_of(cell, key)(state)
    state.ad, state.home = saved, home
    if marks is not None:
        marks.discard(mark)
    state.depth += 1
    return value


# -- entry points --------------------------------------------------------------------------------


def evaluate(expression: Expr, my: ClassAd | None = None, target: ClassAd | None = None, world: World = WORLD) -> Value:
    """The value of `expression` in the ad `my`, matched with `target` if that is given. Raises nothing."""
    try:
        return (expression._code or expression.code)(State(my, target, world))
    except (_TooDeep, RecursionError):
        return _evaluate_deep(expression, my, target, world)
    except EvaluationStopped:
        return ERROR


def _evaluate_deep(expression: Expr, my: ClassAd | None, target: ClassAd | None, world: World) -> Value:
    """Evaluate again from the start, with marks against cycles and the full depth."""
    state = State(my, target, world)
    state.marks = set()
    state.careful = True
    state.depth = REFERENCE_DEPTH_MAX
    try:
        return deeply(lambda: expression.code(state))
    except (EvaluationStopped, RecursionError):
        return ERROR


def deeply(run: Callable[[], T]) -> T:
    """Call `run` with room for `EVALUATION_FRAMES_MAX` Python frames."""
    _raise_recursion_limit()
    try:
        return run()
    finally:
        _restore_recursion_limit()


#: The interpreter has one limit for all threads: how many need it raised, and what it was before.
_deep_lock: Final = threading.Lock()
_deep_users = 0
_usual_limit = 0


def _raise_recursion_limit() -> None:
    global _deep_users, _usual_limit
    frame: object = sys._getframe()
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[attr-defined]
    with _deep_lock:
        if _deep_users == 0:
            _usual_limit = sys.getrecursionlimit()
        _deep_users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), depth + EVALUATION_FRAMES_MAX))


def _restore_recursion_limit() -> None:
    global _deep_users
    with _deep_lock:
        _deep_users -= 1
        if _deep_users == 0:
            sys.setrecursionlimit(_usual_limit)


def compile_tree(tree: Node) -> Code:
    """The code of a tree. Raises nothing; a tree too deep to compile is the constant ERROR."""
    from roost.classad.compiler import Compiler

    try:
        return Compiler().compile(tree)
    except RecursionError:
        pass
    try:
        return deeply(lambda: Compiler().compile(tree))
    except RecursionError:
        return lambda state: ERROR


__all__ = ["MISSING", "Code", "EvaluationFailed", "EvaluationStopped", "State", "compile_tree", "evaluate"]

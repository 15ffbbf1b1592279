"""The state of one evaluation: its position and its remaining budget.

An expression is compiled to nested Python closures, each a function of a `State`. The state knows the current ad (in
which unscoped names are looked up first), the two ads of a match, and the budgets.

Failure. A few mistakes (`random(0)`, a limit of `limits` exceeded) are not the value ERROR but end the evaluation at
once, whatever stands around them, as in the reference library. The whole expression is then ERROR. A subscript
is a wall: what fails behind it is an ordinary ERROR. Nothing of this leaves the room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.classad.ad import ClassAd
from roost.classad.expr import Expr, parse_expression
from roost.classad.limits import EVALUATION_FUEL
from roost.classad.ops import text_steps
from roost.classad.values import ERROR, AbsTime, Exceptional, ListValue, RelTime, Value
from roost.classad.world import WORLD, World

Code: TypeAlias = "Callable[[State], Value]"

#: Classes of cells that are values themselves.
PLAIN: Final = frozenset((int, float, str, bool, Exceptional, AbsTime, RelTime, ListValue))

#: Steps charged for a new list or ad, because it takes memory.
LIST_STEPS: Final = 8

#: Depth of references tried without marks.
_UNMARKED_DEPTH: Final = 48


class EvaluationStopped(Exception):
    """A limit was exceeded; never leaves this room."""


class EvaluationFailed(EvaluationStopped):
    """A function ends the evaluation; a subscript around it makes it ERROR. Never leaves this room."""


class TooDeep(EvaluationStopped):
    """References go deeper than allowed without marks."""


class State:
    """The state of one evaluation; functions get it as their context."""

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
        #: The outermost ad; None until it is asked for.
        self.root: ClassAd | None = None
        #: The ad around both ads of a match; None until it is asked for.
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
        saved, depth, home = self.ad, self.depth, self.home
        self.spend(LIST_STEPS)
        self.deepen()
        self.ad, self.home = scope, None
        try:
            return expression.code(self)
        except EvaluationFailed:
            return ERROR
        finally:
            self.ad, self.depth, self.home = saved, depth, home

    def deepen(self) -> None:
        """Open one more level of indirection."""
        self.spend(1)
        self.depth -= 1
        if self.depth < 0:
            raise TooDeep if self.marks is None else EvaluationStopped

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
            # They are only visible here, not nested: this ad is discarded when the evaluation ends.
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

#: Stands for the current ad if there is none.
NO_AD: Final = ClassAd()

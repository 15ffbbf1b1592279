"""Partial evaluation: compute what depends on one ad only, and keep the rest.

The result has the same value as the original in every evaluation with that ad on the left side, whatever the
other ad is. So ``x && false`` stays (x may be ERROR), and ``true && x`` becomes ``x`` only if x is certain to be a
condition. A name whose expression cannot be computed stays a name. Calls of the clock and of random numbers stay, too.

Each attribute is examined once. All computation is charged to the budget of one evaluation; when that is spent, the
rest stays as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.classad import functions
from roost.classad.ad import MISSING, ClassAd
from roost.classad.evaluation import deeply
from roost.classad.expr import Expr
from roost.classad.ops import BINARY, COMPARISONS, UNARY, text_steps, truth
from roost.classad.state import EvaluationStopped, State
from roost.classad.syntax import (
    AdNode,
    Binary,
    Call,
    Conditional,
    Elvis,
    ListNode,
    Literal,
    Name,
    Node,
    Op,
    Paren,
    Select,
    Subscript,
    Unary,
    strip,
)
from roost.classad.values import ERROR, UNDEFINED, Exceptional, ListValue, RelTime, Value, fold

if TYPE_CHECKING:
    from roost.classad.world import World

_CONDITIONS: Final = frozenset((Op.OR, Op.AND, *COMPARISONS))
#: Functions that test the kind of a value.
KIND_TESTS: Final = frozenset(
    [
        "isundefined",
        "iserror",
        "isstring",
        "isinteger",
        "isreal",
        "isboolean",
        "islist",
        "isclassad",
        "isabstime",
        "isreltime",
    ]
)
#: Functions whose value is a boolean, UNDEFINED or ERROR.
_PREDICATES: Final = KIND_TESTS | frozenset(
    [
        "member",
        "identicalmember",
        "anycompare",
        "allcompare",
        "regexp",
        "regexpmember",
        "stringlistmember",
        "stringlistimember",
        "stringlistsintersect",
        "stringlistsubsetmatch",
        "stringlistisubsetmatch",
        "stringlist_regexpmember",
        "versionle",
        "versionlt",
        "versionge",
        "versiongt",
        "versioneq",
        "version_in_range",
        "bool",
    ]
)


def flatten(expression: Expr, ad: ClassAd, world: World) -> Expr:
    """`expression` with everything computed that `ad` alone decides."""
    flattener = _Flattener(ad, world)
    try:
        return Expr(flattener.node(expression.tree))
    except RecursionError:
        pass
    try:
        return deeply(lambda: Expr(flattener.node(expression.tree)))
    except RecursionError:
        return expression


class _Flattener:
    """Rewrites trees bottom-up."""

    def __init__(self, ad: ClassAd, world: World) -> None:
        self.ad = ad
        #: The state in which calls are evaluated; its fuel is the budget.
        self.state = State(None, None, world)
        #: Attributes being computed.
        self.open: set[str] = set()
        #: Results for attributes: a literal, or None if the name stays.
        self.known: dict[str, Literal | None] = {}

    def node(self, node: Node) -> Node:
        """The flat form of a tree."""
        match node:
            case Literal(value=RelTime(secs=secs)):
                return Literal(secs, node.span)
            case Literal() | AdNode() | ListNode():
                # The contents of a list or an ad can be observed as text, so they stay unchanged.
                return node
            case Name(name=name, absolute=absolute):
                return node if absolute else self._name(node, fold(name))
            case Select():
                return self._select(node)
            case Paren(inner=inner):
                flat = self.node(inner)
                return flat if isinstance(flat, Literal | Paren) else Paren(flat, node.span)
            case Unary(op=op, operand=operand):
                flat = self.node(operand)
                built = Unary(op, flat, node.span)
                return _constant(UNARY[op](flat.value), built) if isinstance(flat, Literal) else built
            case Binary():
                return self._binary(node)
            case Conditional(test=test, then=then, otherwise=otherwise):
                return self._choice(node, test, then, otherwise)
            case Elvis(left=left, right=right):
                flat = self.node(left)
                if isinstance(flat, Literal):
                    return self.node(right) if flat.value is UNDEFINED else flat
                return Elvis(flat, self.node(right), node.span)
            case Subscript(base=base, index=index):
                return Subscript(self.node(base), self.node(index), node.span)
            case Call():
                return self._call(node)

    def _name(self, node: Node, key: str) -> Node:
        """A name of the ad, if its value is known; else the name."""
        cell = self.ad.cell(key)
        if cell is MISSING or isinstance(cell, ClassAd | ListValue):
            return node
        if not isinstance(cell, Expr):
            return self._inlined(Literal(cell), node)
        if key in self.open:
            return node
        if key not in self.known:
            self.open.add(key)
            flat = self.node(cell.tree)
            self.open.discard(key)
            self.known[key] = flat if isinstance(flat, Literal) else None
        known = self.known[key]
        return node if known is None else self._inlined(known, node)

    def _inlined(self, literal: Literal, name: Node) -> Node:
        """The literal in the place of a name; the name, if long strings in many places would cost too much."""
        steps = text_steps(len(literal.value)) if isinstance(literal.value, str) else 0
        if steps > self.state.fuel:
            return name
        self.state.fuel -= steps
        return literal

    def _select(self, node: Select) -> Node:
        base = strip(node.base)
        if isinstance(base, Name) and not base.absolute:
            scope = fold(base.name)
            if scope == "my" and self.ad.cell("my") is MISSING:
                return self._name(node, fold(node.name))
        return node

    def _binary(self, node: Binary) -> Node:
        spine: list[Binary] = []
        first: Node = node
        while isinstance(first, Binary):
            spine.append(first)
            first = first.left
        flat = self.node(first)
        for link in reversed(spine):
            flat = self._link(link, flat)
        return flat

    def _link(self, link: Binary, left: Node) -> Node:
        """One operator whose left side is flat already."""
        op = link.op
        logical = op in (Op.AND, Op.OR)
        if logical and isinstance(left, Literal):
            decided = truth(left.value)
            if decided is (op is Op.OR) or decided is ERROR:
                return _literal(decided)
        right = self.node(link.right)
        if isinstance(left, Literal) and isinstance(right, Literal):
            return self._computed(op, left, right, Binary(op, left, right, link.span))
        if logical:
            neutral = op is Op.AND
            if isinstance(left, Literal) and truth(left.value) is neutral and _is_condition(right):
                return right
            if isinstance(right, Literal) and truth(right.value) is neutral and _is_condition(left):
                return left
        return Binary(op, left, right, link.span)

    def _computed(self, op: Op, left: Literal, right: Literal, node: Binary) -> Node:
        try:
            if op in COMPARISONS:
                self.state.spend_on_comparison(left.value, right.value)
        except EvaluationStopped:
            return node
        return _constant(BINARY[op](left.value, right.value), node)

    def _choice(self, node: Node, test: Node, then: Node, otherwise: Node) -> Node:
        flat = self.node(test)
        if isinstance(flat, Literal):
            decided = truth(flat.value)
            if isinstance(decided, Exceptional):
                return _literal(decided)
            return self.node(then if decided else otherwise)
        parts = (flat, self.node(then), self.node(otherwise))
        return Call(node.name, parts, node.span) if isinstance(node, Call) else Conditional(*parts, node.span)

    def _call(self, node: Call) -> Node:
        function = functions.lookup(node.name)
        if function is None or not function.accepts(len(node.args)):
            return _literal(ERROR)
        if function.eager is None:
            if fold(node.name) == "ifthenelse":
                return self._choice(node, *node.args)
            return node
        args = tuple([self.node(argument) for argument in node.args])
        call = Call(node.name, args, node.span)
        if function.pure and all([isinstance(argument, Literal) for argument in args]):
            return self._called(call)
        return call

    def _called(self, call: Call) -> Node:
        """A call with constants; unchanged if it fails or the budget does not suffice."""
        if self.state.fuel <= 0:
            return call
        try:
            return _constant(Expr(call).code(self.state), call)
        except EvaluationStopped:
            return call


def _literal(value: Exceptional | bool) -> Literal:
    return Literal(value)


def _constant(value: Value, node: Node) -> Node:
    """The literal for `value`, or `node`, which has that value, where there is none that reads the same."""
    return node if isinstance(value, ListValue | ClassAd | RelTime) else Literal(value)


def _is_condition(node: Node) -> bool:
    """Whether the value of `node` is a boolean, UNDEFINED or ERROR for sure."""
    node = strip(node)
    match node:
        case Binary(op=op):
            return op in _CONDITIONS
        case Unary(op=op):
            return op is Op.NOT
        case Call(name=name):
            return fold(name) in _PREDICATES
        case Literal(value=value):
            return isinstance(value, bool | Exceptional)
        case _:
            return False

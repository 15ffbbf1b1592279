"""Trees to closures: each node becomes a Python function of the evaluation state.

A part is a closure and, if it is known already, its constant value: operators on constants are computed when
compiling. Chains of one logical operator become one closure over all links. The commonest shapes of a policy (a
name, ``TARGET.name``, a comparison with a constant) have closures of their own that decide the ordinary operand
types on the spot and leave the rest to the tables in `ops`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from roost.classad import functions
from roost.classad.ad import MISSING, ClassAd, Missing, cell_of
from roost.classad.evaluation import (
    NO_AD,
    PLAIN,
    Code,
    State,
    absolute_value,
    cell_count,
    enter,
    find,
    name_value,
    select_value,
    subscript_value,
)
from roost.classad.expr import Expr
from roost.classad.ops import BINARY, LONG_TEXT_CHARS, UNARY, truth
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
from roost.classad.values import ERROR, INT_MAX, INT_MIN, UNDEFINED, ListValue, RelTime, Value, fold, wrap


class Part(NamedTuple):
    """Compiled code and, where it does not depend on anything, its value."""

    code: Code
    value: Value | Missing = MISSING


class Compiler:
    """Makes the code of one tree. Subclasses change what single nodes become."""

    def compile(self, node: Node) -> Code:
        """The code of a tree."""
        return self.part(node).code

    def part(self, node: Node) -> Part:
        """The code of a tree, and its value if that is constant."""
        match node:
            case Literal(value=value):
                # The reference library reads the literal of a relative time as a real.
                return constant(value.secs if isinstance(value, RelTime) else value)
            case Name(name=name, absolute=absolute):
                return self.name(name, absolute)
            case Paren():
                return self.part(strip(node))
            case Binary():
                return self.binary(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case Unary(op=op, operand=operand):
                return self.unary(op, operand)
            case Conditional():
                return self.conditional(node)
            case Elvis(left=left, right=right):
                return self.elvis(left, right)
            case Subscript(base=base, index=index):
                return Part(_subscript(self.compile(base), self.compile(index)))
            case ListNode(items=items):
                return self.list(items)
            case AdNode():
                return Part(_ad(node))

    # -- names ---------------------------------------------------------------------------------

    def name(self, name: str, absolute: bool) -> Part:
        """``name`` or ``.name``."""
        key = fold(name)
        return Part(_absolute(key) if absolute else _name(key))

    def select(self, node: Select) -> Part:
        """``base.name``, with shorter ways for MY and TARGET."""
        key = fold(node.name)
        base = strip(node.base)
        if isinstance(base, Name) and not base.absolute:
            scope = fold(base.name)
            if scope == "my":
                return Part(_my(key))
            if scope == "target":
                return Part(_target(key))
        return Part(_select(self.compile(base), key))

    # -- operators -----------------------------------------------------------------------------

    def unary(self, op: Op, operand: Node) -> Part:
        """A prefix operator."""
        run = UNARY[op]
        part = self.part(operand)
        if part.value is not MISSING:
            return constant(run(part.value))
        code = part.code
        return Part(lambda state: run(code(state)))

    def binary(self, node: Binary) -> Part:
        """An infix operator and all that stand to its left on the same spine."""
        spine = [node]
        first: Node = node.left
        while isinstance(first, Binary):
            spine.append(first)
            first = first.left
        part = self.part(first)
        at = len(spine) - 1
        while at >= 0:
            link = spine[at]
            if link.op in (Op.AND, Op.OR):
                parts = [part]
                while at >= 0 and spine[at].op is link.op:
                    parts.append(self.part(spine[at].right))
                    at -= 1
                part = _logical(link.op, parts)
            else:
                part = _strict(
                    link.op, part, self.part(link.right), first if link.left is first else link.left, link.right
                )
                at -= 1
        return part

    def conditional(self, node: Conditional) -> Part:
        """``a ? b : c ? d : e``: the chain in the last operands is one loop."""
        tests: list[tuple[Code, Code]] = []
        last: Node = node
        while isinstance(last, Conditional):
            tests.append((self.compile(last.test), self.compile(last.then)))
            last = last.otherwise
        return Part(_conditional(tests, self.compile(last)))

    def elvis(self, left: Node, right: Node) -> Part:
        """``left ?: right``."""
        first, second = self.part(left), self.part(right)
        if first.value is not MISSING:
            return second if first.value is UNDEFINED else first
        return Part(_elvis(first.code, second.code))

    # -- the rest ------------------------------------------------------------------------------

    def call(self, node: Call) -> Part:
        """A call of a built-in function; ERROR if there is none of that name or it takes fewer or more arguments."""
        function = functions.lookup(node.name)
        if function is None or not function.accepts(len(node.args)):
            return constant(ERROR)
        if function.special is not None:
            return Part(function.special(self, node))
        assert function.eager is not None
        return Part(_call(function.eager, [self.compile(argument) for argument in node.args]))

    def list(self, nodes: tuple[Node, ...]) -> Part:
        """A list; its items stay as they are until used."""
        items = tuple([_item(node) for node in nodes])
        if not any([isinstance(item, Expr) for item in items]):
            return constant(ListValue(items))
        return Part(lambda state: ListValue(items, state.ad if state.home is None else state.home))


def _item(node: Node) -> Value | Expr:
    if isinstance(node, Literal) and not isinstance(node.value, RelTime):
        return node.value
    return Expr(node)


def constant(value: Value) -> Part:
    """The part that is always `value`."""
    return Part(lambda state: value, value)


# -- names ---------------------------------------------------------------------------------------


def _name(key: str) -> Code:
    def run(state: State) -> Value:
        ad = state.ad
        cell = ad.cells.get(key, MISSING)
        if cell.__class__ in PLAIN:
            return cell  # type: ignore[return-value]
        if cell is MISSING:
            return name_value(state, key)
        return enter(state, ad, cell, key)

    return run


def _absolute(key: str) -> Code:
    return lambda state: absolute_value(state, key)


def _select(base: Code, key: str) -> Code:
    return lambda state: select_value(state, base(state), key)


def _my(key: str) -> Code:
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


def _target(key: str) -> Code:
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


def _subscript(base: Code, index: Code) -> Code:
    return lambda state: subscript_value(state, base(state), index(state))


def _ad(node: AdNode) -> Code:
    """A nested ad, a copy of one made when compiling, so that each evaluation's knows the ad around it."""
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


def _logical(op: Op, parts: list[Part]) -> Part:
    """A chain of ``&&`` or of ``||``."""
    run = BINARY[op]
    while len(parts) > 1 and parts[0].value is not MISSING and parts[1].value is not MISSING:
        parts[:2] = [constant(run(parts[0].value, parts[1].value))]
    if len(parts) == 1:
        return parts[0]
    codes = [part.code for part in parts]
    if len(codes) == 2:
        return Part((_and_2 if op is Op.AND else _or_2)(codes[0], codes[1]))
    return Part((_and if op is Op.AND else _or)(codes))


def _and_2(first: Code, second: Code) -> Code:
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


def _or_2(first: Code, second: Code) -> Code:
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


def _and(codes: list[Code]) -> Code:
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


def _or(codes: list[Code]) -> Code:
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


def _conditional(tests: list[tuple[Code, Code]], otherwise: Code) -> Code:
    def run(state: State) -> Value:
        for test, then in tests:
            x = truth(test(state))
            if x is True:
                return then(state)
            if x is not False:
                return x
        return otherwise(state)

    return run


def _elvis(left: Code, right: Code) -> Code:
    def run(state: State) -> Value:
        x = left(state)
        return right(state) if x is UNDEFINED else x

    return run


def _strict(op: Op, left: Part, right: Part, left_node: Node, right_node: Node) -> Part:
    """A strict operator or ``is``: computed now, or by the shortest closure that fits its operands."""
    run = BINARY[op]
    if left.value is not MISSING and right.value is not MISSING:
        return constant(run(left.value, right.value))
    if op in _COMPARE:
        if right.value.__class__ in (int, float):
            return Part(_compare_number(_COMPARE[op], run, left.code, right.value))
        if right.value.__class__ is str and op in (Op.EQ, Op.NE) and not is_long(right.value):
            return Part(_compare_text(op is Op.NE, run, left.code, right.value))
        return Part(_compare(_COMPARE[op], run, left.code, right.code))
    if op in (Op.IS, Op.ISNT):
        if right.value is not MISSING and right.value.__class__ in _IDENTITY and not is_long(right.value):
            return Part(_identity(op is Op.IS, left.code, right.value))
        return Part(_identical(run, left.code, right.code))
    if op in _SUM:
        return Part(_sum(_SUM[op], run, left.code, right.code))
    x, y = left.code, right.code
    return Part(lambda state: run(x(state), y(state)))


_COMPARE: Final[dict[Op, Callable[[Any, Any], bool]]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
_SUM: Final[dict[Op, Callable[[Any, Any], Any]]] = {Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul}
_IDENTITY: Final = frozenset((bool, int, float, str, UNDEFINED.__class__))


def is_long(value: Value | Missing) -> bool:
    """Whether the value is a string so long that comparing it costs fuel."""
    return isinstance(value, str) and len(value) > LONG_TEXT_CHARS


def _compare(
    compare: Callable[[Any, Any], bool], run: Callable[[Value, Value], Value], left: Code, right: Code
) -> Code:
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


def _compare_number(
    compare: Callable[[Any, Any], bool], run: Callable[[Value, Value], Value], left: Code, number: Any
) -> Code:
    kind = number.__class__

    def compared(state: State) -> Value:
        x = left(state)
        return compare(x, number) if x.__class__ is kind else run(x, number)

    return compared


def _compare_text(negated: bool, run: Callable[[Value, Value], Value], left: Code, text: str) -> Code:
    folded, length = fold(text), len(text)

    def compared(state: State) -> Value:
        x = left(state)
        if x.__class__ is str:
            # Folding keeps the length.
            return (x == text or (len(x) == length and fold(x) == folded)) is not negated
        return run(x, text)

    return compared


def _identity(wanted: bool, left: Code, value: Value) -> Code:
    kind = value.__class__

    def compared(state: State) -> Value:
        x = left(state)
        return (x.__class__ is kind and x == value) is wanted

    return compared


def _identical(run: Callable[[Value, Value], Value], left: Code, right: Code) -> Code:
    def compared(state: State) -> Value:
        x, y = left(state), right(state)
        if x.__class__ is str and len(x) > LONG_TEXT_CHARS:
            state.spend_on_comparison(x, y)
        return run(x, y)

    return compared


def _sum(compute: Callable[[Any, Any], Any], run: Callable[[Value, Value], Value], left: Code, right: Code) -> Code:
    def computed(state: State) -> Value:
        x, y = left(state), right(state)
        if x.__class__ is int and y.__class__ is int:
            result = compute(x, y)
            return result if INT_MIN <= result <= INT_MAX else wrap(result)
        return run(x, y)

    return computed


# -- calls ---------------------------------------------------------------------------------------


def _call(run: Callable[..., Value], codes: list[Code]) -> Code:
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


__all__ = ["Compiler", "Part", "constant", "is_long"]

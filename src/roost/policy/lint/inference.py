"""Abstract interpretation of an expression: which values each of its nodes can have.

One walk over the tree, operands first. On the way through ``&&``, ``||`` and the conditionals it collects *facts*:
behind ``KeyboardIdle > 900 &&`` the attribute lies above 900 and is defined, so that ``KeyboardIdle < 60`` there can
never be true. A fact is kept under the canonical text of what it is about, so that it also holds for compound terms
such as ``LoadAvg - CondorLoadAvg``.

What a fact about ``||`` may say is weaker: the right side is looked at when the left one is false *or UNDEFINED*.

The walk recurses, except along chains of one operator; trees deeper than the interpreter's stack give no results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

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
from roost.classad.unparse import unparse
from roost.classad.values import ERROR as ERROR_VALUE
from roost.classad.values import UNDEFINED as UNDEFINED_VALUE
from roost.classad.values import AbsTime, RelTime, fold
from roost.policy.lint import abstract
from roost.policy.lint.abstract import (
    ANYTHING,
    PLAIN,
    Abstract,
    Measure,
    T,
    over,
    products,
    scaled,
    times,
    union,
)
from roost.policy.lint.calls import call_result

ORDER: Final = frozenset((Op.LT, Op.LE, Op.GT, Op.GE))
COMPARISONS: Final = frozenset((*ORDER, Op.EQ, Op.NE))
IDENTITY: Final = frozenset((Op.IS, Op.ISNT))
ARITHMETIC: Final = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD))
BITWISE: Final = frozenset((Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR, Op.SHL, Op.SHR, Op.USHR))
SWAPPED: Final = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_NEGATED: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT, Op.EQ: Op.NE, Op.NE: Op.EQ}

Facts = Mapping[str, Abstract]


class Names(Protocol):
    """What the names of an expression stand for."""

    def of_name(self, name: str) -> Abstract:
        """An unscoped name."""
        ...

    def of_scope(self, scope: str, name: str) -> Abstract:
        """``MY.name`` or ``TARGET.name``; `scope` is folded."""
        ...


@dataclass(slots=True)
class Inference:
    """The values that the nodes of one tree can have."""

    names: Names
    #: Whether facts are collected; without them each node is judged alone.
    with_facts: bool = True
    results: dict[int, Abstract] = field(default_factory=dict)
    too_deep: bool = False

    def run(self, tree: Node) -> Abstract:
        """Infer the whole tree."""
        try:
            return self.node(tree, {})
        except RecursionError:
            self.too_deep = True
            self.results.clear()
            return ANYTHING

    def of(self, node: Node) -> Abstract:
        """The result for a node of the tree."""
        return self.results.get(id(node), ANYTHING)

    def node(self, node: Node, facts: Facts) -> Abstract:
        """Infer one node; `facts` holds where it is looked at."""
        result = self._node(node, facts)
        self.results[id(node)] = result
        return result

    def _node(self, node: Node, facts: Facts) -> Abstract:
        match node:
            case Literal(value=value):
                return of_constant(value)
            case Name(name=name):
                return self._known(node, facts) or self.names.of_name(name)
            case Select():
                return self._known(node, facts) or self._select(node, facts)
            case Paren(inner=inner):
                return self.node(inner, facts)
            case Unary(op=op, operand=operand):
                return unary(op, self.node(operand, facts))
            case Binary():
                return self._binary(node, facts)
            case Conditional(test=test, then=then, otherwise=otherwise):
                return self._choice(test, then, otherwise, facts)
            case Elvis(left=left, right=right):
                first = self.node(left, facts)
                second = self.node(right, facts)
                return union(first.without(T.UNDEFINED), second) if first.can_be_undefined else first
            case Subscript(base=base, index=index):
                self.node(base, facts)
                self.node(index, facts)
                return ANYTHING
            case Call(name=name, args=args):
                if fold(name) == "ifthenelse" and len(args) == 3:
                    return self._choice(*args, facts)
                return call_result(fold(name), args, [self.node(argument, facts) for argument in args])
            case ListNode(items=items):
                for item in items:
                    self.node(item, facts)
                return Abstract(T.LIST)
            case AdNode():
                return Abstract(T.AD)

    def _known(self, node: Node, facts: Facts) -> Abstract | None:
        return facts.get(key_of(node)) if facts else None

    def _select(self, node: Select, facts: Facts) -> Abstract:
        base = strip(node.base)
        if isinstance(base, Name) and fold(base.name) in ("my", "target", "other", "self"):
            scope = "target" if fold(base.name) in ("target", "other") else "my"
            return self.names.of_scope(scope, node.name)
        self.node(node.base, facts)
        return ANYTHING

    def _binary(self, node: Binary, facts: Facts) -> Abstract:
        spine: list[Binary] = []
        first: Node = node
        while isinstance(first, Binary):
            spine.append(first)
            first = first.left
        # The right sides of a chain of one logical operator see the facts of everything before them; the facts
        # of a link hold only for its own right side and those of the same operator above it.
        seen: Facts = facts
        left = self.node(first, facts)
        previous: Node = first
        for link in reversed(spine):
            if link.op in (Op.AND, Op.OR):
                if isinstance(previous, Binary) and previous.op is link.op:
                    # What its left side says is among the facts already.
                    seen = self.assume(previous.right, link.op is Op.AND, seen)
                else:
                    seen = self.assume(previous, link.op is Op.AND, facts)
                right = self.node(link.right, seen)
                left = (conjunction if link.op is Op.AND else disjunction)(left, right)
            else:
                seen = facts
                left = binary(link.op, left, self.node(link.right, facts))
                left = (self._known(link, facts) or left) if link.op in ARITHMETIC else left
            self.results[id(link)] = left
            previous = link
        return left

    def _choice(self, test: Node, then: Node, otherwise: Node, facts: Facts) -> Abstract:
        decided = self.node(test, facts)
        chosen = self.node(then, self.assume(test, True, facts))
        other = self.node(otherwise, self.assume(test, False, facts))
        parts = []
        if decided.can_be_true:
            parts.append(chosen)
        if decided.can_be_false:
            parts.append(other)
        if decided.can_be_undefined:
            parts.append(abstract.UNDEFINED)
        if decided.types & (T.ERROR | T.STRING | T.LIST | T.AD | T.TIME):
            parts.append(abstract.ERROR)
        return union(*parts)

    # -- facts -----------------------------------------------------------------------------------

    def assume(self, node: Node, outcome: bool, facts: Facts) -> Facts:
        """The facts that hold where `node` is TRUE, or (`outcome` False) where it is anything else but TRUE."""
        if not self.with_facts:
            return facts
        added = dict(facts)
        self._assume(node, outcome, added)
        return added

    def _assume(self, node: Node, outcome: bool, facts: dict[str, Abstract]) -> None:
        node = strip(node)
        match node:
            case Unary(op=Op.NOT, operand=operand):
                # !x is TRUE where x is FALSE; where it is not TRUE, x is TRUE or UNDEFINED: nothing to say.
                if outcome:
                    self._assume_false(operand, facts)
            case Binary(op=Op.AND, left=left, right=right) if outcome:
                self._assume(left, True, facts)
                self._assume(right, True, facts)
            case Binary(op=Op.OR, left=left, right=right) if not outcome:
                self._assume(left, False, facts)
                self._assume(right, False, facts)
            case Binary(op=op) if op in COMPARISONS:
                self._compared(node, op if outcome else _NEGATED[op], outcome, facts)
            case Binary(op=op) if op in IDENTITY:
                self._identified(node, (op is Op.IS) is outcome, facts)
            case Name() | Select():
                known = self._current(node, facts)
                if outcome:
                    facts[key_of(node)] = known.without(T.UNDEFINED | T.ERROR | T.FALSE)
                else:
                    facts[key_of(node)] = known.without(T.TRUE)
            case Call(name=name, args=(argument,)) if fold(name) == "isundefined":
                self._undefined(argument, outcome, facts)
            case _:
                pass

    def _assume_false(self, node: Node, facts: dict[str, Abstract]) -> None:
        """Facts where `node` is FALSE for sure."""
        self._assume(node, False, facts)
        node = strip(node)
        if isinstance(node, Name | Select):
            facts[key_of(node)] = self._current(node, facts).without(T.UNDEFINED | T.ERROR)

    def _current(self, node: Node, facts: Facts) -> Abstract:
        return facts.get(key_of(node)) or self.of(node)

    def _compared(self, node: Binary, op: Op, holds: bool, facts: dict[str, Abstract]) -> None:
        for side, other, seen in ((node.left, node.right, op), (node.right, node.left, SWAPPED[op])):
            side = strip(side)
            if isinstance(side, Literal):
                continue
            limit = self.of(other)
            known = self._current(side, facts)
            narrowed = narrow(known, seen, limit)
            facts[key_of(side)] = narrowed.without(T.UNDEFINED | T.ERROR) if holds else narrowed

    def _identified(self, node: Binary, same: bool, facts: dict[str, Abstract]) -> None:
        for side, other in ((node.left, node.right), (node.right, node.left)):
            side, other = strip(side), strip(other)
            if isinstance(side, Literal) or not isinstance(other, Literal):
                continue
            if other.value is UNDEFINED_VALUE:
                self._undefined(side, same, facts)
            elif same:
                facts[key_of(side)] = narrow(self._current(side, facts), Op.EQ, self.of(other)).without(
                    T.UNDEFINED | T.ERROR
                )
            elif isinstance(other.value, bool):
                facts[key_of(side)] = self._current(side, facts).without(T.TRUE if other.value else T.FALSE)

    def _undefined(self, node: Node, is_so: bool, facts: dict[str, Abstract]) -> None:
        node = strip(node)
        if isinstance(node, Name | Select):
            known = self._current(node, facts)
            facts[key_of(node)] = abstract.UNDEFINED if is_so else known.without(T.UNDEFINED)


def key_of(node: Node) -> str:
    """The canonical text of a term, under which facts about it are kept."""
    return fold(unparse(strip(node)))


def of_constant(value: object) -> Abstract:
    """A constant of the text."""
    if value is UNDEFINED_VALUE:
        return abstract.UNDEFINED
    if value is ERROR_VALUE:
        return abstract.ERROR
    if isinstance(value, bool):
        return abstract.TRUE if value else abstract.FALSE
    if isinstance(value, int | float):
        return Abstract(T.INTEGER if isinstance(value, int) else T.REAL, value, value, PLAIN, constant=True)
    if isinstance(value, str):
        return Abstract(T.STRING, texts=(value,), constant=True)
    return Abstract(T.TIME if isinstance(value, AbsTime | RelTime) else T.DEFINED)


def narrow(known: Abstract, op: Op, limit: Abstract) -> Abstract:
    """`known` where ``known op limit`` holds, as far as a constant limit says something."""
    if limit.texts is not None and limit.only(T.STRING):
        wanted = {fold(text) for text in limit.texts}
        if op is Op.EQ:
            texts = limit.texts if known.texts is None else tuple([t for t in known.texts if fold(t) in wanted])
            types = T.STRING if known.types & T.STRING and texts else T.NOTHING
            return replace(known, types=types | (known.types & (T.UNDEFINED | T.ERROR)), texts=texts)
        if op is Op.NE and known.texts is not None and len(wanted) == 1:
            texts = tuple([t for t in known.texts if fold(t) not in wanted])
            return replace(known, types=known.types if texts else known.types & ~T.STRING, texts=texts)
        return known
    bound = limit.single
    if bound is None or not known.types & T.NUMBER or known.types & T.BOOLEAN:
        return known
    low, high = known.low, known.high
    step = 1.0 if known.types & T.NUMBER == T.INTEGER and float(bound).is_integer() else 0.0
    if op in (Op.GT, Op.GE, Op.EQ):
        low = max(low, bound + (step if op is Op.GT else 0.0))
    if op in (Op.LT, Op.LE, Op.EQ):
        high = min(high, bound - (step if op is Op.LT else 0.0))
    if low > high or (low == high == bound and op in (Op.GT, Op.LT)):
        return known.without(T.NUMBER)
    return replace(known, low=low, high=high)


# -- operators ---------------------------------------------------------------------------------------


def conjunction(a: Abstract, b: Abstract) -> Abstract:
    """``a && b``."""
    types = T.NOTHING
    other = T.STRING | T.LIST | T.AD | T.TIME | T.ERROR
    goes_on = a.can_be_true or a.can_be_undefined
    if a.can_be_true and b.can_be_true:
        types |= T.TRUE
    if a.can_be_false or (goes_on and b.can_be_false):
        types |= T.FALSE
    if (a.can_be_undefined and (b.can_be_true or b.can_be_undefined)) or (a.can_be_true and b.can_be_undefined):
        types |= T.UNDEFINED
    if a.types & other or (goes_on and b.types & other):
        types |= T.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def disjunction(a: Abstract, b: Abstract) -> Abstract:
    """``a || b``."""
    types = T.NOTHING
    other = T.STRING | T.LIST | T.AD | T.TIME | T.ERROR
    goes_on = a.can_be_false or a.can_be_undefined
    if a.can_be_true or (goes_on and b.can_be_true):
        types |= T.TRUE
    if a.can_be_false and b.can_be_false:
        types |= T.FALSE
    if (a.can_be_undefined and (b.can_be_false or b.can_be_undefined)) or (a.can_be_false and b.can_be_undefined):
        types |= T.UNDEFINED
    if a.types & other or (goes_on and b.types & other):
        types |= T.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def unary(op: Op, value: Abstract) -> Abstract:
    """A prefix operator."""
    if op is Op.NOT:
        types = value.types & (T.UNDEFINED | T.ERROR)
        if value.can_be_true:
            types |= T.FALSE
        if value.can_be_false:
            types |= T.TRUE
        if value.types & (T.STRING | T.LIST | T.AD | T.TIME):
            types |= T.ERROR
        return Abstract(types, constant=value.constant)
    types = value.types & (T.UNDEFINED | T.ERROR | T.NUMBER | T.TIME)
    if value.types & (T.STRING | T.LIST | T.AD | T.BOOLEAN):
        types |= T.ERROR
    if op is Op.SUB:
        return Abstract(types, -value.high, -value.low, value.unit, constant=value.constant)
    if op is Op.ADD:
        return Abstract(types, value.low, value.high, value.unit, constant=value.constant)
    return Abstract(types)


def binary(op: Op, a: Abstract, b: Abstract) -> Abstract:
    """An infix operator other than ``&&`` and ``||``."""
    if op in IDENTITY:
        return _identity(op, a, b)
    if op in COMPARISONS:
        return _comparison(op, a, b)
    if op in ARITHMETIC:
        return _arithmetic(op, a, b)
    types = (a.types | b.types) & (T.UNDEFINED | T.ERROR)
    if a.types & T.INTEGER and b.types & T.INTEGER:
        types |= T.INTEGER
    if (a.types | b.types) & (T.DEFINED & ~T.INTEGER):
        types |= T.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def _exceptions(a: Abstract, b: Abstract) -> int:
    """UNDEFINED and ERROR as a strict operator passes them on."""
    types = (a.types | b.types) & T.ERROR
    if (a.can_be_undefined and b.types & ~T.ERROR) or (b.can_be_undefined and a.types & ~T.ERROR):
        types |= T.UNDEFINED
    return types


def _comparison(op: Op, a: Abstract, b: Abstract) -> Abstract:
    types = _exceptions(a, b)
    if a.types & T.COUNTABLE and b.types & T.COUNTABLE:
        types |= _ordered(op, a.interval, b.interval)
    if a.types & T.STRING and b.types & T.STRING:
        types |= _texts(op, a, b)
    if a.types & T.TIME and b.types & T.TIME:
        types |= T.BOOLEAN
    for x, y in ((a, b), (b, a)):
        if x.types & T.STRING and y.types & (T.COUNTABLE | T.LIST | T.AD | T.TIME):
            types |= T.ERROR
        if x.types & (T.LIST | T.AD) and y.types & T.DEFINED:
            types |= T.ERROR
        if x.types & T.TIME and y.types & T.COUNTABLE:
            types |= T.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def _ordered(op: Op, a: tuple[float, float], b: tuple[float, float]) -> int:
    """Which outcomes a comparison of numbers within bounds can have."""
    (a_low, a_high), (b_low, b_high) = a, b
    match op:
        case Op.LT:
            yes, no = a_low < b_high, a_high >= b_low
        case Op.LE:
            yes, no = a_low <= b_high, a_high > b_low
        case Op.GT:
            yes, no = a_high > b_low, a_low <= b_high
        case Op.GE:
            yes, no = a_high >= b_low, a_low < b_high
        case _:
            meet = a_low <= b_high and b_low <= a_high
            alone = a_low == a_high == b_low == b_high
            yes, no = (meet, not alone) if op is Op.EQ else (not alone, meet)
    return (T.TRUE if yes else T.NOTHING) | (T.FALSE if no else T.NOTHING)


def _texts(op: Op, a: Abstract, b: Abstract) -> int:
    if op not in (Op.EQ, Op.NE) or a.texts is None or b.texts is None:
        return T.BOOLEAN
    left, right = {fold(t) for t in a.texts}, {fold(t) for t in b.texts}
    equal, different = bool(left & right), len(left | right) > 1
    if op is Op.NE:
        equal, different = different, equal
    return (T.TRUE if equal else T.NOTHING) | (T.FALSE if different else T.NOTHING)


def _identity(op: Op, a: Abstract, b: Abstract) -> Abstract:
    shared = a.types & b.types
    same = bool(shared & ~(T.NUMBER | T.STRING | T.LIST | T.AD))
    if shared & T.NUMBER:
        same |= a.low <= b.high and b.low <= a.high
    if shared & T.STRING:
        same |= a.texts is None or b.texts is None or bool(set(a.texts) & set(b.texts))
    alone = a.types == b.types and a.types in (T.UNDEFINED, T.ERROR, T.TRUE, T.FALSE)
    alone |= a.only(T.INTEGER) and b.only(T.INTEGER) and a.low == a.high == b.low == b.high
    if op is Op.ISNT:
        types = (T.FALSE if same else T.NOTHING) | (T.NOTHING if alone else T.TRUE)
    else:
        types = (T.TRUE if same else T.NOTHING) | (T.NOTHING if alone else T.FALSE)
    if shared & (T.LIST | T.AD):
        types |= T.ERROR | T.BOOLEAN
    return Abstract(types, constant=a.constant and b.constant)


def _arithmetic(op: Op, a: Abstract, b: Abstract) -> Abstract:
    types = _exceptions(a, b)
    bad = T.STRING | T.LIST | T.AD
    if (a.types & bad and b.types & T.DEFINED) or (b.types & bad and a.types & T.DEFINED):
        types |= T.ERROR
    if (a.types | b.types) & T.TIME:
        types |= T.TIME | T.NUMBER | T.ERROR
    if not (a.types & T.COUNTABLE and b.types & T.COUNTABLE):
        return Abstract(types)
    real = (a.types | b.types) & T.REAL
    if a.types & (T.INTEGER | T.BOOLEAN) and b.types & (T.INTEGER | T.BOOLEAN):
        types |= T.INTEGER
    if real:
        types |= T.REAL
    (low, high), unit = _bounds(op, a, b), _unit(op, a, b)
    divisor = b.interval
    if op in (Op.DIV, Op.MOD) and divisor[0] <= 0 <= divisor[1]:
        types |= T.ERROR
        if divisor == (0.0, 0.0):
            types &= ~T.NUMBER
    if op is Op.MOD and real:
        types |= T.ERROR
    return Abstract(types, low, high, unit, constant=a.constant and b.constant)


def _bounds(op: Op, a: Abstract, b: Abstract) -> tuple[float, float]:
    (a_low, a_high), (b_low, b_high) = a.interval, b.interval
    match op:
        case Op.ADD:
            return a_low + b_low, a_high + b_high
        case Op.SUB:
            return a_low - b_high, a_high - b_low
        case Op.MUL:
            return times((a_low, a_high), (b_low, b_high))
        case Op.DIV:
            whole = not (a.types | b.types) & T.REAL
            return over((a_low, a_high), (b_low, b_high), integer=whole)
        case _:
            size = max(abs(b_low), abs(b_high))
            return (0.0 if a_low >= 0 else -size), size


def _unit(op: Op, a: Abstract, b: Abstract) -> Measure | None:
    """The unit of the result; None where it is not known."""
    a_unit, b_unit = _counted(a), _counted(b)
    if op is Op.MUL:
        for unit, factor in ((a_unit, b), (b_unit, a)):
            if factor.constant and factor.single is not None:
                return scaled(unit, factor.single, divided=False)
        return products(a_unit, b_unit, divided=False)
    if op is Op.DIV:
        if b.constant and b.single is not None:
            return scaled(a_unit, b.single, divided=True)
        return products(a_unit, b_unit, divided=True)
    if a_unit is None or b_unit is None:
        return a_unit if b.constant else b_unit if a.constant else None
    if a_unit.dimension == b_unit.dimension == "date":
        return abstract.SECONDS if op is Op.SUB else None
    if "date" in (a_unit.dimension, b_unit.dimension):
        return abstract.INSTANT if not (op is Op.SUB and b_unit.dimension == "date") else None
    if not b_unit.dimension:
        return a_unit
    if not a_unit.dimension:
        return b_unit
    return a_unit if a_unit == b_unit else None


def _counted(value: Abstract) -> Measure | None:
    """The unit of a value; truth values are plain numbers."""
    return PLAIN if not value.types & T.NUMBER and value.types & T.BOOLEAN else value.unit

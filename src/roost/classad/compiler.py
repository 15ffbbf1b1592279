"""Trees to closures: each node becomes a Python function of the evaluation state.

A part is a closure and, if it is known already, its constant value: operators on constants are computed when
compiling. Chains of one logical operator become one closure over all links. The closures themselves are in
`closures`; this module chooses the shortest one that fits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from roost.classad import closures, functions
from roost.classad.ad import MISSING, Missing
from roost.classad.expr import Expr
from roost.classad.ops import BINARY, LONG_TEXT_CHARS, UNARY
from roost.classad.state import Code
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
from roost.classad.values import ERROR, UNDEFINED, ListValue, RelTime, Value, fold


class CompiledPart(NamedTuple):
    """Compiled code and, where it does not depend on anything, its value."""

    code: Code
    value: Value | Missing = MISSING


class Compiler:
    """Compiles one tree. Subclasses override the code of single nodes."""

    def compile(self, node: Node) -> Code:
        """The code of a tree."""
        return self.part(node).code

    def part(self, node: Node) -> CompiledPart:
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
                return CompiledPart(closures.subscript(self.compile(base), self.compile(index)))
            case ListNode(items=items):
                return self.list(items)
            case AdNode():
                return CompiledPart(closures.ad(node))

    # -- names ---------------------------------------------------------------------------------

    def name(self, name: str, absolute: bool) -> CompiledPart:
        """``name`` or ``.name``."""
        key = fold(name)
        return CompiledPart(closures.absolute(key) if absolute else closures.name(key))

    def select(self, node: Select) -> CompiledPart:
        """``base.name``, with shorter ways for MY and TARGET."""
        key = fold(node.name)
        base = strip(node.base)
        if isinstance(base, Name) and not base.absolute:
            scope = fold(base.name)
            if scope == "my":
                return CompiledPart(closures.my(key))
            if scope == "target":
                return CompiledPart(closures.target(key))
        return CompiledPart(closures.select(self.compile(base), key))

    # -- operators -----------------------------------------------------------------------------

    def unary(self, op: Op, operand: Node) -> CompiledPart:
        """A prefix operator."""
        run = UNARY[op]
        part = self.part(operand)
        if part.value is not MISSING:
            return constant(run(part.value))
        code = part.code
        return CompiledPart(lambda state: run(code(state)))

    def binary(self, node: Binary) -> CompiledPart:
        """An infix operator and the chain of operators in its left operands."""
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
                part = _strict(link.op, part, self.part(link.right))
                at -= 1
        return part

    def conditional(self, node: Conditional) -> CompiledPart:
        """``a ? b : c ? d : e``: the chain in the last operands is one loop."""
        tests: list[tuple[Code, Code]] = []
        last: Node = node
        while isinstance(last, Conditional):
            tests.append((self.compile(last.test), self.compile(last.then)))
            last = last.otherwise
        return CompiledPart(closures.conditional(tests, self.compile(last)))

    def elvis(self, left: Node, right: Node) -> CompiledPart:
        """``left ?: right``."""
        first, second = self.part(left), self.part(right)
        if first.value is not MISSING:
            return second if first.value is UNDEFINED else first
        return CompiledPart(closures.elvis(first.code, second.code))

    # -- the rest ------------------------------------------------------------------------------

    def call(self, node: Call) -> CompiledPart:
        """A call of a built-in function; ERROR if the name is unknown or the number of arguments is wrong."""
        function = functions.lookup(node.name)
        if function is None or not function.accepts(len(node.args)):
            return constant(ERROR)
        if function.special is not None:
            return CompiledPart(function.special(self, node))
        assert function.eager is not None
        return CompiledPart(closures.call(function.eager, [self.compile(argument) for argument in node.args]))

    def list(self, nodes: tuple[Node, ...]) -> CompiledPart:
        """A list; its items stay unevaluated until used."""
        items = tuple([_item(node) for node in nodes])
        if not any([isinstance(item, Expr) for item in items]):
            return constant(ListValue(items))
        return CompiledPart(lambda state: ListValue(items, state.ad if state.home is None else state.home))


def _item(node: Node) -> Value | Expr:
    if isinstance(node, Literal) and not isinstance(node.value, RelTime):
        return node.value
    return Expr(node)


def constant(value: Value) -> CompiledPart:
    """The part that is always `value`."""
    return CompiledPart(lambda state: value, value)


# -- operators -----------------------------------------------------------------------------------


def _logical(op: Op, parts: list[CompiledPart]) -> CompiledPart:
    """A chain of ``&&`` or of ``||``."""
    run = BINARY[op]
    while len(parts) > 1 and parts[0].value is not MISSING and parts[1].value is not MISSING:
        parts[:2] = [constant(run(parts[0].value, parts[1].value))]
    if len(parts) == 1:
        return parts[0]
    codes = [part.code for part in parts]
    if len(codes) == 2:
        return CompiledPart((closures.and_2 if op is Op.AND else closures.or_2)(codes[0], codes[1]))
    return CompiledPart((closures.and_all if op is Op.AND else closures.or_all)(codes))


def _strict(op: Op, left: CompiledPart, right: CompiledPart) -> CompiledPart:
    """A strict operator or ``is``: computed now, or by the shortest closure that fits its operands."""
    run = BINARY[op]
    if left.value is not MISSING and right.value is not MISSING:
        return constant(run(left.value, right.value))
    if op in _COMPARE:
        if right.value.__class__ in (int, float):
            return CompiledPart(closures.compare_number(_COMPARE[op], run, left.code, right.value))
        if right.value.__class__ is str and op in (Op.EQ, Op.NE) and not is_long(right.value):
            return CompiledPart(closures.compare_text(op is Op.NE, run, left.code, right.value))
        return CompiledPart(closures.compare(_COMPARE[op], run, left.code, right.code))
    if op in (Op.IS, Op.ISNT):
        if right.value is not MISSING and right.value.__class__ in _IDENTITY and not is_long(right.value):
            return CompiledPart(closures.identity(op is Op.IS, left.code, right.value))
        return CompiledPart(closures.identical(run, left.code, right.code))
    if op in _SUM:
        return CompiledPart(closures.arithmetic(_SUM[op], run, left.code, right.code))
    x, y = left.code, right.code
    return CompiledPart(lambda state: run(x(state), y(state)))


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
    """Whether the value is a string long enough that comparing it costs fuel."""
    return isinstance(value, str) and len(value) > LONG_TEXT_CHARS


__all__ = ["CompiledPart", "Compiler", "constant", "is_long"]

"""Trees to functions of a `Run`: the vector twin of `roost.classad.compiler`.

Each node becomes a closure that returns an operand: a vector, or a value if all rows agree. Parts made of constants
are computed when compiling. Every operator and call over names goes through `Run.remember`. A node without a closure
here (subscripts by row, nested ads, functions that look at expressions) is DEFERRED.
"""

from __future__ import annotations

from itertools import count
from typing import Final

from roost.classad.ops import COMPARISONS, text_steps
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
from roost.classad.values import ERROR, UNDEFINED, ListValue, RelTime, fold
from roost.classad.vector.calls import call, plain_items, subscript
from roost.classad.vector.kinds import ABSENT, DEFER, DEFERRED, OTHER, UNDEF
from roost.classad.vector.logic import by_kind, choose, condition, decided, logical, otherwise
from roost.classad.vector.operators import binary, unary
from roost.classad.vector.run import Code, Run, VectorPart
from roost.classad.vector.vectors import Operand, longest_text

#: Process-wide numbering of cached parts.
_PARTS: Final = count()


def compile_vector(node: Node) -> Code:
    """The code of a tree. May raise RecursionError for one nested very deeply."""
    return _part(node).code


def constant(value: Operand) -> VectorPart:
    """The part that is always `value`."""
    return VectorPart(lambda run: value, value)


def _part(node: Node) -> VectorPart:
    match node:
        case Literal(value=value):
            # As in the scalar compiler: the literal of a relative time reads as a real.
            return constant(value.secs if isinstance(value, RelTime) else value)
        case Name(name=name, absolute=absolute):
            key = fold(name)
            return constant(DEFERRED) if absolute else VectorPart(lambda run: run.name(key))
        case Paren():
            return _part(strip(node))
        case Select():
            return _select(node)
        case Unary(op=op, operand=operand):
            part = _part(operand)
            return _remembered(lambda run: unary(op, part.code(run)), part)
        case Binary():
            return _binary(node)
        case Conditional():
            return _conditional(node)
        case Elvis(left=left, right=right):
            first, second = _part(left), _part(right)
            return _remembered(lambda run: otherwise(first.code(run), lambda: second.code(run)), first, second)
        case Call():
            return call(node, _part, _remembered)
        case Subscript(base=base, index=index):
            parts = _part(base), _part(index)
            return _remembered(subscript(parts[0].code, parts[1].code), *parts)
        case ListNode(items=items):
            plain = plain_items(items)
            return constant(DEFERRED if plain is None else ListValue(plain))
        case AdNode():
            return constant(DEFERRED)


def _remembered(code: Code, *parts: VectorPart) -> VectorPart:
    """`code` made of `parts`: its value if they are all constant, else code that asks the memory first."""
    if all(part.value is not ABSENT for part in parts):
        # None of the parts uses the run.
        return constant(code(None))  # type: ignore[arg-type]
    number = next(_PARTS)
    return VectorPart(lambda run: run.remember(number, code))


def _select(node: Select) -> VectorPart:
    key = fold(node.name)
    base = strip(node.base)
    if isinstance(base, Name) and not base.absolute:
        scope = fold(base.name)
        if scope == "my":
            return VectorPart(lambda run: run.my(key))
        if scope == "target":
            return VectorPart(lambda run: run.other(key))
    part = _part(base)
    return _remembered(lambda run: by_kind(part.code(run), _SELECTED, ERROR), part)


#: ``x.name`` by the kind of x; of any other it is ERROR. Lists give lists.
_SELECTED: Final[dict[int, Operand]] = {UNDEF: UNDEFINED, DEFER: DEFERRED, OTHER: DEFERRED}


def _binary(node: Binary) -> VectorPart:
    """An infix operator and all that stand to its left on the same spine."""
    spine = [node]
    first: Node = node.left
    while isinstance(first, Binary):
        spine.append(first)
        first = first.left
    part = _part(first)
    while spine:
        link = spine.pop()
        if link.op is Op.AND or link.op is Op.OR:
            parts = [part, _part(link.right)]
            while spine and spine[-1].op is link.op:
                parts.append(_part(spine.pop().right))
            part = _remembered(_logical(parts, link.op is Op.AND), *parts)
        else:
            part = _strict(link.op, part, _part(link.right))
    return part


def _strict(op: Op, left: VectorPart, right: VectorPart) -> VectorPart:
    x, y = left.code, right.code
    if op not in COMPARISONS:
        return _remembered(lambda run: binary(op, x(run), y(run)), left, right)

    def code(run: Run) -> Operand:
        one, other = x(run), y(run)
        steps = text_steps(min(longest_text(one), longest_text(other)))
        if steps and run is not None:
            run.trace.steps += steps
        return binary(op, one, other)

    return _remembered(code, left, right)


def _logical(parts: list[VectorPart], conjunction: bool) -> Code:
    """A chain of ``&&`` or ``||``; it ends when no row is undecided."""
    first, *rest = [part.code for part in parts]

    def code(run: Run) -> Operand:
        found = first(run)
        for later in rest:
            if decided(found, conjunction):
                break
            found = logical(found, later(run), conjunction)
        return condition(found)

    return code


def _conditional(node: Conditional) -> VectorPart:
    test, then = _part(node.test), _part(node.then)
    last = _part(node.otherwise)

    def code(run: Run) -> Operand:
        return choose(test.code(run), lambda: then.code(run), lambda: last.code(run))

    return _remembered(code, test, then, last)

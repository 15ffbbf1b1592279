"""The syntax tree of a ClassAd expression: frozen nodes with source spans.

Two trees are equal when they mean and print the same; spans do not count. Parentheses are kept as nodes
(`Paren`) so that text is printed as it was written.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from roost.base.records import dataclass, field
from roost.classad.values import AbsTime, Exceptional, RelTime

#: First character offset and the offset after the last one.
Span: TypeAlias = tuple[int, int]

NOWHERE: Span = (0, 0)

#: What a literal may hold.
Constant: TypeAlias = "Exceptional | bool | int | float | str | AbsTime | RelTime"


class Op(StrEnum):
    """Operators, by their spelling in the new syntax."""

    OR = "||"
    AND = "&&"
    BIT_OR = "|"
    BIT_XOR = "^"
    BIT_AND = "&"
    EQ = "=="
    NE = "!="
    IS = "is"
    ISNT = "isnt"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    SHL = "<<"
    SHR = ">>"
    USHR = ">>>"
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    NOT = "!"
    INVERT = "~"

    # The hash of enumerations is Python code, and tables of operators are used constantly.
    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Constant
    span: Span = field(default=NOWHERE, compare=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python and different here; so are 0.0 and -0.0.
        return (
            other.__class__ is Literal
            and self.value.__class__ is other.value.__class__
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.value.__class__, self.value))


@dataclass(frozen=True, slots=True)
class Name:
    """An unscoped reference ``name``, or ``.name`` to the outermost ad when `absolute`."""

    name: str
    absolute: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    """``base.name``."""

    base: Node
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """A prefix operator: ``- + ! ~``."""

    op: Op
    operand: Node
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator."""

    op: Op
    left: Node
    right: Node
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """``test ? then : otherwise``."""

    test: Node
    then: Node
    otherwise: Node
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Elvis:
    """``left ?: right``: `left` unless it is UNDEFINED."""

    left: Node
    right: Node
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Subscript:
    """``base[index]``."""

    base: Node
    index: Node
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """``name(args)``."""

    name: str
    args: tuple[Node, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ListNode:
    """``{ a, b }``."""

    items: tuple[Node, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class AdNode:
    """``[ name = expression; … ]``: in source order; a later definition of a name replaces an earlier one."""

    attributes: tuple[tuple[str, Node], ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Paren:
    """``( inner )``, kept so that it prints as written."""

    inner: Node
    span: Span = field(default=NOWHERE, compare=False)


Node: TypeAlias = (
    Literal | Name | Select | Unary | Binary | Conditional | Elvis | Subscript | Call | ListNode | AdNode | Paren
)


def children(node: Node) -> tuple[Node, ...]:
    """The operands of a node, left to right."""
    match node:
        case Literal() | Name():
            return ()
        case Select(base=base):
            return (base,)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Elvis(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Subscript(base=base, index=index):
            return (base, index)
        case Call(args=args):
            return args
        case ListNode(items=items):
            return items
        case AdNode(attributes=attributes):
            return tuple(expression for _, expression in attributes)
        case Paren(inner=inner):
            return (inner,)


def strip(node: Node) -> Node:
    """`node` without the parentheses around it."""
    while isinstance(node, Paren):
        node = node.inner
    return node

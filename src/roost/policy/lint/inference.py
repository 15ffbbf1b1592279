"""Abstract interpretation of an expression: which values each of its nodes can have.

One walk over the tree, operands first. Through ``&&``, ``||`` and the conditionals it collects *facts*: after
``KeyboardIdle > 900 &&`` the attribute is above 900 and defined, so that ``KeyboardIdle < 60`` there can never be true.
A fact is stored under the canonical text of its subject, so that it also holds for compound terms such as ``LoadAvg
- CondorLoadAvg``.

Facts from ``||`` are weaker: the right side is evaluated when the left one is false *or UNDEFINED*.

The walk recurses, except along chains of one operator; trees deeper than the interpreter's stack give no results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from roost.base.records import dataclass, field
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
from roost.classad.values import UNDEFINED as UNDEFINED_VALUE
from roost.classad.values import fold
from roost.policy.lint import abstract
from roost.policy.lint.abstract import ANYTHING, Abstract, Types, union
from roost.policy.lint.calls import call_result
from roost.policy.lint.operators import (
    ARITHMETIC,
    COMPARISONS,
    IDENTITY,
    NEGATED,
    SWAPPED,
    binary,
    conjunction,
    disjunction,
    narrow,
    of_constant,
    unary,
)

Facts = Mapping[str, Abstract]


class Names(Protocol):
    """The meaning of the names of an expression."""

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
        """Infer one node; `facts` hold where it is evaluated."""
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
                return union(first.without(Types.UNDEFINED), second) if first.can_be_undefined else first
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
                return Abstract(Types.LIST)
            case AdNode():
                return Abstract(Types.AD)

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
                    # The facts already include those of its left side.
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
        if decided.types & (Types.ERROR | Types.STRING | Types.LIST | Types.AD | Types.TIME):
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
                self._compared(node, op if outcome else NEGATED[op], outcome, facts)
            case Binary(op=op) if op in IDENTITY:
                self._identified(node, (op is Op.IS) is outcome, facts)
            case Name() | Select():
                known = self._current(node, facts)
                if outcome:
                    facts[key_of(node)] = known.without(Types.UNDEFINED | Types.ERROR | Types.FALSE)
                else:
                    facts[key_of(node)] = known.without(Types.TRUE)
            case Call(name=name, args=(argument,)) if fold(name) == "isundefined":
                self._undefined(argument, outcome, facts)
            case _:
                pass

    def _assume_false(self, node: Node, facts: dict[str, Abstract]) -> None:
        """Facts where `node` is certain to be FALSE."""
        self._assume(node, False, facts)
        node = strip(node)
        if isinstance(node, Name | Select):
            facts[key_of(node)] = self._current(node, facts).without(Types.UNDEFINED | Types.ERROR)

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
            facts[key_of(side)] = narrowed.without(Types.UNDEFINED | Types.ERROR) if holds else narrowed

    def _identified(self, node: Binary, same: bool, facts: dict[str, Abstract]) -> None:
        for side, other in ((node.left, node.right), (node.right, node.left)):
            side, other = strip(side), strip(other)
            if isinstance(side, Literal) or not isinstance(other, Literal):
                continue
            if other.value is UNDEFINED_VALUE:
                self._undefined(side, same, facts)
            elif same:
                facts[key_of(side)] = narrow(self._current(side, facts), Op.EQ, self.of(other)).without(
                    Types.UNDEFINED | Types.ERROR
                )
            elif isinstance(other.value, bool):
                facts[key_of(side)] = self._current(side, facts).without(Types.TRUE if other.value else Types.FALSE)

    def _undefined(self, node: Node, is_so: bool, facts: dict[str, Abstract]) -> None:
        node = strip(node)
        if isinstance(node, Name | Select):
            known = self._current(node, facts)
            facts[key_of(node)] = abstract.UNDEFINED if is_so else known.without(Types.UNDEFINED)


def key_of(node: Node) -> str:
    """The canonical text of a term, under which facts about it are kept."""
    return fold(unparse(strip(node)))

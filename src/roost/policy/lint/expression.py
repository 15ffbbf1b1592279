"""One expression of a configuration: its expanded text, its tree, the possible values of its nodes, and the map back to
the files.

Everything is computed on first use and cached: every rule checks every expression.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.records import dataclass
from roost.classad.errors import ParseError
from roost.classad.expr import Expr
from roost.classad.syntax import Binary, Call, Node, children
from roost.classad.values import fold
from roost.config import Definition, Origin
from roost.policy.lint.findings import Edit
from roost.policy.lint.inference import Inference
from roost.policy.lint.mapping import Mapped, position
from roost.policy.lint.scope import Scope
from roost.policy.model import PolicyExpression


@dataclass(eq=False, slots=True, kw_only=True)
class Expression:
    """One expression of the configuration."""

    #: The full name as written, for instance ``SLOT_TYPE_1_START``.
    knob: str
    #: Without daemon and slot prefixes.
    base: str
    #: The row of the catalogue; None for other knobs and for published attributes.
    policy: PolicyExpression | None
    #: Published in the ads of `scope.my`.
    attribute: bool
    slot_type: int | None
    definition: Definition
    mapped: Mapped
    scope: Scope
    expr: Expr | None
    problem: ParseError | None
    #: The only slot that has it, for an attribute with the prefix of a slot.
    slot: int | None = None
    _inference: Inference | None = None
    _alone: Inference | None = None
    _nodes: list[tuple[Node, Node | None]] | None = None
    _binaries: list[tuple[Binary, Node | None]] | None = None
    _names: frozenset[str] | None = None

    @property
    def tree(self) -> Node | None:
        return None if self.expr is None else self.expr.tree

    @property
    def inferred(self) -> Inference:
        """The possible values of each node, given what precedes it."""
        if self._inference is None:
            self._inference = self._infer(with_facts=True)
        return self._inference

    @property
    def alone(self) -> Inference:
        """The possible values of each node by itself."""
        if self._alone is None:
            self._alone = self._infer(with_facts=False)
        return self._alone

    def _infer(self, *, with_facts: bool) -> Inference:
        inference = Inference(self.scope, with_facts)
        if self.tree is not None:
            inference.run(self.tree)
        return inference

    @property
    def nodes(self) -> list[tuple[Node, Node | None]]:
        """Every node with its parent, parents first; empty if the text is not an expression."""
        if self._nodes is None:
            found: list[tuple[Node, Node | None]] = []
            work: list[tuple[Node, Node | None]] = [] if self.tree is None else [(self.tree, None)]
            while work:
                node, parent = work.pop()
                found.append((node, parent))
                work.extend((child, node) for child in reversed(children(node)))
            self._nodes = found
        return self._nodes

    @property
    def binaries(self) -> list[tuple[Binary, Node | None]]:
        """Every infix operator with its parent, parents first."""
        if self._binaries is None:
            self._binaries = [(node, parent) for node, parent in self.nodes if isinstance(node, Binary)]
        return self._binaries

    def text(self, node: Node) -> str:
        """The expanded text of a node."""
        return " ".join(self.mapped.text[node.span[0] : node.span[1]].split())

    def mentions(self, *names: str) -> bool:
        """Whether any of the names occurs in it, with or without scope."""
        wanted = {fold(name) for name in names}
        return any(fold(name) in wanted for name in self.names)

    @property
    def names(self) -> frozenset[str]:
        """Folded names in it, without scopes."""
        if self._names is None:
            mentioned = None if self.expr is None else self.expr.mentioned
            found = () if mentioned is None else (*mentioned.plain, *mentioned.my, *mentioned.target)
            self._names = frozenset(fold(n) for n in found)
        return self._names

    def calls(self, name: str) -> Iterator[Call]:
        """Every call of a function; `name` is folded."""
        for node, _ in self.nodes:
            if isinstance(node, Call) and fold(node.name) == name:
                yield node

    def is_own(self, start: int, end: int) -> bool:
        """Whether characters of the expanded text come from the knob's own value, not from a macro that others may
        use."""
        written = self.mapped.written(start, end)
        return written is not None and written[0] is self.definition

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """The edit that replaces characters of the expanded text where they were written; None if impossible."""
        written = self.mapped.written(start, end)
        if written is None:
            return None
        definition, offset = written
        if definition.origin is not Origin.FILE:
            return None
        line, column = position(definition, offset)
        return Edit(file=definition.span.file, line=line, column=column, old=self.mapped.text[start:end], new=new)

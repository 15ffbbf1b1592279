"""A mutable DAG, including splices, while its files are read.

A *splice* is a name for all nodes of another file, whose names are prefixed with it and a ``+``. As a parent it stands
for its last nodes, as a child for its first ones; if two splices are connected, pins say which nodes exactly.
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.base.records import dataclass, field, replace
from roost.config import Span
from roost.dag.plan import DotFile, Node, NodeKind, StatusFile
from roost.dag.problems import DagCode, Problems


@dataclass(slots=True, kw_only=True)
class Pins:
    """The nodes behind the numbered pins of a splice."""

    ins: dict[int, list[str]] = field(default_factory=dict)
    outs: dict[int, list[str]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Splice:
    """What a splice's name stands for."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    nodes: tuple[str, ...]
    pins: Pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The lines of a SUBMIT-DESCRIPTION."""

    text: str
    span: Span


@dataclass(slots=True, kw_only=True)
class Draft:
    """Nodes and edges so far."""

    problems: Problems
    nodes: dict[str, Node] = field(default_factory=dict)
    #: Parent to children; dicts for their order.
    children: dict[str, dict[str, None]] = field(default_factory=dict)
    parents: dict[str, dict[str, None]] = field(default_factory=dict)
    #: Edges, parent and child, that only require the parent to have ended.
    weak: set[tuple[str, str]] = field(default_factory=set)
    splices: dict[str, Splice] = field(default_factory=dict)
    descriptions: dict[str, Description] = field(default_factory=dict)
    #: Descriptions of merged drafts; the draft's own description takes precedence over one of the same name here.
    lent: dict[str, Description] = field(default_factory=dict)
    category_limits: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    environment_kept: list[str] = field(default_factory=list)
    environment_set: list[str] = field(default_factory=list)
    pins: Pins = field(default_factory=Pins)
    config: str = ""
    status_file: StatusFile | None = None
    job_state_log: str = ""
    dot: DotFile | None = None

    def add(self, node: Node) -> None:
        """Add a node."""
        if node.name in self.nodes or node.name in self.splices:
            self.problems.report(DagCode.TWICE, f"{node.name} is defined twice", node.span)
            return
        self.nodes[node.name] = node

    def describe(self, name: str, description: Description) -> None:
        """Add a description that nodes may refer to; the first of a name takes effect."""
        first = self.descriptions.setdefault(name, description)
        there, here = first.span, description.span
        if (there.file, there.line) != (here.file, here.line):
            message = f"the description {name} is already defined at {there}; that definition takes effect"
            self.problems.report(DagCode.DESCRIPTION_TWICE, message, here)

    def describe_lent(self) -> None:
        """Add the descriptions of merged drafts, after all of the draft's own."""
        for name, description in self.lent.items():
            self.describe(name, description)
        self.lent.clear()

    def fill_in_descriptions(self) -> None:
        """Give nodes that refer to a description its lines, wherever it is defined."""
        for name, node in self.nodes.items():
            found = self.descriptions.get(node.submit) if node.kind is not NodeKind.SUBDAG else None
            if found is not None:
                self.nodes[name] = replace(node, submit="", text=found.text)

    def change(self, name: str, span: Span, **fields: object) -> None:
        """Change fields of a node, of all nodes of a splice, or of ALL_NODES."""
        for each in self.named(name, span, every=True):
            self.nodes[each] = replace(self.nodes[each], **fields)

    def named(self, name: str, span: Span, *, every: bool = False, last: bool = False) -> tuple[str, ...]:
        """The nodes that a name stands for: for a splice all, the last ones, or the first ones."""
        if name in self.nodes:
            return (name,)
        if every and name.upper() == "ALL_NODES":
            return tuple(self.nodes)
        splice = self.splices.get(name)
        if splice is None:
            self.problems.report(DagCode.NO_SUCH_NODE, f"there is no node {name}", span)
            return ()
        return splice.nodes if every else splice.last if last else splice.first

    def join(self, parents: Iterable[str], children: Iterable[str], *, weak: bool = False) -> None:
        """Make each child wait for each parent; an edge that is both weak and strong is strong."""
        children = tuple(children)
        for parent in parents:
            known = self.children.setdefault(parent, {})
            for child in children:
                if not weak:
                    self.weak.discard((parent, child))
                elif child not in known:
                    self.weak.add((parent, child))
                known[child] = None
                self.parents.setdefault(child, {})[parent] = None

    # -- splices ---------------------------------------------------------------------------------------

    def splice(self, name: str, other: Draft, span: Span) -> None:
        """Add the nodes of another draft as a splice."""
        if name in self.splices or name in self.nodes:
            self.problems.report(DagCode.TWICE, f"{name} is defined twice", span)
            return
        prefix = f"{name}+"
        self.take(other, prefix)
        whole = Splice(
            first=tuple(each for each in other.nodes if not other.parents.get(each)),
            last=tuple(each for each in other.nodes if not other.children.get(each)),
            nodes=tuple(other.nodes),
            pins=other.pins,
        )
        self.splices[name] = _renamed(whole, prefix)

    def take(self, other: Draft, prefix: str) -> None:
        """Merge another draft, with a prefix for the names of its nodes."""
        for each, node in other.nodes.items():
            category = _prefixed(prefix, node.category) if node.category else ""
            self.nodes[prefix + each] = replace(node, name=prefix + each, category=category)
        for parent, children in other.children.items():
            self.join((prefix + parent,), tuple(prefix + child for child in children))
        self.weak.update((prefix + parent, prefix + child) for parent, child in other.weak)
        for inner, found in other.splices.items():
            self.splices[prefix + inner] = _renamed(found, prefix)
        self.lent.update({inner: each for inner, each in other.descriptions.items() if inner not in self.lent})
        for category, limit in other.category_limits.items():
            self.category_limits.setdefault(_prefixed(prefix, category), limit)

    def connect(self, first: str, second: str, span: Span) -> None:
        """Connect two splices at their pins."""
        for name in (first, second):
            if name not in self.splices:
                self.problems.report(DagCode.NO_SUCH_NODE, f"there is no splice {name}", span)
                return
        outs, ins = self.splices[first].pins.outs, self.splices[second].pins.ins
        if not outs or sorted(outs) != sorted(ins) or sorted(outs) != list(range(1, len(outs) + 1)):
            message = f"{first} has the pins {sorted(outs)} out, {second} has {sorted(ins)} in"
            self.problems.report(DagCode.PINS, message, span)
            return
        for pin, parents in sorted(outs.items()):
            self.join(parents, ins[pin])


def _prefixed(prefix: str, category: str) -> str:
    """Categories that begin with + belong to the whole DAG, others to the splice."""
    return category if category.startswith("+") else prefix + category


def _renamed(splice: Splice, prefix: str) -> Splice:
    def more(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(prefix + name for name in names)

    pins = Pins(
        ins={pin: list(more(names)) for pin, names in splice.pins.ins.items()},
        outs={pin: list(more(names)) for pin, names in splice.pins.outs.items()},
    )
    return Splice(first=more(splice.first), last=more(splice.last), nodes=more(splice.nodes), pins=pins)

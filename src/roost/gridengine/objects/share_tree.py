"""The share tree: nodes with shares, and its text form.

A node of type 0 is a user or an inner node, one of type 1 a project. Grid Engine numbers the nodes depth first from the
root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.gridengine.objects.text import Entry, logical_lines
from roost.gridengine.objects.values import ULONG, BadValue
from roost.gridengine.problems import ProblemCode, Refused, problem

#: maximum depth of a tree
DEPTH_MAX: Final = 100
_FIELDS: Final = ("id", "name", "type", "shares", "childnodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareNode:
    """A node of the share tree with the nodes under it."""

    name: str
    #: 0: a user or an inner node; 1: a project
    type: int = 0
    shares: int = 0
    children: tuple[ShareNode, ...] = ()

    def nodes(self) -> Iterator[ShareNode]:
        """The node and all below it, in the order of their numbers."""
        yield self
        for child in self.children:
            yield from child.nodes()


@dataclass(frozen=True, slots=True)
class _Written:
    name: str
    type: int
    shares: int
    children: tuple[int, ...]
    span: Span


def _number(entry: Entry) -> int:
    try:
        return ULONG.parse(entry.text)
    except BadValue as bad:
        message = bad.message
        if entry.text.startswith("-"):
            message = f'parameter "{entry.name}" must be a positive number'
        raise Refused([problem(ProblemCode.BAD_VALUE, message, entry.span, bad.remedy, entry.name)]) from None


def _entries(text: str, file: str) -> Iterator[Entry]:
    for line, span in logical_lines(text, file):
        name, equals, value = line.partition("=")
        if name not in _FIELDS or not equals:
            remedy = f"Write {'=…, '.join(_FIELDS)}=… for each node."
            raise Refused(
                [problem(ProblemCode.UNKNOWN_ATTRIBUTE, f'unknown attribute name "{name}"', span, remedy, name)]
            )
        yield Entry(name, value.strip(), span)


def _written(text: str, file: str) -> dict[int, _Written]:
    groups: list[dict[str, Entry]] = []
    for entry in _entries(text, file):
        if entry.name == "id":
            groups.append({})
        if not groups or entry.name in groups[-1]:
            message = (
                f'attribute "{entry.name}" appears more than once' if groups else 'required attribute "id" is missing'
            )
            code = ProblemCode.REPEATED_ATTRIBUTE if groups else ProblemCode.MISSING_ATTRIBUTE
            raise Refused([problem(code, message, entry.span, "Begin each node with id=.", entry.name)])
        groups[-1][entry.name] = entry
    nodes: dict[int, _Written] = {}
    for group in groups:
        for name in _FIELDS:
            if name not in group:
                message = f'required attribute "{name}" is missing'
                place = group["id"].span
                raise Refused([problem(ProblemCode.MISSING_ATTRIBUTE, message, place, f"Add {name}=.", name)])
        children = group["childnodes"]
        numbers = (
            ()
            if children.text.casefold() == "none"
            else tuple(_number(Entry("childnodes", part, children.span)) for part in children.text.split(",") if part)
        )
        nodes[_number(group["id"])] = _Written(
            group["name"].text, _number(group["type"]), _number(group["shares"]), numbers, group["id"].span
        )
    return nodes


def parse_share_tree(text: str, file: str) -> ShareNode | None:
    """Read a share tree; None if the text is empty; raise `Refused`."""
    nodes = _written(text, file)
    if not nodes:
        return None
    taken: set[int] = set()

    def build(number: int, parent: Span, depth: int) -> ShareNode:
        if number not in nodes or number in taken:
            message = f"found reference to node {number} but no specification"
            raise Refused(
                [
                    problem(
                        ProblemCode.UNKNOWN_REFERENCE, message, parent, "Name each node once as a child.", "childnodes"
                    )
                ]
            )
        if depth > DEPTH_MAX:
            message = f"node {number} is more than {DEPTH_MAX} levels below the root"
            raise Refused([problem(ProblemCode.BAD_VALUE, message, parent, "Make the tree flatter.", "childnodes")])
        taken.add(number)
        node = nodes[number]
        children = tuple(build(child, node.span, depth + 1) for child in node.children)
        return ShareNode(name=node.name, type=node.type, shares=node.shares, children=children)

    root = next(iter(nodes))
    return build(root, nodes[root].span, 0)


def show_share_tree(root: ShareNode | None) -> str:
    """The tree as `qconf -sstree` prints it; empty without a tree."""
    if root is None:
        return ""
    lines: list[str] = []
    size = {id(node): sum(1 for _ in node.nodes()) for node in root.nodes()}
    for number, node in enumerate(root.nodes()):
        first, numbers = number + 1, []
        for child in node.children:
            numbers.append(str(first))
            first += size[id(child)]
        lines += [f"id={number}", f"name={node.name}", f"type={node.type}", f"shares={node.shares}"]
        lines.append(f"childnodes={','.join(numbers) or 'NONE'}")
    return "\n".join(lines) + "\n"

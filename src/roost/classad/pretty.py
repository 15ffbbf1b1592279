"""Trees and values to text over several lines: one attribute or list element per line, nested ones indented.

This is the reference library's ``str()`` of an ad or expression, and what the function unparse() gives.
Every list and every ad begins on a line of its own, wherever it stands, which is why the text of an ad
begins with a line end. All else is printed as `unparse` does. The walker keeps its own stack, so depth is not limited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from roost.classad.syntax import AdNode, ListNode, Node
from roost.classad.unparse import ANY_STRENGTH, item_node, push_node, quote_name, reference_order, strength_of
from roost.classad.values import fold

if TYPE_CHECKING:
    from roost.classad.values import Value

#: Columns between a bracket and what stands in it, and before the bracket itself.
_AD_INDENT: Final = 4
_LIST_INDENT: Final = 3

#: Pending output: text, a node with the binding strength that its place requires, a change of the indentation, or
#: None for a line end and the indentation.
_Work: TypeAlias = "list[str | tuple[Node, int] | int | None]"

_NODES: Final[tuple[type, ...]] = get_args(Node)


def unparse_pretty(item: Node | Value) -> str:
    """The text of a tree or a value."""
    out: list[str] = []
    level = 0
    root: Node = item if isinstance(item, _NODES) else item_node(item)  # type: ignore[assignment]
    work: _Work = [(root, ANY_STRENGTH)]
    while work:
        part = work.pop()
        if isinstance(part, str):
            out.append(part)
        elif part is None:
            out.append("\n" + " " * level)
        elif isinstance(part, int):
            level += part
        else:
            node, least = part
            if strength_of(node) < least:
                out.append("(")
                work.append(")")
            _push_node(work, node)
    return "".join(out)


def _push_node(work: _Work, node: Node) -> None:
    match node:
        case AdNode():
            _push_ad(work, node)
        case ListNode(items=items):
            work += (-_LIST_INDENT, "}", None, -_LIST_INDENT)
            for index in range(len(items) - 1, -1, -1):
                if index < len(items) - 1:
                    work.append(",")
                work += ((items[index], ANY_STRENGTH), None)
            work += (_LIST_INDENT, "{", None, _LIST_INDENT)
        case _:
            push_node(work, node, False)  # type: ignore[arg-type]


def ordered_attributes(ad: AdNode) -> list[tuple[str, Node]]:
    """The attributes of an ad, each name once, in the reference library's order."""
    unique: dict[str, tuple[str, Node]] = {}
    for name, node in ad.attributes:
        key = fold(name)
        unique[key] = (unique[key][0] if key in unique else name, node)
    return sorted(unique.values(), key=lambda pair: reference_order(pair[0]))


def _push_ad(work: _Work, ad: AdNode) -> None:
    ordered = ordered_attributes(ad)
    work += (-_AD_INDENT, "]", None, -_AD_INDENT)
    for index in range(len(ordered) - 1, -1, -1):
        name, node = ordered[index]
        if index < len(ordered) - 1:
            work.append("; ")
        work += ((node, ANY_STRENGTH), f"{quote_name(name)} = ", None)
    work += (_AD_INDENT, "[", None, _AD_INDENT)

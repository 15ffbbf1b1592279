"""Syntax trees to ads, with a limit on nesting of ads."""

from __future__ import annotations

from collections.abc import Mapping

from roost.classad.ad import ClassAd, cell_of
from roost.classad.errors import ParseError
from roost.classad.expr import Expr
from roost.classad.limits import AD_NESTING_MAX
from roost.classad.syntax import AdNode, Node


def build_ad(tree: AdNode, *, source: str | None = None, expressions: Mapping[int, Expr] | None = None) -> ClassAd:
    """The ad of a tree. Raises ParseError (code ``limit``) for one nested too deep.

    `source` is the text in new form to which the spans of the tree refer; without it, `expressions` maps the identity
    of a tree to its interned expression, if any.
    """
    check_depth(tree)
    return _filled(tree, source, expressions or {})


def _filled(tree: AdNode, source: str | None, expressions: Mapping[int, Expr]) -> ClassAd:
    ad = ClassAd()
    for name, node in tree.attributes:
        if not name:
            start, end = tree.span
            raise ParseError("an attribute name cannot be empty", code="ad", start=start, end=end)
        if isinstance(node, AdNode):
            ad.put(name, _filled(node, source, expressions))
        else:
            ad.put(name, cell_of(node, ad, expression=expressions.get(id(node)), source=source))
    return ad


def put_node(ad: ClassAd, name: str, tree: Node, expression: Expr | None = None) -> None:
    """Set an attribute of `ad` to a tree, stored as `expression` if given."""
    if isinstance(tree, AdNode):
        ad.put(name, build_ad(tree))
    else:
        ad.put(name, cell_of(tree, ad, expression=expression))


def check_depth(tree: Node) -> None:
    """Refuse ads nested deeper than `AD_NESTING_MAX`."""
    level: list[Node] = [tree]
    depth = 0
    while level:
        depth += 1
        ads = [node for node in level if isinstance(node, AdNode)]
        level = [inner for ad in ads for _, inner in ad.attributes if isinstance(inner, AdNode)]
        if depth > AD_NESTING_MAX:
            start, end = level[0].span if level else tree.span
            raise ParseError(f"ads are nested deeper than {AD_NESTING_MAX} levels", code="limit", start=start, end=end)

"""Which attributes an expression refers to.

`references_of` reads the text alone: the names that stand in it. `references_in` follows the names of an ad through
its attributes' expressions, and tells names that the ad has (internal) from names that must come from elsewhere
(external). A reference to the other ad of a match keeps its scope: ``TARGET.Memory``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from roost.classad.syntax import AdNode, Name, Node, Select, children, strip
from roost.classad.unparse import item_node, unparse
from roost.classad.values import UNDEFINED, fold

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Names, each list sorted without regard to case."""

    #: Names of the ad itself.
    internal: list[str]
    #: Names that must come from elsewhere.
    external: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """Folded names that stand in one expression, nested ads left out."""

    #: Unscoped: looked up in the ad itself, then in the other one.
    plain: frozenset[str]
    #: Behind MY.
    my: frozenset[str]
    #: Behind TARGET.
    target: frozenset[str]


#: Names that lead to the ad itself.
_SELF: Final = frozenset(("my", "self"))
_OUTER: Final = frozenset(("toplevel", "root"))


def mentioned_in(tree: Node) -> Mentioned:
    """The names that stand in a tree."""
    plain: set[str] = set()
    my: set[str] = set()
    target: set[str] = set()
    work = [tree]
    while work:
        node = work.pop()
        if isinstance(node, Name):
            plain.add(fold(node.name))
        elif isinstance(node, Select) and isinstance(base := strip(node.base), Name) and not base.absolute:
            scope = fold(base.name)
            if scope == "my":
                my.add(fold(node.name))
            elif scope == "target":
                target.add(fold(node.name))
            else:
                work.append(base)
        else:
            work.extend(children(node))
    return Mentioned(plain=frozenset(plain), my=frozenset(my), target=frozenset(target))


def references_in(expression: Expr, ad: ClassAd) -> References:
    """The names that `expression` needs when it is evaluated in `ad`, through every attribute it reaches."""
    walk = _Walk(ad=ad)
    walk.follow(expression.tree, ad)
    return References(internal=_sorted(walk.internal), external=_sorted(walk.external))


def _sorted(names: dict[str, str]) -> list[str]:
    return [names[key] for key in sorted(names)]


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The state of one search."""

    #: The ad at whose attributes the search began.
    ad: ClassAd
    #: Folded to spelled.
    internal: dict[str, str] = field(default_factory=dict)
    external: dict[str, str] = field(default_factory=dict)
    #: Attributes followed already: identity of the ad, key.
    seen: set[tuple[int, str]] = field(default_factory=set)
    #: Nested ads made on the way, kept so that their identities stay theirs.
    kept: list[ClassAd] = field(default_factory=list)

    def follow(self, tree: Node, scope: ClassAd) -> None:
        """Collect the names of `tree`, which stands in the ad `scope`, and of all it reaches."""
        from roost.classad.ad import ClassAd, cell_of

        work: list[tuple[Node, ClassAd]] = [(tree, scope)]
        while work:
            node, scope = work.pop()
            if isinstance(node, Name):
                self._name(node, scope, work)
            elif isinstance(node, Select):
                self._select(node, scope, work)
            elif isinstance(node, AdNode):
                nested = cell_of(node, scope)
                assert isinstance(nested, ClassAd)
                self._whole(nested, work)
            else:
                # The last child goes in first, so that names are met from left to right.
                work.extend([(child, scope) for child in reversed(children(node))])

    def _name(self, node: Name, scope: ClassAd, work: list[tuple[Node, ClassAd]]) -> None:
        key = fold(node.name)
        if node.absolute:
            scope = _outermost(scope)
        if self._found(key, node.name, scope, work) or key == "currenttime":
            return
        if key in _SELF:
            self._whole(scope, work)
        elif key in _OUTER:
            self._whole(_outermost(scope), work)
        else:
            self.external.setdefault(key, node.name)

    def _select(self, node: Select, scope: ClassAd, work: list[tuple[Node, ClassAd]]) -> None:
        """``a.b.c``: as far as nested ads are known, then the rest as one external name."""
        path = [node.name]
        base = strip(node.base)
        while isinstance(base, Select):
            path.append(base.name)
            base = strip(base.base)
        if not isinstance(base, Name):
            self._behind_value(node, scope, work)
            return
        start = self._start(base, scope)
        if start is None:
            if not self._found(fold(base.name), base.name, scope, work):
                spelled = unparse(node)
                self.external.setdefault(fold(spelled), spelled)
            return
        if fold(base.name) not in _SELF | _OUTER | {"parent"}:
            self._note(fold(base.name), base.name, scope)
        self._path(start, path, work)

    def _path(self, start: ClassAd, path: list[str], work: list[tuple[Node, ClassAd]]) -> None:
        from roost.classad.ad import ClassAd

        while path:
            name = path.pop()
            key = fold(name)
            below = start.cell(key)
            if isinstance(below, ClassAd):
                self._note(key, name, start)
                start = below
                if path:
                    continue
                self._whole(start, work)
                return
            if key in _SELF and path:
                continue
            if key == "parent" and path and start.scope is not None:
                start = start.scope
                continue
            if not self._found(key, name, start, work):
                spelled = ".".join([name, *reversed(path)])
                self.external.setdefault(fold(spelled), spelled)
            return

    def _start(self, base: Name, scope: ClassAd) -> ClassAd | None:
        """The ad that the first name of a path leads to; None if that is not known."""
        from roost.classad.ad import MISSING, ClassAd

        key = fold(base.name)
        ad: ClassAd | None = _outermost(scope) if base.absolute else scope
        while ad is not None:
            cell = ad.cell(key)
            if cell is not MISSING:
                return cell if isinstance(cell, ClassAd) else None
            if key in _SELF:
                return ad
            if key == "parent":
                return ad.scope
            if key in _OUTER:
                return _outermost(ad)
            ad = ad.scope
        return None

    def _behind_value(self, node: Select, scope: ClassAd, work: list[tuple[Node, ClassAd]]) -> None:
        """A selection from something computed: from an ad if it is one now, else external as it is written."""
        from roost.classad.ad import ClassAd
        from roost.classad.evaluation import evaluate
        from roost.classad.expr import Expr

        value = evaluate(Expr(node.base), scope)
        if value is UNDEFINED:
            spelled = unparse(node)
            self.external.setdefault(fold(spelled), spelled)
            return
        if isinstance(value, ClassAd):
            self.kept.append(value)
            self._path(value, [node.name], work)
        if not isinstance(strip(node.base), AdNode):
            work.append((node.base, scope))

    def _found(self, key: str, name: str, scope: ClassAd | None, work: list[tuple[Node, ClassAd]]) -> bool:
        """Whether an ad from `scope` outward has the attribute; what it needs is put on the list."""
        from roost.classad.ad import MISSING, ClassAd

        while scope is not None:
            cell = scope.cell(key)
            if cell is not MISSING:
                self._note(key, name, scope)
                if (id(scope), key) not in self.seen:
                    self.seen.add((id(scope), key))
                    if isinstance(cell, ClassAd):
                        self._whole(cell, work)
                    else:
                        work.append((item_node(cell), scope))
                return True
            scope = scope.scope
        return False

    def _note(self, key: str, name: str, scope: ClassAd) -> None:
        if scope is self.ad:
            self.internal.setdefault(key, name)

    def _whole(self, ad: ClassAd, work: list[tuple[Node, ClassAd]]) -> None:
        """Everything a nested ad needs."""
        if (id(ad), "") not in self.seen:
            self.seen.add((id(ad), ""))
            self.kept.append(ad)
            work.extend([(ad.tree(name), ad) for name in ad])


def _outermost(ad: ClassAd) -> ClassAd:
    while ad.scope is not None:
        ad = ad.scope
    return ad

"""The attributes that an expression refers to.

`mentioned_in` reads only the text: the names that occur in it. `references_in` follows the names of an ad through its
attributes' expressions, and distinguishes names that the ad has (internal) from names that must come from elsewhere
(external).

A selection ``base.name`` counts by the current value of its base: from an ad, the name is looked up there and outward;
from UNDEFINED it is external as written, ``TARGET.Memory``; from anything else it refers to nothing. Of the base
itself only the internal names count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad.syntax import AdNode, Name, Node, Select, children, strip
from roost.classad.unparse import item_node, unparse
from roost.classad.values import UNDEFINED, Value, fold

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.expr import Expr

#: Gives the value of an expression in an ad.
ValueOf: TypeAlias = "Callable[[Expr, ClassAd], Value]"
#: Gives the ad around an ad.
ScopeOf: TypeAlias = "Callable[[ClassAd], ClassAd | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Names, each list sorted without regard to case, spelled as they are first met."""

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


#: Names that lead to the ad itself, and to the outermost one.
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


def _nested_in(ad: ClassAd) -> ClassAd | None:
    return ad.scope


def references_in(
    expression: Expr, ad: ClassAd, *, value_of: ValueOf | None = None, scope_of: ScopeOf = _nested_in
) -> References:
    """The names that `expression` needs when it is evaluated in `ad`, through every attribute it reaches.

    `value_of` evaluates the bases of selections; None: without an ad. `scope_of` gives the scope around an ad,
    including the names of a match.
    """
    from roost.classad.evaluation import evaluate

    walk = _Walk(ad=ad, value_of=value_of or evaluate, scope_of=scope_of)
    walk.follow(expression.tree)
    return References(internal=_sorted(walk.internal), external=_sorted(walk.external))


def _sorted(names: dict[str, str]) -> list[str]:
    return [names[key] for key in sorted(names)]


@dataclass(frozen=True, slots=True)
class _Task:
    """A tree to visit."""

    tree: Node
    #: The ad it stands in.
    scope: ClassAd
    #: Only its internal names count: it is the base of a selection.
    base: bool


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The state of one search."""

    #: The ad at whose attributes the search began.
    ad: ClassAd
    value_of: ValueOf
    scope_of: ScopeOf = _nested_in
    #: Folded to spelled.
    internal: dict[str, str] = field(default_factory=dict)
    external: dict[str, str] = field(default_factory=dict)
    #: Attributes followed already: identity of the ad, key, whether as a base.
    seen: set[tuple[int, str, bool]] = field(default_factory=set)
    #: Ads created on the way, kept alive so that their ids are not reused.
    kept: list[ClassAd] = field(default_factory=list)
    #: Trees still to visit, the next one last.
    work: list[_Task] = field(default_factory=list)

    def follow(self, tree: Node) -> None:
        """Collect the names of `tree`, which stands in the ad, and of all it reaches."""
        self.work.append(_Task(tree, self.ad, False))
        while self.work:
            task = self.work.pop()
            node = task.tree
            if isinstance(node, Name):
                self._name(node, task)
            elif isinstance(node, Select):
                self._select(node, task)
            elif isinstance(node, AdNode):
                if not task.base:
                    self._nested(node, task.scope)
            else:
                # The last child goes in first, so that names are met from left to right.
                self.work += [_Task(child, task.scope, task.base) for child in reversed(children(node))]

    def _name(self, node: Name, task: _Task) -> None:
        key = fold(node.name)
        scope = self._outermost(task.scope) if node.absolute else task.scope
        if self._found(key, node.name, scope, task.base) or key == "currenttime":
            return
        if key in _SELF or key in _OUTER:
            if not task.base:
                self._whole(scope if key in _SELF else self._outermost(scope))
        elif not task.base:
            self.external.setdefault(key, node.name)

    def _select(self, node: Select, task: _Task) -> None:
        from roost.classad.ad import ClassAd
        from roost.classad.expr import Expr

        value = self.value_of(Expr(node.base), task.scope)
        if isinstance(value, ClassAd):
            self.kept.append(value)
            if not self._found(fold(node.name), node.name, value, task.base):
                self._special(node, value, task)
        elif value is UNDEFINED and not task.base:
            spelled = unparse(node)
            self.external.setdefault(fold(spelled), spelled)
        self.work.append(_Task(node.base, task.scope, True))

    def _special(self, node: Select, start: ClassAd, task: _Task) -> None:
        """``base.name`` where the ad has no such attribute: a special name, or external."""
        key = fold(node.name)
        if task.base or key == "currenttime":
            return
        if key in _SELF:
            self._whole(start)
        elif key in _OUTER:
            self._whole(self._outermost(start))
        elif key == "parent" and start.scope is not None:
            self._whole(start.scope)
        else:
            self.external.setdefault(key, node.name)

    def _found(self, key: str, name: str, start: ClassAd | None, base: bool) -> bool:
        """Whether an ad from `start` outward has the attribute; what it needs is put on the list."""
        from roost.classad.ad import MISSING, ClassAd
        from roost.classad.state import SPECIAL_NAMES

        scope = start
        while scope is not None:
            cell = scope.cell(key)
            if cell is MISSING:
                # A special name means the first ad, whatever the ads around it have.
                scope = None if key in SPECIAL_NAMES else self.scope_of(scope)
                continue
            if scope is self.ad:
                self.internal.setdefault(key, name)
            mark = (id(scope), key, base)
            if mark not in self.seen:
                self.seen.add(mark)
                if not isinstance(cell, ClassAd):
                    self.work.append(_Task(item_node(cell), scope, base))
                elif not base:
                    self._whole(cell)
            return True
        return False

    def _nested(self, node: AdNode, scope: ClassAd) -> None:
        from roost.classad.ad import ClassAd, cell_of

        nested = cell_of(node, scope)
        assert isinstance(nested, ClassAd)
        self._whole(nested)

    def _whole(self, ad: ClassAd) -> None:
        """Everything an ad needs."""
        mark = (id(ad), "", False)
        if mark not in self.seen:
            self.seen.add(mark)
            self.kept.append(ad)
            self.work += [_Task(ad.tree(name), ad, False) for name in reversed(list(ad))]

    def _outermost(self, ad: ClassAd) -> ClassAd:
        while (outer := self.scope_of(ad)) is not None:
            ad = outer
        return ad

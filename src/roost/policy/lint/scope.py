"""The meaning of the names of an expression: the catalogue, plus what the configuration adds to the ads.

A `Scope` belongs to one place of evaluation: which kind of ad is MY, which is TARGET. An unscoped name means the
attribute of MY; if that ad may lack it, also the one of TARGET. Names that the configuration publishes
(STARTD_ATTRS and the like) have what can be inferred from their own expressions. Any other name may still be in the
ads, put there by a submit description or a cron job: it can be anything, or missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from roost.base.records import dataclass
from roost.classad.values import fold
from roost.policy.attributes import ATTRIBUTES, attributes_named
from roost.policy.lint.abstract import ANYTHING, INF, MEASURES, UNDEFINED, Abstract, Types, types_of, union
from roost.policy.model import AdKind, Attribute

#: The possible values of an attribute defined elsewhere.
FOREIGN = ANYTHING.without(Types.ERROR)


@lru_cache(maxsize=4096)
def row_of(name: str, side: AdKind) -> Attribute | None:
    """The catalogue's row for a name in an ad of a side."""
    for row in attributes_named(name):
        if row.side is side:
            return row
    return None


@lru_cache(maxsize=4096)
def of_row(row: Attribute) -> Abstract:
    """The values that an attribute can have."""
    types = types_of(row.kind)
    if not row.always:
        types |= Types.UNDEFINED
    numeric = bool(types & Types.NUMBER)
    return Abstract(
        types,
        -INF if row.low is None or not numeric else row.low,
        INF if row.high is None or not numeric else row.high,
        MEASURES[row.unit] if numeric else None,
        row.choices or None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The meaning of names in one kind of expression."""

    my: AdKind
    target: AdKind
    #: Folded names that the configuration puts into ads of a side, and what they can be.
    published: Mapping[AdKind, Mapping[str, Callable[[], Abstract]]]

    def of_name(self, name: str) -> Abstract:
        """An unscoped name."""
        if fold(name) == "currenttime":
            return of_row(_CURRENT_TIME) if _CURRENT_TIME else FOREIGN.without(Types.UNDEFINED)
        mine, others = self._in(name, self.my), self._in(name, self.target)
        if mine is None:
            return others if others is not None else FOREIGN
        if mine.can_be_undefined and others is not None:
            return union(mine.without(Types.UNDEFINED), others)
        return mine

    def of_scope(self, scope: str, name: str) -> Abstract:
        """``MY.name`` or ``TARGET.name``."""
        side = self.my if scope == "my" else self.target
        if side is AdKind.NONE:
            return UNDEFINED if self.my is not AdKind.NONE and scope == "target" else FOREIGN
        found = self._in(name, side)
        return found if found is not None else FOREIGN

    def _in(self, name: str, side: AdKind) -> Abstract | None:
        published = self.published.get(side, {}).get(fold(name))
        if published is not None:
            return published()
        row = row_of(name, side) if side is not AdKind.NONE else None
        return of_row(row) if row is not None else None

    def knows(self, name: str, scope: str | None = None) -> bool:
        """Whether a name means something in the ads of this scope."""
        sides = {None: (self.my, self.target), "my": (self.my,), "target": (self.target,)}[scope]
        if fold(name) == "currenttime":
            return True
        return any(self._in(name, side) is not None for side in sides)

    def sets(self, name: str, scope: str | None = None) -> bool:
        """Whether the configuration itself publishes a name with a value, so that the ads of this scope have it."""
        side = self.target if scope == "target" else self.my
        published = self.published.get(side, {}).get(fold(name))
        return published is not None and published() is not FOREIGN

    def spellings(self, scope: str | None = None) -> list[str]:
        """The names that the ads of this scope are known to have."""
        sides = {None: (self.my, self.target), "my": (self.my,), "target": (self.target,)}[scope]
        known = [row.name for rows in ATTRIBUTES.values() for row in rows if row.side in sides]
        return known + [name for side in sides for name in self.published.get(side, {})]


_CURRENT_TIME = next((row for row in attributes_named("CurrentTime")), None)

"""Quotas of accounting groups: how much of the pool each may have.

Groups form a tree by the dots in their names, under the root ``<none>``, to which all other users belong. Quotas are
assigned from the top: static ones first, then fractions of the remainder; what no child gets is the parent's own. Then
the quotas are compared with the demand of the groups. What a group does not need flows up: first to its siblings that
accept a surplus, in proportion to their quotas, then to the siblings of its parent. A group that does not accept a
surplus limits all groups below it.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, field
from roost.negotiator.settings import ROOT, GroupSettings, NegotiatorSettings

_TINY = 1e-9


@dataclass(slots=True, kw_only=True)
class Group:
    """One group and the values that a cycle computes for it, in weights of slots."""

    name: str
    static: float | None = None
    fraction: float | None = None
    accepts: bool = False
    autoregroup: bool = False
    parent: Group | None = None
    children: list[Group] = field(default_factory=list)
    #: Quota of the subtree, and of the jobs directly in the group.
    subtree: float = 0.0
    quota: float = 0.0
    #: The total demand of its own jobs, in use and idle.
    wanted: float = 0.0
    used: float = 0.0
    allocated: float = 0.0

    @property
    def unmet(self) -> float:
        """The demand of its own jobs that was not allocated."""
        return max(0.0, self.wanted - self.allocated)

    def hungry(self) -> bool:
        """Whether a group in the subtree could take more."""
        return self.unmet > _TINY or any(child.accepts and child.hungry() for child in self.children)


def tree_of(settings: NegotiatorSettings) -> dict[str, Group]:
    """Name to group, the root first; a group whose parent is not configured is attached to the nearest configured
    ancestor."""
    root = Group(name=ROOT, accepts=True)
    found = {ROOT: root}
    by_key: dict[str, Group] = {}
    for each in sorted(settings.groups, key=lambda group: group.name.count(".")):
        group = _group(each)
        parent, name = root, each.name.lower()
        while "." in name:
            name = name.rpartition(".")[0]
            if name in by_key:
                parent = by_key[name]
                break
        group.parent = parent
        parent.children.append(group)
        found[each.name] = by_key[each.name.lower()] = group
    return found


def _group(settings: GroupSettings) -> Group:
    return Group(
        name=settings.name,
        static=settings.quota,
        fraction=None if settings.quota is not None else settings.fraction,
        accepts=settings.accept_surplus,
        autoregroup=settings.autoregroup,
    )


def assign(group: Group, quota: float, *, oversubscription: bool) -> None:
    """Divide a quota among a group and its descendants."""
    group.subtree = quota
    static = sum(child.static or 0.0 for child in group.children)
    scale = 1.0 if oversubscription or static <= quota or not static else quota / static
    left = max(0.0, quota - static * scale)
    fractions = sum(child.fraction or 0.0 for child in group.children)
    divisor = max(1.0, fractions)
    given = 0.0
    for child in group.children:
        if child.static is not None:
            own = child.static * scale
        else:
            own = (child.fraction or 0.0) / divisor * left
        given += own
        assign(child, own, oversubscription=oversubscription)
    group.quota = max(0.0, quota - given)


def allocate(root: Group, wanted: Mapping[str, float], *, everybody: Mapping[str, Group]) -> None:
    """Compare quotas with the demand, and distribute the surplus."""
    for name, group in everybody.items():
        group.wanted = wanted.get(name, 0.0)
        group.allocated = min(group.wanted, group.quota)
    _flow(root)


def _flow(group: Group) -> float:
    """Distribute the surplus within a subtree, and return what remains."""
    surplus = group.quota - group.allocated + sum(_flow(child) for child in group.children)
    # A group without acceptors below it still keeps what its own jobs want.
    return _give(group, max(0.0, surplus))


def _give(group: Group, amount: float) -> float:
    """Give a surplus to a group's own jobs and the children that accept one, and return what remains."""
    while amount > _TINY:
        takers: list[tuple[Group | None, float]] = [(None, group.quota)] if group.unmet > _TINY else []
        takers += [(child, child.subtree) for child in group.children if child.accepts and child.hungry()]
        if not takers:
            break
        total = sum(weight for _, weight in takers)
        before = amount
        for taker, weight in takers:
            part = before * (weight / total) if total > 0 else before / len(takers)
            if taker is None:
                taken = min(part, group.unmet)
                group.allocated += taken
            else:
                taken = part - _give(taker, part)
            amount -= taken
        if before - amount <= _TINY:
            break
    return max(0.0, amount)

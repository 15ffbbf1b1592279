"""The smallest set of clauses that decides a value.

Theory. Take the logic of an expression (`tree`) with the values of its units. A set of units *decides* if the
value stays the same whatever the other units are: TRUE, FALSE or, where they can be, UNDEFINED. The *smallest* has
the fewest units; of several, the one furthest to the left, that is with the earliest first unit in which two differ.

For each part `Search` keeps a frontier: the ways to fix some of its units, each with the set of values (`reach`) that
the part can still have; a way that neither costs less nor restricts the values more than another is dropped. A unit has
two ways, fixed or free. Those of a larger part combine those of its parts, which is exact, because the parts of a tree
share no units: so the cheapest way that leaves only the value of the whole is the smallest set. Sums of many conditions
have more ways than `WAYS_MAX`; the cheapest are kept, plus the one that leaves only the part's own value, so that the
result still decides.

The same clause in two places is one unit (`same clauses`): it has one value and counts once. Then the parts do share
units, and `repeated` continues the search. Two clauses that read one attribute (``X > 3 || X > 5``) are two.

What cannot change need not be fixed: constants are not clauses, unless nothing else decides.

ERROR is contagious from the left: in ``a && b``, FALSE through `b`, an ERROR in `a` would win. An expression whose
clauses may become ERROR is a mistake rather than a decision, so free units are assumed not to become ERROR; only that
could invalidate a deciding set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import product
from operator import or_
from typing import Final

from roost.base.records import dataclass, field
from roost.policy.explain.model import Role
from roost.policy.explain.reach import FAILED, FALSE, TRUE, UNDEF, Set, ValueSets
from roost.policy.explain.repeated import Repeated
from roost.policy.explain.same import Clauses, same_clauses
from roost.policy.explain.tree import Chain, ClauseUnit, Logic, parts_of

#: Ways kept for one part. Logic has at most 8, one for each set of TRUE, FALSE and UNDEFINED with its own value.
WAYS_MAX: Final = 24


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A choice of fixed units of a part."""

    logic: Logic
    #: The units, as a mask; the leftmost has the highest bit.
    held: int
    #: The values that the part can still have.
    reach: Set
    #: The ways taken in the parts, in order.
    parts: tuple[Way, ...] = ()

    @property
    def cost(self) -> tuple[int, int]:
        """Fewest first, then leftmost."""
        return self.held.bit_count(), -self.held


@dataclass(frozen=True, slots=True)
class WayChain:
    """The ways taken in the first parts of a chain, last first."""

    way: Way
    before: WayChain | None

    def ways(self) -> tuple[Way, ...]:
        """In the order of the text."""
        found, link = [self.way], self.before
        while link is not None:
            found.append(link.way)
            link = link.before
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class Need:
    """Units that decide."""

    #: In the order of the text.
    deciding: tuple[tuple[ClauseUnit, Role], ...] = ()
    #: Sets of units, each of which could replace some of those.
    also: tuple[tuple[ClauseUnit, ...], ...] = ()
    #: Each unit that is the same clause as another, with all units of that clause.
    places: Mapping[ClauseUnit, tuple[ClauseUnit, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Search:
    """Finds the deciding set of one tree."""

    clauses: Clauses
    sets: ValueSets
    #: Whether fixing constants is free.
    constants_free: bool = True
    _frontiers: dict[int, tuple[Way, ...]] = field(default_factory=dict)

    def frontier(self, logic: Logic) -> tuple[Way, ...]:
        """The ways of a part, the cheapest first; the last of them leaves only its own value."""
        if id(logic) not in self._frontiers:
            self._frontiers[id(logic)] = self._kept(self._ways(logic), self._own(logic))
        return self._frontiers[id(logic)]

    def _own(self, logic: Logic) -> Set:
        if isinstance(logic, ClauseUnit):
            return self.clauses.own[logic]
        return self.sets.made(logic, [self.frontier(part)[-1].reach for part in parts_of(logic)])

    def best(self, logic: Logic, within: Set) -> Way | None:
        """The cheapest way that keeps a part within some values."""
        return next((way for way in self.frontier(logic) if not way.reach & ~within), None)

    def _kept(self, ways: Iterable[Way], own: Set) -> tuple[Way, ...]:
        kept: list[Way] = []
        for way in sorted(ways, key=lambda way: way.cost):
            if any(not other.reach & ~way.reach for other in kept):
                continue
            if way.reach == own:
                # More expensive ways restrict the values no further.
                return (*kept[: WAYS_MAX - 1], way)
            kept.append(way)
        raise AssertionError("all units held fast leave one value")

    def _ways(self, logic: Logic) -> Iterator[Way]:
        match logic:
            case ClauseUnit():
                yield from self._unit(logic)
            case Chain():
                yield from self._chain(logic)
            case _:
                for ways in product(*(self.frontier(part) for part in parts_of(logic))):
                    reach = self.sets.made(logic, [way.reach for way in ways])
                    yield Way(logic, reduce(or_, (way.held for way in ways)), reach, ways)

    def _unit(self, unit: ClauseUnit) -> Iterator[Way]:
        own = self.clauses.own[unit]
        if self.constants_free and self.clauses.constant(unit):
            yield Way(unit, 0, own)
            return
        yield Way(unit, 0, self.clauses.free[unit])
        yield Way(unit, self.clauses.mask(unit), own)

    def _chain(self, chain: Chain) -> Iterator[Way]:
        """The ways of the first part, of the first two, and so on: never more than there are sets of truths."""
        known: dict[Set, tuple[int, WayChain]] = {}
        for way in self.frontier(chain.parts[0]):
            _offer(known, self.sets.truths(way.reach), way.held, WayChain(way, None))
        for part in chain.parts[1:]:
            longer: dict[Set, tuple[int, WayChain]] = {}
            for reach, (held, link) in known.items():
                for way in self.frontier(part):
                    joined = self.sets.joined(chain.op, reach, way.reach)
                    _offer(longer, joined, held | way.held, WayChain(way, link))
            known = longer
        for reach, (held, link) in known.items():
            yield Way(chain, held, reach, link.ways())


def _offer(known: dict[Set, tuple[int, WayChain]], reach: Set, held: int, link: WayChain) -> None:
    if reach not in known or (held.bit_count(), -held) < (known[reach][0].bit_count(), -known[reach][0]):
        known[reach] = held, link


@dataclass(slots=True)
class _Told:
    """Determines the roles of the units of a way."""

    search: Search
    #: Unit, as a mask, to whether it is only a condition in all its places.
    aside: dict[int, bool] = field(default_factory=dict)
    also: list[int] = field(default_factory=list)

    def walk(self, way: Way, aside: bool = False) -> None:
        """Visit a way and its parts."""
        if not way.held:
            return
        if not way.parts:
            self.aside[way.held] = aside and self.aside.get(way.held, True)
        standing = self._standing_aside(way) if isinstance(way.logic, Chain) else frozenset()
        for index, part in enumerate(way.parts):
            self.walk(part, aside or index in standing)
        if isinstance(way.logic, Chain):
            self._others(way)

    def _own(self, part: Logic) -> Set:
        return self.search.sets.truths(self.search.frontier(part)[-1].reach)

    def _standing_aside(self, way: Way) -> frozenset[int]:
        """Parts of a chain that only must not decide, so that an UNDEFINED or ERROR can."""
        own = self._own(way.logic)
        values = [self._own(part.logic) for part in way.parts]
        if own == UNDEF and not way.reach & (TRUE | FALSE):
            return frozenset(index for index, value in enumerate(values) if value != UNDEF)
        if own == FAILED and FAILED in values:
            return frozenset(range(values.index(FAILED)))
        return frozenset()

    def _others(self, way: Way) -> None:
        """If one part of a chain decides alone, the others that could have."""
        deciding = [part for part in way.parts if part.held]
        if len(deciding) != 1:
            return
        chosen = deciding[0]
        truths = self.search.sets.truths
        for part in way.parts:
            if part is not chosen and self._own(part.logic) == self._own(chosen.logic):
                other = self.search.best(part.logic, truths(chosen.reach))
                if other is not None and other.held and other.held not in self.also:
                    self.also.append(other.held)


def decide(root: Logic) -> Need:
    """The units that decide the value of `root`; none if it cannot have another."""
    sets = ValueSets()
    clauses = same_clauses(root, sets)
    for constants_free in (True, False):
        search = Search(clauses, sets, constants_free)
        way = search.frontier(root)[-1]
        if way.held:
            return _need_of(search, way)
    return Need(places=clauses.places())


def _need_of(search: Search, way: Way) -> Need:
    told = _Told(search)
    told.walk(way)
    held = way.held
    if search.clauses.repeated and search.constants_free:
        held = Repeated(search.clauses, search.sets).smaller(way.logic, held)
    roles = {mask: Role.CONDITION if aside else Role.CAUSE for mask, aside in told.aside.items()}
    deciding = tuple((unit, roles.get(search.clauses.mask(unit), Role.CAUSE)) for unit in search.clauses.units(held))
    also = tuple(search.clauses.units(some) for some in told.also if not some & held)
    return Need(deciding, also, search.clauses.places())


__all__ = ["WAYS_MAX", "Need", "Search", "Way", "decide"]

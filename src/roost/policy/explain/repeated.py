"""The smallest deciding set if a clause occurs in several places.

Theory. A set of clauses decides if it holds at least one clause of every *attack*: clauses that, changed together,
change the value. So the smallest deciding set is the smallest set that hits all attacks. There may be very many
attacks, but few of them matter: start with none, take the smallest set that hits the known ones, search for an attack
that it does not hit, add that, and repeat until there is none. The search for an attack goes clause by clause and
backtracks when the remaining clauses cannot change the value (`reach`).

The problem is NP-hard (it contains Boolean satisfiability), so the work is bounded: after `WORK_MAX` visits of a part
of the tree, the previously known set is kept. It decides, but may have more clauses than needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from roost.base.records import dataclass, field
from roost.policy.explain.reach import FALSE, TRUE, UNDEF, Set, ValueSets
from roost.policy.explain.same import Clauses
from roost.policy.explain.tree import ClauseUnit, Logic

#: Most visits of units and sets of clauses tried: a fraction of a second.
WORK_MAX: Final = 100_000


class _Spent(Exception):
    """The work has reached its limit."""


@dataclass(slots=True)
class Repeated:
    """Looks for the smallest deciding set of one tree."""

    clauses: Clauses
    sets: ValueSets
    _work: int = 0
    _places: dict[int, list[ClauseUnit]] = field(default_factory=dict)

    def smaller(self, root: Logic, known: int) -> int:
        """The smallest deciding set, or `known`, which decides, if finding it takes too long."""
        self._places = self.clauses.varying()
        attacks: list[int] = []
        try:
            while True:
                hitting = self._hitting(attacks)
                attack = self._attack(root, hitting)
                if not attack:
                    return hitting
                attacks.append(attack)
        except _Spent:
            return known

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > WORK_MAX:
            raise _Spent

    def _hitting(self, attacks: list[int]) -> int:
        """The smallest set, the leftmost of several, that has a clause of each attack."""
        union = 0
        for attack in attacks:
            union |= attack
        # From the left, so that combinations come in the order of preference.
        candidates = [mask for mask in self._places if mask & union]
        for size in range(len(candidates) + 1):
            for some in combinations(candidates, size):
                self._spend(1)
                hitting = sum(some)
                if all(hitting & attack for attack in attacks):
                    return hitting
        raise AssertionError("all clauses hit every attack")

    def _attack(self, root: Logic, held: int) -> int:
        """Clauses outside of `held` that change the value, no more than needed; 0 if there are none."""
        values = dict(self.clauses.own)
        free = [mask for mask in self._places if not mask & held]
        for mask in free:
            self._put(values, mask, None)
        if not self._found(root, values, free):
            return 0
        own = self.clauses.own
        changed = [mask for mask in free if values[self._places[mask][0]] != own[self._places[mask][0]]]
        return sum(mask for mask in list(changed) if self._is_needed(root, values, mask))

    def _found(self, root: Logic, values: dict[ClauseUnit, Set], free: list[int]) -> bool:
        """Assign the free clauses so that the value changes, keeping each as it is where possible."""
        own = self._reach(root, self.clauses.own)
        reach = self._reach(root, values)
        if reach == own:
            return False
        if not free or not reach & own:
            for mask in free:
                self._restore(values, mask)
            return True
        for settled in self._choices(free[0]):
            self._put(values, free[0], settled)
            if self._found(root, values, free[1:]):
                return True
        self._put(values, free[0], None)
        return False

    def _choices(self, mask: int) -> Iterator[Set]:
        unit = self._places[mask][0]
        own = self.clauses.own[unit]
        yield own
        yield from (one for one in (TRUE, FALSE, UNDEF) if one != own and one & self.clauses.free[unit])

    def _is_needed(self, root: Logic, values: dict[ClauseUnit, Set], mask: int) -> bool:
        """Whether an attack needs a clause; if not, the clause is removed from it."""
        settled = values[self._places[mask][0]]
        self._restore(values, mask)
        if self._reach(root, values) != self._reach(root, self.clauses.own):
            return False
        self._put(values, mask, settled)
        return True

    def _restore(self, values: dict[ClauseUnit, Set], mask: int) -> None:
        self._put(values, mask, self.clauses.own[self._places[mask][0]])

    def _put(self, values: dict[ClauseUnit, Set], mask: int, settled: Set | None) -> None:
        for unit in self._places[mask]:
            values[unit] = self.clauses.free[unit] if settled is None else settled

    def _reach(self, root: Logic, values: dict[ClauseUnit, Set]) -> Set:
        self._spend(len(values))
        return self.sets.reach(root, values)


__all__ = ["WORK_MAX", "Repeated"]

"""The conditions that the pool's policy adds to Requirements, for all slots of a request at once.

A policy refers to few attributes of a job (its group, its program), and most requests of a cycle have the same values
for them. So the results of a condition for all slots are cached by the values of the attributes that it can reach,
directly or indirectly, in a job's ad: requests with equal values share one evaluation. Nothing is cached if the
condition depends on the clock or on random numbers, or reaches expressions or lists in the job's ad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import UNDEFINED, ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.vector import Table
from roost.classad.vector.result import Result
from roost.negotiator.reach import SlotExpressions, reach

#: Cached results per condition: each may take a few bytes per slot.
LOOKS_MAX: Final = 256

#: Classes whose values are interchangeable if they are equal.
_PLAIN: Final = frozenset((bool, int, str, MISSING.__class__, UNDEFINED.__class__))

#: Cache key of a request: class and value of each attribute that the condition reaches.
_Look: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class Condition:
    """One condition in one cycle."""

    #: Evaluates the condition on all slots for a request.
    evaluate: Callable[[ClassAd], Result]
    #: Folded names that it can reach; None to disable caching.
    names: tuple[str, ...] | None
    _known: dict[_Look, Result] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, expression: Expr, evaluate: Callable[[ClassAd], Result]) -> Condition:
        """A condition on slots of a table."""
        found = reach((expression,), SlotExpressions(table).of)
        keeps = not found.unsteady and not found.names & table.nested()
        return cls(evaluate, tuple(sorted(found.names)) if keeps else None)

    def on(self, ad: ClassAd) -> Result:
        """The result on each slot for a request."""
        look = self._look(ad)
        if look is None:
            return self.evaluate(ad)
        found = self._known.get(look)
        if found is None:
            found = self.evaluate(ad)
            if len(self._known) < LOOKS_MAX:
                self._known[look] = found
        return found

    def _look(self, ad: ClassAd) -> _Look | None:
        """The cache key of a request; None if plain values cannot express it."""
        if self.names is None:
            return None
        look: list[Any] = []
        for name in self.names:
            cell: Any = ad.cell(name)
            kind = cell.__class__
            if kind is float:
                # As text: 0.0 and -0.0 are equal but not interchangeable.
                cell = repr(cell)
            elif kind not in _PLAIN:
                return None
            look += (kind, cell)
        return tuple(look)

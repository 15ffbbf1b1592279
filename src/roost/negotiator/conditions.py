"""The conditions that the pool's policy adds to Requirements, for all slots of a request at once.

A policy asks few things of a job (its group, its program), and most requests of a cycle look the same to it. So what a
condition gives for all slots is remembered for the values of the attributes that it can reach in a job's ad, however
deep: requests that agree in these share one evaluation. Where it is the clock's, or chance's, or goes on into
expressions and lists of the job's ad, nothing is remembered.
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

#: Looks of requests for which the values of a condition are kept: each may be some bytes a slot.
LOOKS_MAX: Final = 256

#: Values whose equality, their class being the same, is all that there is to them.
_PLAIN: Final = frozenset((bool, int, str, MISSING.__class__, UNDEFINED.__class__))

#: What requests look like to a condition: class and value of each attribute that it reaches.
_Look: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class Condition:
    """One condition in one cycle."""

    #: Evaluates it on all slots for a request.
    evaluate: Callable[[ClassAd], Result]
    #: Folded names that it can reach; None if nothing is to be remembered.
    names: tuple[str, ...] | None
    _known: dict[_Look, Result] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, expression: Expr, evaluate: Callable[[ClassAd], Result]) -> Condition:
        """A condition on slots of a table."""
        found = reach((expression,), SlotExpressions(table).of)
        keeps = not found.unsteady and not found.names & table.nested()
        return cls(evaluate, tuple(sorted(found.names)) if keeps else None)

    def on(self, ad: ClassAd) -> Result:
        """What it gives on each slot for a request."""
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
        """What a request looks like; None if that cannot be said by values."""
        if self.names is None:
            return None
        look: list[Any] = []
        for name in self.names:
            cell: Any = ad.cell(name)
            kind = cell.__class__
            if kind is float:
                # As a text: 0.0 and -0.0 are equal, and not the same.
                cell = repr(cell)
            elif kind not in _PLAIN:
                return None
            look += (kind, cell)
        return tuple(look)

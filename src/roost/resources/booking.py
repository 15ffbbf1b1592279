"""A booking: who takes how much from which ledgers, all of it or nothing."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.model.resources import NOTHING, Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Amounts taken from one ledger, and from those above it that it overlaps in."""

    ledger: str
    amounts: Amounts = NOTHING

    def __post_init__(self) -> None:
        assert all(amount >= 0 for amount in self.amounts.values()), self.amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """What one holder has. A parallel job takes parts on several hosts in one booking."""

    #: Unique in the tree, for instance the name of the slot or of the job's task.
    id: str
    #: The party that holds it: bookings of one party may share what it uses exclusively.
    party: str
    parts: tuple[Part, ...]
    #: Names of exclusive uses asked for. Each counts at every ledger, from its parts to the root, that offers it.
    exclusives: frozenset[str] = frozenset()

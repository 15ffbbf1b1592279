"""A booking: which party takes how much from which ledgers, all or nothing."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.model.resources import NOTHING, Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Amounts taken from one ledger, and from the ledgers above it up to the first share."""

    ledger: str
    amounts: Amounts = NOTHING

    def __post_init__(self) -> None:
        assert all(amount >= 0 for amount in self.amounts.values()), self.amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """The amounts that one holder has. A parallel job takes parts on several hosts in one booking."""

    #: Unique in the tree, for instance the name of the slot or of the job's task.
    id: str
    #: The party that holds it: bookings of one party may share what it uses exclusively.
    party: str
    parts: tuple[Part, ...]
    #: Names of exclusive uses asked for. Each applies at every ledger that offers it, from the ledgers of its parts up
    #: to the root.
    exclusives: frozenset[str] = frozenset()

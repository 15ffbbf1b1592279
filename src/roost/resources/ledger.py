"""One ledger: its capacity, the amounts allocated, and the parties that use it."""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, field
from roost.model.resources import NOTHING, Amount, Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """A node of the tree. It limits the resources listed in its capacity, and no others.

    A ledger that is a *share* has been divided from its parent: its capacity is booked there as long as it exists, so
    what is taken from it is not taken from the parent again. Any other ledger *overlaps* with its siblings: its
    capacity is only a limit of its own, and what is taken from it is taken from the parent too.
    """

    name: str
    #: None for the root.
    parent: str | None
    capacity: Amounts
    share: bool = False
    #: Names of exclusive uses that it offers.
    exclusives: frozenset[str] = frozenset()
    #: Allocated to bookings and to shares divided from it; resources with nothing allocated are left out.
    used: Amounts = NOTHING
    #: Party to the number of its bookings' parts at or below this ledger. Maintained only where exclusive uses are
    #: offered.
    tenants: Mapping[str, int] = field(default_factory=dict)
    #: Exclusive use to the party that has it and the number of that party's parts.
    holders: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def available(self, resource: str) -> Amount | None:
        """What could still be allocated; None if this ledger does not limit the resource."""
        capacity = self.capacity.get(resource)
        return None if capacity is None else capacity - self.used.get(resource, 0)

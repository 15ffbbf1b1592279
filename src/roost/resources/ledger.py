"""One ledger: what there is, what is given out, who is there."""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, field
from roost.model.resources import NOTHING, Amount, Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """A node of the tree. It limits the resources that stand in its capacity, and lets all others pass.

    A ledger that is a *share* has been divided from its parent: its capacity is booked there as long as it exists, so
    what is taken from it is not taken from the parent again. Any other ledger *overlaps* with its siblings: its
    capacity is only a limit of its own, and what is taken from it is taken from the parent too.
    """

    name: str
    #: None for the root.
    parent: str | None
    capacity: Amounts
    share: bool = False
    #: Amounts that sensors report as free, where that bounds what may be given out.
    measured: Amounts = NOTHING
    #: Names of exclusive uses that it offers.
    exclusives: frozenset[str] = frozenset()
    #: Given out to bookings and to shares divided from it; resources of which nothing is given out are left out.
    used: Amounts = NOTHING
    #: Party to the number of its bookings' parts at or below this ledger. Kept where exclusive uses are offered.
    tenants: Mapping[str, int] = field(default_factory=dict)
    #: Exclusive use to the party that has it, and to the number of parts by which.
    holders: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def available(self, resource: str) -> Amount | None:
        """What could still be given out; None if this ledger does not limit the resource.

        Below 0 where capacity was lowered under what is given out.
        """
        capacity = self.capacity.get(resource)
        if capacity is None:
            return None
        left = capacity - self.used.get(resource, 0)
        measured = self.measured.get(resource)
        return left if measured is None else min(left, measured)

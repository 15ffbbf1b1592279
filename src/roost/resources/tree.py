"""The tree of ledgers.

Theory of operation. A booking takes its amounts from a ledger and from each one above it, up to and including the first
*share*; the capacity of a share was taken from its parent when it was divided. Each of these ledgers that has a
capacity of the resource must have enough left. Exclusive use is checked all the way to the root, because no other
booking may enter an exclusively used host through any of its slots.

Invariants, which `problems` recomputes:

* ``used`` of a ledger is the sum of the bookings and shares that take from it;
* a change that `book` or `divide` accepts leaves no ledger overdrawn;
* a booking exists once, with one holder;
* when all bookings have ended, all ledgers are as they were before the first.

What it does not do: wait, or choose. Schedulers decide what to try, and in which order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from roost.base.records import dataclass, field, replace
from roost.model.resources import (
    NOTHING,
    AlreadyHeld,
    Amount,
    Amounts,
    Denied,
    InUse,
    NotOffered,
    Obstacle,
    Shortage,
    StillInUse,
    Unknown,
)
from roost.resources.booking import Booking
from roost.resources.ledger import Ledger

_NO_USES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """All ledgers and all bookings. Immutable: every change gives a new one."""

    #: Name to ledger; a parent comes before its children.
    ledgers: Mapping[str, Ledger] = field(default_factory=dict)
    bookings: Mapping[str, Booking] = field(default_factory=dict)

    @classmethod
    def rooted(cls, name: str, capacity: Amounts, exclusives: frozenset[str] = _NO_USES) -> Self:
        """A tree with only a root."""
        return cls(ledgers={name: Ledger(name=name, parent=None, capacity=capacity, exclusives=exclusives)})

    # -- questions -----------------------------------------------------------------------------------

    def upward(self, name: str) -> Iterator[Ledger]:
        """A ledger and those above it, up to the root."""
        at: str | None = name
        while at is not None:
            ledger = self.ledgers[at]
            yield ledger
            at = ledger.parent

    def paying(self, name: str) -> Iterator[Ledger]:
        """The ledgers from which a booking on `name` takes: upward to the first share."""
        for ledger in self.upward(name):
            yield ledger
            if ledger.share:
                return

    def available(self, name: str, resource: str) -> Amount | None:
        """What a booking on `name` could get of a resource; None if nothing limits it."""
        found = (ledger.available(resource) for ledger in self.paying(name))
        return min((amount for amount in found if amount is not None), default=None)

    def overdrawn(self) -> tuple[Shortage, ...]:
        """The ledgers with more allocated than their capacity, after it was lowered."""
        return tuple(
            Shortage(ledger=one.name, resource=resource, wanted=0, available=capacity - used, capacity=capacity)
            for one in self.ledgers.values()
            for resource, capacity in one.capacity.items()
            if (used := one.used.get(resource, 0)) > capacity
        )

    # -- the tree ------------------------------------------------------------------------------------

    def overlap(
        self, name: str, *, parent: str, capacity: Amounts, exclusives: frozenset[str] = _NO_USES
    ) -> Ledgers | Denied:
        """Add a ledger with its own limits; what is taken from it is taken from its parent, too."""
        return self._added(Ledger(name=name, parent=parent, capacity=capacity, exclusives=exclusives))

    def divide(
        self, name: str, *, parent: str, capacity: Amounts, exclusives: frozenset[str] = _NO_USES
    ) -> Ledgers | Denied:
        """Add a ledger as a share of its parent, which must have that much left."""
        if parent in self.ledgers and (short := self._shortages(parent, capacity)):
            return Denied(obstacles=short)
        grown = self._added(Ledger(name=name, parent=parent, capacity=capacity, share=True, exclusives=exclusives))
        return grown if isinstance(grown, Denied) else grown._taking(parent, capacity)

    def _added(self, ledger: Ledger) -> Ledgers | Denied:
        if ledger.name in self.ledgers:
            return Denied(obstacles=(AlreadyHeld(booking=ledger.name, by=self.ledgers[ledger.name].parent or ""),))
        if ledger.parent not in self.ledgers:
            return Denied(obstacles=(Unknown(name=str(ledger.parent)),))
        return replace(self, ledgers={**self.ledgers, ledger.name: ledger})

    def without(self, name: str) -> Ledgers | Denied:
        """Remove a ledger; the capacity of a share returns to its parent. Denied while anything uses the ledger."""
        ledger = self.ledgers.get(name)
        if ledger is None or ledger.parent is None:
            return Denied(obstacles=(Unknown(name=name),))
        user = next((one.name for one in self.ledgers.values() if one.parent == name), None)
        if user is None:
            user = next((b.id for b in self.bookings.values() if any(p.ledger == name for p in b.parts)), None)
        if user is not None:
            return Denied(obstacles=(StillInUse(ledger=name, by=user),))
        shrunk = replace(self, ledgers={key: one for key, one in self.ledgers.items() if key != name})
        return shrunk._giving_back(ledger.parent, ledger.capacity) if ledger.share else shrunk

    # -- bookings ------------------------------------------------------------------------------------

    def book(self, booking: Booking) -> Ledgers | Denied:
        """Take all parts of a booking, or none."""
        held = self.bookings.get(booking.id)
        if held is not None:
            return Denied(obstacles=(AlreadyHeld(booking=held.id, by=held.party),))
        unknown = tuple(Unknown(name=part.ledger) for part in booking.parts if part.ledger not in self.ledgers)
        if unknown:
            return Denied(obstacles=unknown)
        # Parts of one booking may meet in a ledger, so each is checked after the preceding ones are taken.
        after, obstacles = self, list[Obstacle]()
        for part in booking.parts:
            obstacles += after._conflicts(part.ledger, booking)
            obstacles += after._shortages(part.ledger, part.amounts)
            after = after._taking(part.ledger, part.amounts)._entered(part.ledger, booking, 1)
        if obstacles:
            return Denied(obstacles=tuple(dict.fromkeys(obstacles)))
        return replace(after, bookings={**self.bookings, booking.id: booking})

    def end(self, booking_id: str) -> Ledgers | Denied:
        """Give back everything that a booking took."""
        booking = self.bookings.get(booking_id)
        if booking is None:
            return Denied(obstacles=(Unknown(name=booking_id),))
        after = replace(self, bookings={key: one for key, one in self.bookings.items() if key != booking_id})
        for part in booking.parts:
            after = after._giving_back(part.ledger, part.amounts)._entered(part.ledger, booking, -1)
        return after

    def _shortages(self, name: str, amounts: Mapping[str, Amount]) -> tuple[Shortage, ...]:
        return tuple(
            Shortage(
                ledger=ledger.name, resource=resource, wanted=wanted, available=left, capacity=ledger.capacity[resource]
            )
            for ledger in self.paying(name)
            for resource, wanted in amounts.items()
            if wanted > 0 and (left := ledger.available(resource)) is not None and left < wanted
        )

    def _conflicts(self, name: str, booking: Booking) -> Iterator[Obstacle]:
        offered: set[str] = set()
        for ledger in self.upward(name):
            offered |= ledger.exclusives
            for use in sorted(ledger.exclusives):
                holder = ledger.holders.get(use)
                others = [party for party in ledger.tenants if party != booking.party]
                if holder is not None and holder[0] != booking.party:
                    yield InUse(ledger=ledger.name, use=use, by=holder[0], exclusively=True)
                elif use in booking.exclusives and others:
                    yield InUse(ledger=ledger.name, use=use, by=others[0], exclusively=False)
        for use in sorted(booking.exclusives - offered):
            yield NotOffered(ledger=name, use=use)

    def _taking(self, name: str, amounts: Mapping[str, Amount]) -> Ledgers:
        paying = {ledger.name: replace(ledger, used=ledger.used.plus(amounts)) for ledger in self.paying(name)}
        return replace(self, ledgers={**self.ledgers, **paying})

    def _giving_back(self, name: str, amounts: Amounts) -> Ledgers:
        return self._taking(name, NOTHING.minus(amounts))

    def _entered(self, name: str, booking: Booking, step: int) -> Ledgers:
        """The tree after one part of `booking` is added (`step` 1) or removed (-1) at a ledger."""
        changed = {
            ledger.name: _with_tenant(ledger, booking, step) for ledger in self.upward(name) if ledger.exclusives
        }
        return replace(self, ledgers={**self.ledgers, **changed}) if changed else self

    # -- the invariants ------------------------------------------------------------------------------

    def problems(self) -> tuple[str, ...]:
        """Violations of the invariants; empty for every tree made by these methods."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[str]:
        used = dict.fromkeys(self.ledgers, NOTHING)
        tenants: dict[str, Counter[str]] = {name: Counter() for name in self.ledgers}
        takes: list[tuple[str, Amounts]] = [
            (one.parent, one.capacity) for one in self.ledgers.values() if one.share and one.parent is not None
        ]
        for booking in self.bookings.values():
            takes += [(part.ledger, part.amounts) for part in booking.parts]
            for part in booking.parts:
                for ledger in self.upward(part.ledger):
                    tenants[ledger.name][booking.party] += 1
        for name, amounts in takes:
            for ledger in self.paying(name):
                used[ledger.name] = used[ledger.name].plus(amounts)
        yield from self._differences(used, tenants)

    def _differences(self, used: Mapping[str, Amounts], tenants: Mapping[str, Counter[str]]) -> Iterable[str]:
        for ledger in self.ledgers.values():
            if ledger.used != used[ledger.name]:
                yield f"{ledger.name} says that {ledger.used} is used, but it is {used[ledger.name]}"
            if ledger.exclusives and dict(ledger.tenants) != dict(tenants[ledger.name]):
                yield f"{ledger.name} says that {dict(ledger.tenants)} are there, not {dict(tenants[ledger.name])}"
            for use, (party, _) in ledger.holders.items():
                if set(ledger.tenants) != {party}:
                    yield f"{ledger.name} is not {party}'s alone as {use} says, but used by {sorted(ledger.tenants)}"


def _with_tenant(ledger: Ledger, booking: Booking, step: int) -> Ledger:
    tenants = {**ledger.tenants, booking.party: ledger.tenants.get(booking.party, 0) + step}
    holders = dict(ledger.holders)
    for use in ledger.exclusives & booking.exclusives:
        holders[use] = (booking.party, holders.get(use, (booking.party, 0))[1] + step)
    return replace(
        ledger,
        tenants={party: count for party, count in tenants.items() if count},
        holders={use: held for use, held in holders.items() if held[1]},
    )

"""Amounts of resources, and reasons for which a ledger denies them.

An amount is exact: a whole number or a fraction, never a float, so that a ledger is exactly full again when everything
is returned. Units are those of the ad: cores for Cpus, MB for Memory, KB for Disk and Swap, units for anything else.

What this module does not do: keep accounts. That is `roost.resources`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from roost.base.records import dataclass

CPUS: Final = "Cpus"
MEMORY: Final = "Memory"
DISK: Final = "Disk"
SWAP: Final = "Swap"

Amount: TypeAlias = int | Fraction


def plain(amount: Amount) -> Amount:
    """The same amount as an int where it is whole."""
    return int(amount) if amount.denominator == 1 else amount


class Amounts(Mapping[str, Amount]):
    """An immutable table from resource to amount. A resource without an entry is absent, not zero."""

    __slots__ = ("_by_name",)

    def __init__(self, by_name: Mapping[str, Amount] | None = None, /) -> None:
        self._by_name: Final = {name: plain(amount) for name, amount in (by_name or {}).items()}

    def __getitem__(self, name: str) -> Amount:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amounts) and self._by_name == other._by_name

    def __hash__(self) -> int:
        return hash(frozenset(self._by_name.items()))

    def __repr__(self) -> str:
        return f"Amounts({self._by_name})"

    def __str__(self) -> str:
        return ", ".join(f"{name}: {shown(amount)}" for name, amount in self._by_name.items())

    def plus(self, other: Mapping[str, Amount]) -> Amounts:
        """The sum, without resources that become zero."""
        return self._combined(other, 1)

    def minus(self, other: Mapping[str, Amount]) -> Amounts:
        """The difference, without resources that become zero."""
        return self._combined(other, -1)

    def _combined(self, other: Mapping[str, Amount], sign: int) -> Amounts:
        total = dict(self._by_name)
        for name, amount in other.items():
            total[name] = total.get(name, 0) + sign * amount
        return Amounts({name: amount for name, amount in total.items() if amount != 0})


NOTHING: Final = Amounts()


def shown(amount: Amount) -> str:
    """An amount for display: whole numbers unchanged, others with at most six decimals."""
    return str(amount) if amount.denominator == 1 else f"{float(amount):.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A ledger has less of a resource than requested."""

    ledger: str
    resource: str
    wanted: Amount
    #: What it could give; below 0 if its capacity was lowered below what is allocated.
    available: Amount
    capacity: Amount

    def __str__(self) -> str:
        return (
            f"{self.ledger} has {shown(self.available)} {self.resource} of {shown(self.capacity)} left,"
            f" {shown(self.wanted)} wanted"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InUse:
    """Another booking's use of a ledger conflicts with the request."""

    ledger: str
    #: Name of the exclusive use.
    use: str
    #: One of the conflicting parties.
    by: str
    #: Whether that party uses the ledger exclusively; otherwise it only uses it, and exclusive use was requested.
    exclusively: bool

    def __str__(self) -> str:
        if self.exclusively:
            return f"{self.by} has {self.ledger} to itself ({self.use})"
        return f"{self.ledger} is in use by {self.by} and cannot be had alone ({self.use})"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOffered:
    """No ledger on the path offers the requested exclusive use."""

    ledger: str
    use: str

    def __str__(self) -> str:
        return f"{self.ledger} does not offer exclusive use by {self.use}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyHeld:
    """A booking with this id exists already: a claim has one holder."""

    booking: str
    #: The party that holds it.
    by: str

    def __str__(self) -> str:
        return f"{self.booking} is held by {self.by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StillInUse:
    """A ledger cannot be removed while something is booked on it or divided from it."""

    ledger: str
    by: str

    def __str__(self) -> str:
        return f"{self.ledger} is still used by {self.by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """There is no ledger or booking of that name."""

    name: str

    def __str__(self) -> str:
        return f"there is no {self.name}"


Obstacle: TypeAlias = Shortage | InUse | NotOffered | AlreadyHeld | StillInUse | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Nothing was booked, with all obstacles."""

    obstacles: tuple[Obstacle, ...]

    def __str__(self) -> str:
        return "; ".join(str(obstacle) for obstacle in self.obstacles)

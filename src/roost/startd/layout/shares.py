"""Computing each slot's resources from its shares.

The order is that of the manual: first all explicit shares, in the order of slot numbers; then what is left is divided
evenly between the slots that ask for `auto`.

    resource      fraction            auto
    Cpus, Memory  truncated           truncated; less than one is an error
    Disk, Swap    kept as a fraction  the rest of 100 %; nothing left is an error. Disk counts per filesystem
    custom        truncated           handed out evenly, the first slots get the odd units; none left is allowed

A slot that asks for more than is left is *unmet*. `divide` continues with the others, so that everything that cannot be
met is found at once; with `trim`, an unmet slot takes what is left of the resources that it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final, assert_never

from roost.base.records import dataclass, field
from roost.model.resources import CPUS, DISK, MEMORY, SWAP, Amount, shown
from roost.model.slots import MachineResources, SlotKind
from roost.startd.layout.problems import Unmet
from roost.startd.layout.types import LIVE, Absolute, Portion, SlotType, Special

#: By how much fractions may add up to more than 1, to allow for rounded decimals.
TOLERANCE: Final = Fraction(1, 1_000_000)
#: Scratch space of a slot that requests the minimum, KB.
DISK_MINIMUM_KB: Final = 1024
_STANDARD: Final = (CPUS, MEMORY, SWAP, DISK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A slot to be made."""

    number: int
    type: SlotType
    #: Which slot of its type, from 1.
    nth: int
    kind: SlotKind
    filesystem: str


@dataclass(slots=True, kw_only=True)
class Given:
    """The resources of a slot. Cpus, Memory and custom resources in units, Disk and Swap as fractions."""

    wanted: Wanted
    amounts: dict[str, Amount] = field(default_factory=dict)
    #: Resources of which it gets less than it requests.
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The result: slots in order, and for each type the first one that could not be met."""

    given: tuple[Given, ...]
    unmet: tuple[Unmet, ...]


def divide(resources: MachineResources, wanted: Sequence[Wanted], *, trim: bool) -> Division:
    """Give every slot its share. With `trim` the first unmet slot of each type gets what is left."""
    work = _Work(resources, trim)
    for slot in wanted:
        work.explicit(slot)
    for resource in (*_STANDARD, *(each.name for each in resources.custom)):
        work.automatic(resource)
    work.level(SWAP)
    work.level(DISK)
    return Division(given=tuple(work.given), unmet=tuple(work.unmet))


def _key(resource: str, slot: Wanted) -> tuple[str, str]:
    return (resource, slot.filesystem if resource == DISK else "")


class _Work:
    def __init__(self, resources: MachineResources, trim: bool) -> None:
        self.resources = resources
        self.trim = trim
        self.totals: dict[str, Amount] = {CPUS: resources.cpus, MEMORY: resources.memory_mb, SWAP: 1, DISK: 1}
        self.totals |= {each.name: each.total for each in resources.custom}
        #: Taken so far, by resource and filesystem.
        self.taken: dict[tuple[str, str], Amount] = {}
        self.given: list[Given] = []
        self.unmet: list[Unmet] = []

    def left(self, resource: str, slot: Wanted) -> Amount:
        return self.totals[resource] - self.taken.get(_key(resource, slot), 0)

    def take(self, given: Given, resource: str, amount: Amount) -> None:
        given.amounts[resource] = amount
        key = _key(resource, given.wanted)
        self.taken[key] = self.taken.get(key, 0) + amount

    # -- explicit shares -------------------------------------------------------------------------------

    def explicit(self, slot: Wanted) -> None:
        """Give a slot what it requests by number, percentage or fraction."""
        asked = {resource: self._asked(resource, slot) for resource in self.totals}
        short = tuple(
            resource
            for resource, amount in asked.items()
            if amount is not None
            and (self._too_much(resource, slot, amount) or self._too_little(resource, slot, amount))
        )
        given = Given(wanted=slot, short=short)
        if short and not self._keep(given):
            return
        for resource, amount in asked.items():
            if amount is not None:
                left = max(0, self.left(resource, slot))
                self.take(given, resource, min(amount, left) if resource in short else amount)
        self.given.append(given)

    def _asked(self, resource: str, slot: Wanted) -> Amount | None:
        share, total = slot.type.share(resource), self.totals[resource]
        match share:
            case Special.AUTO:
                return None
            case Special.MINIMUM:
                return self._minimum(resource, slot)
            case Portion(of=fraction):
                return fraction if resource in LIVE else floor(fraction * total)
            case Absolute():
                return floor(share.in_mb()) if resource == MEMORY else floor(share.number)
            case _ as never:
                assert_never(never)

    def _minimum(self, resource: str, slot: Wanted) -> Amount:
        if resource in (CPUS, MEMORY):
            return 1
        disk_kb = self.resources.disk_kb.get(slot.filesystem, 0)
        if resource == DISK and disk_kb > 0:
            return min(Fraction(1), Fraction(DISK_MINIMUM_KB, disk_kb))
        return 0

    def _too_much(self, resource: str, slot: Wanted, amount: Amount) -> bool:
        slack = TOLERANCE if resource in LIVE else 0
        return amount > self.left(resource, slot) + slack

    def _too_little(self, resource: str, slot: Wanted, amount: Amount) -> bool:
        """Whether truncation leaves nothing of a positive share of a resource that every slot needs."""
        if resource not in (CPUS, MEMORY) or amount >= 1:
            return False
        share = slot.type.share(resource)
        return (isinstance(share, Portion) and share.of > 0) or (isinstance(share, Absolute) and share.number > 0)

    def _is_below_one(self, resource: str, slot: Wanted) -> bool:
        amount = self._asked(resource, slot)
        return amount is not None and self._too_little(resource, slot, amount)

    # -- automatic shares ------------------------------------------------------------------------------

    def automatic(self, resource: str) -> None:
        """Divide what is left of a resource between the slots without an explicit share."""
        groups: dict[tuple[str, str], list[Given]] = {}
        for given in self.given:
            if given.wanted.type.share(resource) is Special.AUTO:
                groups.setdefault(_key(resource, given.wanted), []).append(given)
        for group in groups.values():
            self._divided(resource, group)

    def _divided(self, resource: str, group: list[Given]) -> None:
        left = max(0, self.left(resource, group[0].wanted))
        if resource not in _STANDARD:
            for count, given in enumerate(group):
                portion = ceil(Fraction(self.left(resource, given.wanted)) / (len(group) - count))
                self.take(given, resource, max(0, portion))
            return
        each: Amount = Fraction(left) / len(group) if resource in LIVE else left // len(group)
        if each >= 1 or (resource in LIVE and each > 0):
            for given in group:
                self.take(given, resource, each)
            return
        for given in group:
            given.short = (*given.short, resource)
            if self._keep(given):
                self.take(given, resource, max(0, self.left(resource, given.wanted)))
            else:
                self._dismiss(given)

    # -- what cannot be met ----------------------------------------------------------------------------

    def _keep(self, given: Given) -> bool:
        """Report an unmet slot, and return whether to make it anyway with what is left."""
        slot = given.wanted
        earlier = [each for each in self.unmet if each.type_id == slot.type.number]
        if earlier and earlier[0].nth != slot.nth:
            return False
        self.unmet = [each for each in self.unmet if each not in earlier]
        self.unmet.append(
            Unmet(
                type_id=slot.type.number,
                nth=slot.nth,
                resources=given.short,
                requesting=self._listed(slot, self._requested),
                available=self._listed(slot, self._rest),
                below_one=all(self._is_below_one(resource, slot) for resource in given.short),
            )
        )
        return self.trim

    def _dismiss(self, given: Given) -> None:
        for resource, amount in given.amounts.items():
            self.taken[_key(resource, given.wanted)] -= amount
        self.given.remove(given)

    def _listed(self, slot: Wanted, each: object) -> str:
        assert callable(each)
        return ", ".join(f"{resource}: {each(resource, slot)}" for resource in self.totals)

    def _requested(self, resource: str, slot: Wanted) -> str:
        asked = self._asked(resource, slot)
        if asked is None:
            return "auto"
        return f"{float(asked * 100):.2f}%" if resource in LIVE else shown(asked)

    def _rest(self, resource: str, slot: Wanted) -> str:
        left = self.left(resource, slot)
        return f"{float(left * 100):.2f}%" if resource in LIVE else shown(left)

    # -- rounding --------------------------------------------------------------------------------------

    def level(self, resource: str) -> None:
        """Scale fractions that add up to slightly more than 1 down to 1."""
        for key, taken in self.taken.items():
            if key[0] == resource and taken > 1:
                for given in self.given:
                    if _key(resource, given.wanted) == key:
                        given.amounts[resource] = given.amounts[resource] / Fraction(taken)

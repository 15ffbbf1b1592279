"""What the cell suspends on the machines of the pool, as they show it, and what they are to be told.

A run says what is to suspend each task. A machine that shows something else is told, and told again while it goes on
to show something else. Nothing else is remembered but when suspend thresholds last suspended or resumed tasks: so a
central manager that has just started goes on where the one before it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.gridengine.scheduling.snapshot import BY_USER, SLOTWISE, THRESHOLD
from roost.model.cell_requests import SUSPENDERS, Suspender

#: How long a machine may take to show what it was told, s.
AGAIN_S: Final = 5.0
#: What single tasks are suspended by, and the letter that a run has for it.
_OF_TASKS: Final = {Suspender.THRESHOLD: THRESHOLD, Suspender.SLOTS: SLOTWISE}


class Order(NamedTuple):
    """What is to suspend the job of a slot from now on."""

    slot: str
    #: PublicClaimId
    claim: str
    #: each with what to say of it
    suspenders: Mapping[Suspender, str]


class Place(NamedTuple):
    """A slot with a task."""

    slot: str
    ad: ClassAd
    instance: str


@dataclass(frozen=True, slots=True)
class _Told:
    order: Order
    at: float


class Suspensions:
    """What machines were told of suspensions and do not show yet."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        #: Instance to when suspend thresholds last suspended or resumed tasks of it, epoch s.
        self.threshold_times: dict[str, float] = {}
        #: Whether anything may be suspended.
        self.any = False

    def letters(self, slot: str, ad: ClassAd) -> str:
        """What suspends the task of a slot, as a run has it: what its machine was told, or else shows."""
        told = self._known(slot, ad)
        causes = shown(ad) if told is None else frozenset(told.order.suspenders)
        letters = "".join(letter for cause, letter in _OF_TASKS.items() if cause in causes)
        # Another cause has suspended it.
        return letters + (BY_USER if not causes and ad.get("Activity") == "Suspended" else "")

    def orders(
        self,
        places: Sequence[Place],
        wanted: Sequence[Mapping[Suspender, str]],
        now: float,
        later: Sequence[Mapping[Suspender, str]] | None = None,
    ) -> list[Order]:
        """What machines are to be told, once a run has said what is to suspend the task of each place.

        `later` is the same as soon as what the run starts has begun: a task that stands still, and would stand still
        again then, does not go on meanwhile.
        """
        left: dict[str, _Told] = {}
        found: list[Order] = []
        self.any = False
        for place, at_once, after in zip(places, wanted, wanted if later is None else later, strict=True):
            present, told = shown(place.ad), self._known(place.slot, place.ad)
            self.any = self.any or bool(at_once or present or told)
            if place.ad.get("State") != "Claimed":
                continue
            known = present if told is None else frozenset(told.order.suspenders)
            causes = {cause: text for cause, text in after.items() if cause in known} | dict(at_once)
            if (Suspender.THRESHOLD in causes) != (Suspender.THRESHOLD in known):
                self.threshold_times[place.instance] = now
            if causes.keys() == known:
                if known == present:
                    continue
                if told is not None and now - told.at < AGAIN_S:
                    left[place.slot] = told
                    continue
            order = Order(place.slot, str(place.ad.get("PublicClaimId", "")), causes)
            left[place.slot] = _Told(order, now)
            found.append(order)
        self._told = left
        return found

    def _known(self, slot: str, ad: ClassAd) -> _Told | None:
        told = self._told.get(slot)
        return told if told is not None and told.order.claim == ad.get("PublicClaimId") else None


def shown(ad: ClassAd) -> frozenset[str]:
    """What of the cell suspends the job of a slot, as its ad says."""
    text = ad.get(SUSPENDERS)
    return frozenset(text.split(",")) if isinstance(text, str) and text else frozenset()

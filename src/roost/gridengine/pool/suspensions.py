"""Suspensions by the cell on the machines of the pool: what they report, and the orders to them.

A run determines what must suspend each task. A machine that reports something else gets an order, repeated while it
continues to report something else. The only other state is when suspend thresholds last suspended or resumed tasks, so
a restarted central manager continues where the previous one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.gridengine.scheduling.snapshot import BY_USER, SLOTWISE, THRESHOLD
from roost.model.cell_requests import SUSPENDERS, Suspender

#: How long a machine may take to report the effect of an order, s.
AGAIN_S: Final = 5.0
#: Causes that suspend single tasks, and their letters in a run.
_OF_TASKS: Final = {Suspender.THRESHOLD: THRESHOLD, Suspender.SLOTS: SLOTWISE}


class SuspendOrder(NamedTuple):
    """The causes that now suspend the job of a slot."""

    slot: str
    #: PublicClaimId
    claim: str
    #: each with a description
    suspenders: Mapping[Suspender, str]


class OccupiedSlot(NamedTuple):
    """A slot with a task."""

    slot: str
    ad: ClassAd
    instance: str


@dataclass(frozen=True, slots=True)
class _PendingOrder:
    order: SuspendOrder
    at: float


class Suspensions:
    """Orders that machines have got but not reported yet."""

    def __init__(self) -> None:
        self._pending: dict[str, _PendingOrder] = {}
        #: Instance to when suspend thresholds last suspended or resumed tasks of it, epoch s.
        self.threshold_times: dict[str, float] = {}
        #: Whether anything may suspend tasks.
        self.any = False

    def letters(self, slot: str, ad: ClassAd) -> str:
        """The letters of what suspends the task of a slot: from the last order, or else as its machine reports."""
        told = self._known(slot, ad)
        causes = shown(ad) if told is None else frozenset(told.order.suspenders)
        letters = "".join(letter for cause, letter in _OF_TASKS.items() if cause in causes)
        # Another cause has suspended it.
        return letters + (BY_USER if not causes and ad.get("Activity") == "Suspended" else "")

    def orders(
        self,
        places: Sequence[OccupiedSlot],
        wanted: Sequence[Mapping[Suspender, str]],
        now: float,
        later: Sequence[Mapping[Suspender, str]] | None = None,
    ) -> list[SuspendOrder]:
        """The orders to machines, once a run has determined what must suspend the task of each place.

        `later` is the same after the run's dispatches have started: a suspended task that would be suspended again then
        is not resumed meanwhile.
        """
        left: dict[str, _PendingOrder] = {}
        found: list[SuspendOrder] = []
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
            order = SuspendOrder(place.slot, str(place.ad.get("PublicClaimId", "")), causes)
            left[place.slot] = _PendingOrder(order, now)
            found.append(order)
        self._pending = left
        return found

    def _known(self, slot: str, ad: ClassAd) -> _PendingOrder | None:
        told = self._pending.get(slot)
        return told if told is not None and told.order.claim == ad.get("PublicClaimId") else None


def shown(ad: ClassAd) -> frozenset[str]:
    """The causes in the cell that suspend the job of a slot, from its ad."""
    text = ad.get(SUSPENDERS)
    return frozenset(text.split(",")) if isinstance(text, str) and text else frozenset()

"""The ads of a machine's slots on their way to the collector.

What the matchmaker may want is told at once, after a moment in which the queue can say that the job which had the
slot waits again; that a slot runs another job of the same claim can wait for others of its kind. From time to time all
ads are told anew, for the collector forgets what it does not hear of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.base.records import replace
from roost.model.slots import SlotId
from roost.node.machine import Machine, NodeSlot
from roost.runtime.clock import Clock
from roost.wire.ads import ad_data
from roost.wire.messages import SlotAds

#: Changes of slots that the matchmaker may want are told after this time, other changes after that, s.
GAP_S: Final = 0.005
LATER_S: Final = 1.0
#: All ads are told again after UPDATE_INTERVAL, and after this time at the latest, s.
REFRESH_S: Final = 240.0


class SlotPublisher:
    """Tells the pool of the slots of a machine."""

    def __init__(self, machine: Machine, name: str, send: Callable[[SlotAds], None], clock: Clock) -> None:
        self._machine = machine
        self._name = name
        self._send = send
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        #: The timer is for what the matchmaker may want.
        self._is_urgent = False
        self._dirty: set[str] = set()
        #: Slots that the pool knows of.
        self._told: dict[str, SlotId] = {}
        self._whole = True

    def mark(self, slot: NodeSlot) -> None:
        """A slot's ad has changed."""
        self._dirty.add(slot.name)
        self._soon(LATER_S if slot.state.claim.granted_at is not None else GAP_S)

    def all_anew(self) -> None:
        """Send all ads anew: the collector may have lost them."""
        self._whole = True
        self._soon(GAP_S)

    async def refresh(self) -> None:
        """Tell everything from time to time."""
        while True:
            self.all_anew()
            await asyncio.sleep(min(REFRESH_S, max(1, self._machine.plan.update_s)))

    def withdraw(self) -> None:
        """The machine goes."""
        if self._timer is not None:
            self._timer.cancel()
        # A slot that ended a moment ago may not have been told of yet.
        gone = sorted({*self._told, *(slot.name for slot in self._machine.slots)})
        self._send(SlotAds(node=self._name, ads=[], gone=gone))

    def _soon(self, wait_s: float) -> None:
        loop, is_urgent = asyncio.get_running_loop(), wait_s <= GAP_S
        if self._timer is not None:
            # Also one that would be due sooner makes room for what is urgent: the queue's word comes first.
            if self._is_urgent or not is_urgent:
                return
            self._timer.cancel()
        self._is_urgent = is_urgent
        self._timer = loop.call_later(wait_s, self._publish)

    def _publish(self) -> None:
        self._timer = None
        whole, self._whole = self._whole, False
        dirty, self._dirty = self._dirty, set()
        slots = self._machine.slots
        present = {slot.name: slot.plan.id for slot in slots}
        gone = sorted(self._told.keys() - present.keys())
        # What a part had is its whole's again.
        larger = {replace(self._told[name], dynamic=0) for name in gone}
        changed = [
            slot
            for slot in slots
            if whole or slot.name in dirty or slot.name not in self._told or slot.plan.id in larger
        ]
        ads = [ad_data(ad) for ad in self._machine.ads(changed, self._clock.now())]
        claims = {slot.name: slot.state.offered.text for slot in changed}
        self._told = present
        self._send(SlotAds(node=self._name, ads=ads, claim_ids=claims, gone=gone, whole=whole))

"""The ads of a machine's slots on their way to the collector.

What the matchmaker may want is told at once, after a moment in which the queue can say that the job which had the
slot waits again; that a slot runs another job of the same claim can wait for others of its kind. From time to time all
ads are told anew, for the collector forgets what it does not hear of.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from roost.base.records import replace
from roost.model.slots import SlotId
from roost.node.machine import Machine, NodeSlot
from roost.runtime.clock import Clock
from roost.wire.ads import AdData, ad_data
from roost.wire.codec import MESSAGE_BYTES_MAX
from roost.wire.messages import SlotAds
from roost.wire.parts import in_parts, size_of

_log = logging.getLogger("roost.node")

#: Changes of slots that the matchmaker may want are told after this time, other changes after that, s.
GAP_S: Final = 0.005
LATER_S: Final = 1.0
#: All ads are told again after UPDATE_INTERVAL, and after this time at the latest, s.
REFRESH_S: Final = 240.0
#: An ad that is larger has no room in a message, bytes.
AD_BYTES_MAX: Final = MESSAGE_BYTES_MAX - 64 * 1024


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
        #: Slots whose ads are too large.
        self._large: set[str] = set()

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
        if whole:
            self._name_large({slot.name: ad for slot, ad in zip(changed, ads, strict=True)})
        parts = in_parts(ads)
        for number, part in enumerate(parts, 1):
            names = [slot.name for slot in changed[: len(part)]]
            del changed[: len(part)]
            is_last = number == len(parts)
            message = SlotAds(
                node=self._name,
                ads=part,
                claim_ids={name: claims[name] for name in names},
                gone=gone if is_last else [],
                whole=whole and len(parts) == 1,
                present=sorted(present.keys() - self._large) if whole and is_last and len(parts) > 1 else [],
            )
            self._send(message)

    def _name_large(self, ads: dict[str, AdData]) -> None:
        """Say which slots the pool cannot hear of, once for each; a message that cannot be sent does not name them."""
        large = {name: size for name, ad in ads.items() if (size := size_of(ad)) > AD_BYTES_MAX}
        for name in sorted(large.keys() - self._large):
            _log.error(
                "the ad of %s has %d bytes and is not published, for a message has at most %d: it gets no jobs; have "
                "STARTD_ATTRS or the programs of STARTD_CRON_JOBLIST put less into it", name, large[name], AD_BYTES_MAX,
            )  # fmt: skip
        self._large = set(large)

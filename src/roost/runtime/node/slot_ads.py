"""Publishing the ads of a machine's slots to the collector.

Changes that concern the negotiator are published at once, after a short delay in which the queue can report that the
slot's former job is idle again. That a slot runs another job of the same claim can wait for similar changes. All ads
are published again periodically, because the collector drops expired ads.
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
from roost.wire.ads import ad_data
from roost.wire.codec import MESSAGE_BYTES_MAX
from roost.wire.messages import SlotAds
from roost.wire.parts import in_parts, size_of
from roost.wire.structs import AdData

_log = logging.getLogger("roost.node")

#: Changes of slots that concern the negotiator are published after this delay, other changes after the second, s.
GAP_S: Final = 0.005
LATER_S: Final = 1.0
#: A larger ad does not fit into a message, bytes.
AD_BYTES_MAX: Final = MESSAGE_BYTES_MAX - 64 * 1024


class SlotPublisher:
    """Publishes the slots of a machine."""

    def __init__(self, machine: Machine, name: str, send: Callable[[SlotAds], None], clock: Clock) -> None:
        self._machine = machine
        self._name = name
        self._send = send
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        #: Whether the timer is for a change that concerns the negotiator.
        self._is_urgent = False
        self._dirty: set[str] = set()
        #: Slots that have been published.
        self._sent: dict[str, SlotId] = {}
        self._whole = True
        #: Slots whose ads are too large.
        self._large: set[str] = set()

    def mark(self, slot: NodeSlot) -> None:
        """Note that a slot's ad has changed."""
        self._dirty.add(slot.name)
        self._soon(LATER_S if slot.state.claim.granted_at is not None else GAP_S)

    def all_anew(self) -> None:
        """Publish all ads again: the collector may have lost them."""
        self._whole = True
        self._soon(GAP_S)

    async def refresh(self) -> None:
        """Publish everything periodically."""
        while True:
            self.all_anew()
            await asyncio.sleep(self._machine.plan.update_s)

    def withdraw(self, *, leaves: bool = False) -> None:
        """Withdraw the ads, because the machine goes away; `leaves`: its jobs continue."""
        if self._timer is not None:
            self._timer.cancel()
        # The end of a slot a moment ago may not have been published yet.
        gone = sorted({*self._sent, *(slot.name for slot in self._machine.slots)})
        self._send(SlotAds(node=self._name, ads=[], gone=gone, leaves=leaves))

    def _soon(self, wait_s: float) -> None:
        loop, is_urgent = asyncio.get_running_loop(), wait_s <= GAP_S
        if self._timer is not None:
            # Even an earlier publication is postponed for an urgent one: the queue's message must arrive first.
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
        gone = sorted(self._sent.keys() - present.keys())
        # The resources of a part belong to its whole again.
        larger = {replace(self._sent[name], dynamic=0) for name in gone}
        changed = [
            slot
            for slot in slots
            if whole or slot.name in dirty or slot.name not in self._sent or slot.plan.id in larger
        ]
        ads = [ad_data(ad) for ad in self._machine.ads(changed, self._clock.now())]
        claims = {slot.name: slot.state.offered.text for slot in changed}
        self._sent = present
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
        """Log each slot that cannot be published once; the failure to send a message does not name them."""
        large = {name: size for name, ad in ads.items() if (size := size_of(ad)) > AD_BYTES_MAX}
        for name in sorted(large.keys() - self._large):
            _log.error(
                "the ad of %s has %d bytes and is not published, because a message is limited to %d bytes; "
                    "the slot gets no jobs. Reduce what STARTD_ATTRS or the programs of STARTD_CRON_JOBLIST "
                        "add to it", name, large[name], AD_BYTES_MAX,
            )  # fmt: skip
        self._large = set(large)

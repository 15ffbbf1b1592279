"""The current state of the slots, kept up to date by machines' messages to the central manager, and a log of changes.

Each change has a number, with which a page that lost its connection resumes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from roost.wire.messages import Message, SlotAds

_log = logging.getLogger("roost.web")

#: Maximum number of changes kept for replay.
CHANGES_MAX: Final = 20_000
#: Attributes kept of each slot.
PROJECTION: Final = ("Name", "Machine", "State", "Activity", "RemoteOwner", "JobId", "Cpus", "Memory")


class SlotNow(NamedTuple):
    """A slot, as shown by pages with thousands of them."""

    name: str
    machine: str
    state: str
    activity: str
    #: "" for none.
    user: str
    job: str


class Change(NamedTuple):
    """A change of a slot; None if it is gone."""

    number: int
    name: str
    slot: SlotNow | None


def _slot(ad: dict[str, Any]) -> SlotNow:
    def text(name: str) -> str:
        value = ad.get(name)
        return value if isinstance(value, str) else ""

    return SlotNow(text("Name"), text("Machine"), text("State"), text("Activity"), text("RemoteOwner"), text("JobId"))


class Feed:
    """All slots of the pool, and their changes."""

    def __init__(self) -> None:
        self._slots: dict[str, SlotNow] = {}
        #: Machine to the names of its slots.
        self._of_machine: dict[str, set[str]] = {}
        self._changes: deque[Change] = deque(maxlen=CHANGES_MAX)
        self.number = 0
        self._moved = asyncio.Event()

    def slots(self) -> dict[str, SlotNow]:
        """A copy, for other threads."""
        return self._slots.copy()

    def fill(self, ads: Iterable[dict[str, Any]]) -> None:
        """Set all slots from the central manager's ads."""
        found = {slot.name: slot for slot in map(_slot, ads)}
        for name in self._slots.keys() - found.keys():
            self._change(name, None)
        for name, slot in found.items():
            self._change(name, slot)

    def take(self, message: Message, sender: str, reply: str) -> None:
        """Apply a machine's message about its slots; other machines' slots in it are ignored."""
        if not isinstance(message, SlotAds) or message.node != sender:
            return
        its = self._of_machine.get(sender, set())
        fresh = [slot for slot in map(_slot, message.ads) if slot.machine == sender]
        for slot in fresh:
            if slot.name in its or slot.name not in self._slots:
                self._change(slot.name, slot)
        gone = its.intersection(message.gone)
        if message.whole or message.present:
            gone |= its - {slot.name for slot in fresh} - set(message.present)
        for name in gone:
            self._change(name, None)

    def _change(self, name: str, slot: SlotNow | None) -> None:
        before = self._slots.get(name)
        if before == slot:
            return
        if before is not None:
            self._of_machine[before.machine].discard(name)
        if slot is None:
            del self._slots[name]
        else:
            self._slots[name] = slot
            self._of_machine.setdefault(slot.machine, set()).add(name)
        self.number += 1
        self._changes.append(Change(self.number, name, slot))
        self._moved.set()

    def since(self, number: int) -> list[Change] | None:
        """The changes after a given one; None if they are no longer kept."""
        if number > self.number or (self._changes and number < self._changes[0].number - 1):
            return None
        fresh = []
        for change in reversed(self._changes):
            if change.number <= number:
                break
            fresh.append(change)
        return fresh[::-1]

    async def moved(self, number: int, within_s: float) -> None:
        """Wait until there is a change after one."""
        if self.number > number:
            return
        self._moved.clear()
        try:
            async with asyncio.timeout(within_s):
                await self._moved.wait()
        except TimeoutError:
            return

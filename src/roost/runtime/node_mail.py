"""What an execute machine says to queues and to the pool: in order, and again where it matters that it is heard."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Final

from roost.node.machine import NodeSlot
from roost.runtime.bus import Carrier
from roost.runtime.clock import Clock
from roost.runtime.node_messages import lost_run
from roost.runtime.reports import Reports
from roost.wire import messages as m
from roost.wire.messages import Message

#: Reports of ends of runs are sent again after this time, s.
REPORT_AGAIN_S: Final = 5.0
#: With every so many of these times queues are told of their claims.
CLAIMS_EVERY: Final = 3


class NodeMail:
    """The outgoing messages of one machine, sent in the order in which they were given."""

    def __init__(self, name: str, bus: Carrier, reports: Reports, clock: Clock) -> None:
        self._name = name
        self._bus = bus
        self._reports = reports
        self._clock = clock
        self._outbox: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()

    def to_queue(self, schedd: str, message: Message) -> None:
        """Say something to a queue; "" is nobody's."""
        if schedd:
            self._outbox.put_nowait((self._bus.subjects.schedd(schedd, self._name), message))

    def to_pool(self, message: Message) -> None:
        """Say something to the central manager."""
        subjects = self._bus.subjects
        match message:
            case m.SlotAds():
                subject = subjects.slots(self._name)
            case m.Audit():
                subject = subjects.audit(self._name)
            case _:
                subject = subjects.ads(self._name)
        self._outbox.put_nowait((subject, message))

    def report(self, schedd: str, message: m.RunEnded) -> None:
        """Report how a run ended, until its queue has it."""
        if schedd:
            self._reports.keep(schedd, message)
            self.to_queue(schedd, message)

    def report_lost(self, slot: NodeSlot) -> None:
        """Nobody saw how the run of a slot ended."""
        if slot.starter is not None and slot.run not in self._reports:
            self.report(slot.schedd, lost_run(slot, slot.starter, self._clock.now()))

    async def send_all(self) -> None:
        """Send what there is, and what comes."""
        while True:
            subject, message = await self._outbox.get()
            await self._bus.send(subject, message)

    async def repeat(self, claims: Callable[[], Mapping[str, dict[str, str]]]) -> None:
        """Say again what queues have to know; `claims`: queue to its claims here, and the run on each."""
        for number in itertools.count():
            for schedd, message in self._reports.waiting():
                self.to_queue(schedd, message)
            if number % CLAIMS_EVERY == 0:
                # A queue that knows nothing of one of them gives it back: its word to do so was lost.
                for schedd, known in claims().items():
                    self.to_queue(schedd, m.ClaimsKnown(reply_to="", known=known, unknown=[]))
            await asyncio.sleep(REPORT_AGAIN_S)

    async def sent(self) -> None:
        """Wait until nothing is left to send."""
        while not self._outbox.empty():
            await asyncio.sleep(0.01)

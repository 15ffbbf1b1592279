"""Outgoing messages of an execute machine to queues and the pool: in order, and repeated if delivery matters."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Final

from roost.node.claim_news import CLAIMS_EVERY, LOOKS_A_LEASE, REPORT_AGAIN_S, next_look_s, run_lost
from roost.node.machine import Machine, NodeSlot
from roost.runtime.bus.client import Carrier
from roost.runtime.clock import Clock
from roost.runtime.node.messages import ended_run
from roost.runtime.node.runs.reports import Reports
from roost.wire import messages as m
from roost.wire.messages import Message

#: Leases shorter than this, s, are checked more often than reports are repeated.
SHORT_LEASE_S: Final = LOOKS_A_LEASE * REPORT_AGAIN_S


class Outbox:
    """The outgoing messages of one machine, sent in the order in which they were given."""

    def __init__(self, name: str, bus: Carrier, reports: Reports, clock: Clock) -> None:
        self._name = name
        self._bus = bus
        self._reports = reports
        self._clock = clock
        #: Set when a claim with a lease below `SHORT_LEASE_S` has changed.
        self.leases_changed = asyncio.Event()
        self._outbox: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()

    def to_queue(self, schedd: str, message: Message) -> None:
        """Send a message to a queue; "" names none."""
        if schedd:
            self._outbox.put_nowait((self._bus.subjects.schedd(schedd, self._name), message))

    def to_pool(self, message: Message) -> None:
        """Send a message to the central manager."""
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
        """Report how a run ended, until its queue has stored that."""
        if schedd:
            self._reports.keep(schedd, message)
            self.to_queue(schedd, message)

    def report_lost(self, slot: NodeSlot) -> None:
        """Report that the end of a slot's run was not observed."""
        if slot.starter is not None and slot.run_name not in self._reports:
            claim_id, began = slot.starter.claim_id.text, slot.starter.state.started_at is not None
            now = self._clock.now()
            lost = run_lost(slot.run_name, node=self._name, claim_id=claim_id, at=now, began=began)
            self.report(slot.schedd, ended_run(slot, lost))

    async def send_all(self) -> None:
        """Send waiting and new messages."""
        while True:
            subject, message = await self._outbox.get()
            await self._bus.send(subject, message)

    async def repeat(self, machine: Machine) -> None:
        """Repeat reports of ends of runs, and notify queues of the claims that they hold or wait for here."""
        for number in itertools.count():
            for schedd, message in self._reports.waiting():
                self.to_queue(schedd, message)
            if number % CLAIMS_EVERY == 0:
                # A queue that does not know one of them releases it: its first message to do so was lost.
                standings = machine.standings()
                for schedd, known in machine.held_claims().items():
                    mine = {name: how for name, how in standings.items() if name in known}
                    self.to_queue(schedd, m.ClaimsKnown(reply_to="", known=known, unknown=[], standings=mine))
            await asyncio.sleep(REPORT_AGAIN_S)

    async def ask_for_life(self, machine: Machine) -> None:
        """Ask queues for a keepalive for claims with a running job before their leases expire.

        Queues send keepalives by themselves, but not more often than every 10 s, and any of them may be lost.
        """
        while True:
            for schedd, known in machine.silent_claims(self._clock.now()).items():
                self.to_queue(schedd, m.ClaimsKnown(reply_to="", known=known, unknown=[], renew=True))
            self.leases_changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(next_look_s(machine.slots)):
                    await self.leases_changed.wait()

    async def sent(self) -> None:
        """Wait until nothing is left to send."""
        while not self._outbox.empty():
            await asyncio.sleep(0.01)

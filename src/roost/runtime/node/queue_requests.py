"""Messages of queues to an execute machine: each becomes an event of the machine's core, or an answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from roost.model import effects as ef
from roost.model import events as ev
from roost.model.causes import causes_of
from roost.model.cell_requests import Suspender
from roost.model.claims import ClaimRequest
from roost.model.reasons import Refusal
from roost.model.starter import Cause, Ending, OrderedBy
from roost.node.machine import Outs
from roost.runtime.causes import caused_by
from roost.wire import messages as m
from roost.wire.ads import ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Message

if TYPE_CHECKING:
    from roost.node.machine import Machine
    from roost.runtime.clock import Clock
    from roost.runtime.node.load_sensors import LoadSensors
    from roost.runtime.node.outbox import Outbox
    from roost.runtime.node.runs.reports import Reports
    from roost.runtime.node.transition_log import TransitionLog

_log = logging.getLogger("roost.node")


class RequestsDaemon(Protocol):
    """The interface of the machine's daemon for messages of queues."""

    clock: Clock
    machine: Machine
    outbox: Outbox
    reports: Reports
    transition_log: TransitionLog
    load_sensors: LoadSensors

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""


class QueueRequests:
    """Handles the messages of queues."""

    def __init__(self, daemon: RequestsDaemon) -> None:
        self._daemon = daemon
        self._machine = daemon.machine
        #: Queue to the number of its last `Reconnect`.
        self._reconnects: dict[str, int] = {}

    def on_message(self, message: Message, sender: str, reply: str) -> None:
        """Handle a message of a queue."""
        try:
            with caused_by(getattr(message, "request", "")):
                self._daemon.carry_out(self._handled(message, sender, self._daemon.clock.now()))
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)

    def on_match(self, message: Message, sender: str, reply: str) -> None:
        """Handle a message of the central manager about matches or suspensions."""
        now = self._daemon.clock.now()
        if isinstance(message, m.SlotsMatched):
            self._daemon.carry_out(self._matched(message.claim_ids, now))
        elif isinstance(message, m.SlotsSuspended):
            self._daemon.carry_out(self._suspended(message.slots, now))
        elif isinstance(message, m.HostConfigured):
            self._daemon.load_sensors.configure(message.load_sensors)

    def _handled(self, message: Message, sender: str, now: float) -> Outs | None:
        machine = self._machine
        match message:
            case m.RequestClaim():
                return self._claim(message, sender, now)
            case m.ReleaseClaim(claim_id=claim_id):
                return machine.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now)
            case m.KeepAlive(claim_ids=claim_ids, reply_to=reply_to):
                return self._keep_alive(claim_ids, reply_to, sender, now)
            case m.ActivateClaim():
                job_ad = ad_from(message.job_ad, "job_ad")
                outs = machine.activate(
                    message.claim_id, message.run, job_ad, now, schedd=sender, context=message.context
                )
                if outs is None:
                    refusal = str(Refusal.UNKNOWN_CLAIM)
                    self._daemon.outbox.to_queue(
                        sender,
                        m.ActivationAnswered(
                            claim_id=message.claim_id, run=message.run, accepted=False, refusal=refusal
                        ),
                    )
                return outs
            case m.EndJob():
                return self._end_job(message, sender, now)
            case m.SuspendJob(claim_id=claim_id, run=run) | m.ContinueJob(claim_id=claim_id, run=run):
                return machine.stand_still(claim_id, run, now, still=isinstance(message, m.SuspendJob))
            case m.ReportTaken(runs=runs):
                self._daemon.reports.taken(runs)
            case m.Reconnect():
                return self._reconnect(message, sender, now)
        return None

    def _claim(self, message: m.RequestClaim, sender: str, now: float) -> Outs | None:
        request = ClaimRequest(
            job_ad=ad_from(message.job_ad, "job_ad"),
            schedd=sender,
            client_machine=message.client_machine,
            alive_interval_s=message.alive_interval_s,
            reply_to=f"{sender}|{message.claim_id}",
        )
        outs = self._machine.claim(message.slot, message.claim_id, request, now)
        if outs is None:
            refused = m.ClaimAnswered(
                asked_id=message.claim_id,
                reply_to=message.reply_to,
                accepted=False,
                refusal=str(Refusal.UNKNOWN_CLAIM),
                claim_id=message.claim_id,
                slot=message.slot,
            )
            self._daemon.outbox.to_queue(sender, refused)
        elif not any(isinstance(out.effect, ef.SendClaimReply) for out in outs):
            # The slot must first evict its job, and the queue should know that its request is not forgotten.
            self._daemon.outbox.to_queue(sender, m.ClaimsKnown(reply_to="", known={message.claim_id: ""}, unknown=[]))
        return outs

    def _matched(self, claim_ids: list[str], now: float) -> Outs:
        """Note that slots are assigned to a queue that will claim them."""
        found: Outs = []
        for claim_id in claim_ids:
            found += self._machine.about_claim(claim_id, lambda each: ev.MatchReceived(claim_id=each), now) or []
        return found

    def _suspended(self, slots: Mapping[str, m.SlotSuspenders], now: float) -> Outs:
        """Note a change in what the cell suspends."""
        found: Outs = []
        for slot in list(self._machine.slots):
            told = slots.get(slot.name)
            if told is not None:
                causes = {str(cause): told.suspenders[cause] for cause in Suspender if cause in told.suspenders}
                event = ev.SuspendersChanged(claim=told.claim, suspenders=causes)
                found += self._machine.host.receive(slot, event, now)
        return found

    def _keep_alive(self, claim_ids: list[str], reply_to: str, sender: str, now: float) -> Outs:
        """Handle a keepalive for claims, and answer with their state."""
        known, unknown = {}, []
        runs = self._machine.runs()
        found: Outs = []
        for claim_id in claim_ids:
            reported = self._daemon.reports.run_of(claim_id)
            outs = self._machine.about_claim(claim_id, lambda each: ev.AliveReceived(claim_id=each), now)
            found += outs or []
            if outs is None and not reported:
                unknown.append(claim_id)
            else:
                known[claim_id] = runs.get(claim_id, reported)
        if reply_to:
            self._daemon.outbox.to_queue(sender, self._known(reply_to, known, unknown))
        return found

    def _known(self, reply_to: str, known: dict[str, str], unknown: list[str]) -> m.ClaimsKnown:
        standings = {name: how for name, how in self._machine.standings().items() if name in known}
        return m.ClaimsKnown(reply_to=reply_to, known=known, unknown=unknown, standings=standings)

    def _end_job(self, message: m.EndJob, sender: str, now: float) -> Outs | None:
        try:
            ending = Ending(message.ending)
        except ValueError:
            raise WireError(f"ending: {message.ending!r} is not one of {', '.join(Ending)}") from None
        cause = Cause(
            ending=ending,
            code=message.code,
            subcode=message.subcode,
            text=message.text,
            by=OrderedBy.QUEUE,
            request=message.request,
        )
        found = self._machine.slot_of(message.claim_id)
        if found is None:
            if message.run not in self._daemon.reports:
                gone = m.ClaimsKnown(reply_to="end", known={}, unknown=[message.claim_id])
                self._daemon.outbox.to_queue(sender, gone)
            return None
        ids = causes_of(found[0].state.claim.job_ad, message.request).bracketed()
        _log.info("run %s of %s must end: %s%s", message.run, sender, message.ending, ids)
        if message.request:
            self._daemon.transition_log.ordered(found[0].name, message.request)
        return self._machine.end_run(message.claim_id, message.run, cause, hard=message.hard, now=now)

    def _reconnect(self, message: m.Reconnect, sender: str, now: float) -> Outs:
        """Handle a queue's restart. Claims that it does not name are no longer its own."""
        for schedd, report in self._daemon.reports.waiting():
            if schedd == sender:
                self._daemon.outbox.to_queue(sender, report)
        found = self._keep_alive(list(message.claims), message.reply_to, sender, now)
        serial = int(message.reply_to) if message.reply_to.isdecimal() else 0
        if serial <= self._reconnects.get(sender, 0):
            # The message was sent before claims were granted that it does not name.
            return found
        self._reconnects[sender] = serial
        for claim_id in self._machine.held_claims().get(sender, ()):
            if claim_id not in message.claims:
                outs = self._machine.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now)
                found += outs or []
        return found

"""Answers to requests of administrators to an execute machine: its ads, drains, evictions, its story."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.config.access import access
from roost.model import events as ev
from roost.model.audit import AuditKind
from roost.model.events import DrainSchedule
from roost.model.reasons import Refusal
from roost.model.slot_transition import SlotTransition
from roost.node.decisions import Recorder, ordered
from roost.node.machine import NodeSlot
from roost.policy.explain.configured import configured_machine
from roost.runtime.bus.permission import refusal
from roost.runtime.bus.request_answers import Later, NotFound, RequestAnswers, expression
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.node.runs.printed import file_answer
from roost.runtime.node.stream_answers import stream_answer
from roost.runtime.role import superusers
from roost.startd.draining import DrainOrder, OnCompletion
from roost.wire.ads import ad_data
from roost.wire.messages import Answer, Ask
from roost.wire.requests import machine
from roost.wire.requests.verb import Daemon, Request, Verb

if TYPE_CHECKING:
    from roost.config import Config
    from roost.model.audit import AuditRecord
    from roost.node.machine import Machine, Outs
    from roost.runtime.bus.client import Carrier
    from roost.runtime.bus.lanes import Lanes
    from roost.runtime.clock import Clock
    from roost.runtime.node.runs.shells import Shells
    from roost.runtime.node.sessions import Sessions
    from roost.runtime.node.slot_ads import SlotPublisher
    from roost.runtime.node.starter_orders import StarterOrders
    from roost.runtime.node.transition_log import TransitionLog


#: Maximum number of stories that are read at the same time.
READERS: Final = 2
#: Remedies for refused drains.
_DRAIN_REMEDIES: Final = {
    Refusal.ALREADY_DRAINING: "`roost drain --cancel` cancels that one",
    Refusal.DRAIN_CHECK_FAILED: "`roost status --json` shows the slots' attributes; omit --check to drain anyway",
    Refusal.NO_SUCH_DRAIN: "`roost status --json` shows DrainingRequestId; without --request-id, any drain is "
    "cancelled",
}


class NodeAnswersDaemon(Protocol):
    """The interface of the machine's daemon for answers."""

    name: str
    config: Config
    #: Digest of the configuration.
    configuration: str
    clock: Clock
    bus: Carrier
    lanes: Lanes
    machine: Machine
    ads: SlotPublisher
    starter_orders: StarterOrders
    sessions: Sessions
    shells: Shells
    transition_log: TransitionLog

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""

    def poll_now(self) -> None:
        """Evaluate the policy."""

    def record(self, decision: AuditRecord | None) -> None:
        """Record a decision."""


class NodeAnswers(RequestAnswers):
    """The requests that a machine answers."""

    of = Daemon.MACHINE

    def __init__(self, daemon: NodeAnswersDaemon) -> None:
        super().__init__(daemon.bus)
        self._daemon = daemon
        self._machine = daemon.machine
        #: A pool separate from the threads that jobs and their files need.
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="story")

    def refusal(self, verb: Verb, sender: str) -> Answer | None:
        """Why a request is not answered; None if it is."""
        config = self._daemon.config
        return refusal(verb, sender, superusers(config), access(config, "STARTD"))

    def denied(self, ask: Ask, sender: str, why: str) -> None:
        """Record that a user was denied a request."""
        self._record(AuditKind.COMMAND, ask.what, sender, self._daemon.clock.now(), why)

    async def answered(self, request: Request[Any], sender: str, reply: str, request_id: str) -> object:
        """The reply to a request."""
        now = self._daemon.clock.now()
        match request:
            case machine.Ads():
                return [ad_data(ad) for ad in self._machine.ads(self._machine.slots, now)]
            case machine.Story():
                return await self._story(request)
            case machine.Origins():
                return self._origins(request.slot)
            case machine.Drain():
                return self._drain(request, sender, now)
            case machine.CancelDrain():
                return self._cancel_drain(request, sender, now)
            case machine.Vacate():
                return self._vacate(request, sender, now)
            case machine.Reopen():
                return self._reopen(request, sender, now)
            case machine.ReadStreams() | machine.WriteStreams() | machine.KeepStreams() | machine.LeaveStreams():
                return await stream_answer(self._daemon.sessions, request, sender)
            case machine.OpenShell():
                return await self._daemon.shells.open(request, sender)
            case machine.ReadFile():
                runners, administrators = self._daemon.starter_orders.runners, superusers(self._daemon.config)
                return await file_answer(runners.values(), request, sender, administrators)
            case machine.UnderWay(reply=asked):
                return self._daemon.lanes.has(asked)
            case machine.StopMachine():
                return await self._stop_machine(request, sender, reply, now)
            case machine.Poll():
                self._daemon.poll_now()
                return None
        raise AssertionError(f"the machine has no handler for the request {request}")

    async def _story(self, asked: machine.Story) -> list[SlotTransition]:
        """What has happened; a thread reads the files, because they may be long."""
        transition_log = self._daemon.transition_log
        transition_log.write(explained=True)
        loop = asyncio.get_running_loop()
        read = partial(transition_log.read, slot=asked.slot, job=asked.job, limit=asked.limit)
        return await loop.run_in_executor(self._readers, read)

    def _origins(self, name: str) -> dict[str, machine.Origin]:
        slot = next((each for each in self._machine.slots if each.name == name), None)
        number = None if slot is None else slot.plan.id.number
        found = configured_machine(self._daemon.config, slot=number).origins
        return {
            attribute: machine.Origin(file=each.file, line=each.line, via=each.via) for attribute, each in found.items()
        }

    def _drain(self, asked: machine.Drain, sender: str, now: float) -> machine.Draining | Answer:
        host = self._machine.host
        order = DrainOrder(
            schedule=DrainSchedule(asked.schedule),
            on_completion=OnCompletion(asked.on_completion),
            check=expression(asked.check, "check"),
            start=expression(asked.start, "start"),
            reason=asked.reason,
        )
        outs, refused = host.drain(order, now)
        self._record(AuditKind.DRAIN, _drain_words(order), sender, now, refused)
        self._daemon.carry_out(outs)
        if refused is not None:
            return _refused(refused)
        self._daemon.poll_now()
        return machine.Draining(request_id=host.drains.draining.request_id)

    def _cancel_drain(self, asked: machine.CancelDrain, sender: str, now: float) -> Answer | None:
        outs, refused = self._machine.host.cancel_drain(asked.request_id, now)
        self._record(AuditKind.DRAIN, "the drain is cancelled", sender, now, refused)
        self._daemon.carry_out(outs)
        return None if refused is None else _refused(refused)

    def _named(self, name: str) -> list[NodeSlot]:
        """The slot with a name, or all slots for ""."""
        slots = [slot for slot in self._machine.slots if not name or slot.name == name]
        if not slots:
            raise NotFound(f"there is no slot {name!r} on {self._daemon.name}")
        return slots

    def _vacate(self, asked: machine.Vacate, sender: str, now: float) -> machine.Slots:
        slots = self._named(asked.slot)
        done = machine.Slots(slots=tuple(slot.name for slot in slots))
        words = "slots are vacated at once" if asked.fast else "slots are vacated"
        self._record(AuditKind.COMMAND, words, sender, now, slots=done.slots)
        for slot in slots:
            self._daemon.carry_out(self._machine.host.receive(slot, ev.VacateRequested(fast=asked.fast), now))
        return done

    async def _stop_machine(self, asked: machine.StopMachine, sender: str, reply: str, now: float) -> Later:
        words = "the daemon is stopped, and its jobs end" if asked.kill_jobs else "the daemon is stopped"
        self._record(AuditKind.COMMAND, words, sender, now)
        if asked.kill_jobs:
            return await self._stop(reply, DaemonEnding.FAST)
        self._daemon.ads.withdraw(leaves=True)
        return await self._stop(reply, DaemonEnding.LEAVE)

    def _reopen(self, asked: machine.Reopen, sender: str, now: float) -> machine.Slots:
        closed = [slot for slot in self._named(asked.slot) if slot.state.broken is not None]
        done = machine.Slots(slots=tuple(slot.name for slot in closed))
        if closed:
            self._record(AuditKind.COMMAND, "slots are reopened", sender, now, slots=done.slots)
        for slot in closed:
            self._daemon.carry_out(self._machine.host.receive(slot, ev.SlotMended(), now))
        self._daemon.poll_now()
        return done

    def _record(
        self,
        kind: AuditKind,
        what: str,
        actor: str,
        now: float,
        refusal: str | None = None,
        slots: Sequence[str] = (),
    ) -> None:
        daemon = self._daemon
        daemon.record(
            ordered(
                kind,
                what,
                Recorder(daemon.name, daemon.configuration),
                actor=actor,
                now=now,
                refusal=refusal or "",
                slots=slots,
            )
        )


def _drain_words(order: DrainOrder) -> str:
    found = f"drain, {order.schedule.name.lower()}, then {order.on_completion.name.lower()}"
    if order.check is not None:
        found += f", if {order.check}"
    return f"{found}: {order.reason}" if order.reason else found


def _refused(why: Refusal) -> Answer:
    return Answer(ok=False, code="refused", text=str(why), remedy=_DRAIN_REMEDIES.get(why, ""))

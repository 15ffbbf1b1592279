"""What administrators ask of an execute machine: its ads, drains, evictions, its story."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ParseError, parse_expression
from roost.config.access import Access, access
from roost.model import events as ev
from roost.model.audit import AuditKind
from roost.model.events import DrainSchedule
from roost.model.reasons import Refusal
from roost.node.decisions import ordered
from roost.policy.explain.configured import configured_machine
from roost.runtime.permission import DENIED, refusal
from roost.runtime.role import superusers
from roost.startd.draining import DrainOrder, OnCompletion
from roost.wire.ads import ad_data
from roost.wire.messages import Answer, Ask, Message
from roost.wire.requests.verb import Daemon
from roost.wire.verbs import asked_verb

if TYPE_CHECKING:
    from roost.runtime.node_daemon import NodeDaemon


#: Stories that are read at the same time.
READERS: Final = 2
#: What can be done about drains that are refused.
_DRAIN_REMEDIES: Final = {
    Refusal.ALREADY_DRAINING: "`roost drain --cancel` ends that one",
    Refusal.DRAIN_CHECK_FAILED: "`roost status --json` shows what the slots are; leave --check out to drain anyway",
    Refusal.NO_SUCH_DRAIN: "`roost status --json` has DrainingRequestId; without --request-id any drain is ended",
}


class NodeAnswers:
    """The requests that a machine answers."""

    def __init__(self, daemon: NodeDaemon) -> None:
        self._daemon = daemon
        self._machine = daemon.machine
        #: Not the threads that jobs and their files need.
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="story")

    def _lists(self) -> Access:
        return access(self._daemon.config, "STARTD")

    async def on_ask(self, message: Message, sender: str, reply: str) -> None:
        """Somebody asks something."""
        if not isinstance(message, Ask):
            return
        try:
            refused = refusal(
                asked_verb(Daemon.MACHINE, message), sender, superusers(self._daemon.config), self._lists()
            )
            if refused is not None:
                if refused.code == DENIED:
                    self._record(AuditKind.COMMAND, message.what, sender, self._daemon.clock.now(), refused.text)
                answer = refused
            elif message.what == "story":
                answer = await self._story(message.args)
            else:
                answer = self._answered(message, sender, self._daemon.clock.now())
        except (KeyError, TypeError, ValueError, ParseError) as error:
            answer = Answer(ok=False, code="bad-request", text=f"{message.what}: {error}")
        await self._daemon.bus.answer(reply, answer)

    async def _story(self, args: dict[str, Any]) -> Answer:
        """What has happened; the files may be long, so that a thread reads them."""
        chronicle, limit = self._daemon.chronicle, int(args.get("limit", 0))
        slot, job = str(args.get("slot", "")), str(args.get("job", ""))
        chronicle.write(explained=True)
        loop = asyncio.get_running_loop()
        read = partial(chronicle.read, slot=slot, job=job, limit=limit)
        return Answer(data=await loop.run_in_executor(self._readers, read))

    def _answered(self, ask: Ask, sender: str, now: float) -> Answer:
        args, host = ask.args, self._machine.host
        match ask.what:
            case "ads":
                return Answer(data=[ad_data(ad) for ad in self._machine.ads(self._machine.slots, now)])
            case "origins":
                return Answer(data=self._origins(str(args.get("slot", ""))))
            case "drain":
                order = _drain_order(args)
                outs, refusal = host.drain(order, now)
                self._record(AuditKind.DRAIN, _drain_words(order), sender, now, refusal)
                self._daemon.carry_out(outs)
                if refusal is not None:
                    return Answer(ok=False, code="refused", text=str(refusal), remedy=_DRAIN_REMEDIES.get(refusal, ""))
                self._daemon.poll_now()
                return Answer(data={"request_id": host.drains.draining.request_id})
            case "cancel-drain":
                outs, refusal = host.cancel_drain(str(args.get("request_id", "")), now)
                self._record(AuditKind.DRAIN, "the drain is cancelled", sender, now, refusal)
                self._daemon.carry_out(outs)
                if refusal is None:
                    return Answer()
                return Answer(ok=False, code="refused", text=str(refusal), remedy=_DRAIN_REMEDIES.get(refusal, ""))
            case "vacate":
                return self._vacate(args, sender, now)
            case "reopen":
                return self._reopen(args, sender, now)
            case "poll":
                self._daemon.poll_now()
                return Answer()
        raise AssertionError(f"a verb of the table that the machine does not answer: {ask.what}")

    def _origins(self, name: str) -> dict[str, Any]:
        """Where the policy of a slot was set: attribute to file, line and what led there."""
        slot = next((each for each in self._machine.slots if each.name == name), None)
        number = None if slot is None else slot.plan.id.number
        found = configured_machine(self._daemon.config, slot=number).origins
        return {attribute: {"file": each.file, "line": each.line, "via": each.via} for attribute, each in found.items()}

    def _vacate(self, args: dict[str, Any], sender: str, now: float) -> Answer:
        wanted = str(args.get("slot", ""))
        slots = [slot for slot in self._machine.slots if not wanted or slot.name == wanted]
        if not slots:
            return Answer(ok=False, code="not-found", text=f"there is no slot {wanted!r} on {self._daemon.name}")
        fast = bool(args.get("fast"))
        words = "slots are vacated at once" if fast else "slots are vacated"
        self._record(AuditKind.COMMAND, words, sender, now, slots=[slot.name for slot in slots])
        for slot in slots:
            event = ev.VacateRequested(fast=fast)
            self._daemon.carry_out(self._machine.host.receive(slot, event, now))
        return Answer(data={"slots": [slot.name for slot in slots]})

    def _reopen(self, args: dict[str, Any], sender: str, now: float) -> Answer:
        wanted = str(args.get("slot", ""))
        slots = [slot for slot in self._machine.slots if not wanted or slot.name == wanted]
        if not slots:
            return Answer(ok=False, code="not-found", text=f"there is no slot {wanted!r} on {self._daemon.name}")
        closed = [slot for slot in slots if slot.state.broken is not None]
        if closed:
            self._record(AuditKind.COMMAND, "slots are opened again", sender, now, slots=[slot.name for slot in closed])
        for slot in closed:
            self._daemon.carry_out(self._machine.host.receive(slot, ev.SlotMended(), now))
        self._daemon.poll_now()
        return Answer(data={"slots": [slot.name for slot in closed]})

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
                machine=daemon.name,
                actor=actor,
                now=now,
                configuration=daemon.configuration,
                refusal=refusal or "",
                slots=slots,
            )
        )


def _drain_words(order: DrainOrder) -> str:
    found = f"drain, {order.schedule.name.lower()}, then {order.on_completion.name.lower()}"
    if order.check is not None:
        found += f", if {order.check}"
    return f"{found}: {order.reason}" if order.reason else found


def _drain_order(args: dict[str, Any]) -> DrainOrder:
    check, start = args.get("check"), args.get("start")
    return DrainOrder(
        schedule=DrainSchedule(int(args.get("schedule", DrainSchedule.GRACEFUL))),
        on_completion=OnCompletion(int(args.get("on_completion", OnCompletion.NOTHING))),
        check=None if not check else parse_expression(str(check)),
        start=None if not start else parse_expression(str(start)),
        reason=str(args.get("reason", "")),
    )

"""The daemon of an execute machine: its core between bus, sensors, nursery and disk.

Sensors are read as often as the core wants to look. Orders of the core become messages, timers, and work that `Runner`s
do for the runs of jobs. Ends of runs are kept on disk until the queue says that it has them on its own.

What it does not do: decide. `roost.node` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import signal
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from roost.classad import ParseError, parse_expression
from roost.config import Config, ConfigError
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.claims import ClaimRequest
from roost.model.events import DrainSchedule, ShutdownKind, Timer
from roost.model.reasons import Refusal
from roost.model.starter import Cause, Ending, OrderedBy
from roost.node.host import OfferLeftovers, Out
from roost.node.host_slots import Starter
from roost.node.machine import Machine, NodeSlot, Outs
from roost.node.plan import NodePlan, make_plan
from roost.runtime.benchmarks import run_benchmarks
from roost.runtime.bus import Bus
from roost.runtime.chronicle import Chronicle
from roost.runtime.node_state import NodeState, Tickets
from roost.runtime.nursery import Nursery, NurseryFailed
from roost.runtime.reports import Reports
from roost.runtime.role import ConfigurationRefused, RoleContext
from roost.runtime.role import Ending as DaemonEnding
from roost.runtime.runner import Runner, Surroundings
from roost.runtime.sensors import Sensors
from roost.runtime.takeover import take_over
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.layout_problems import LayoutRefused
from roost.startd.machine import Step
from roost.startd.slot_ad import host_identity
from roost.startd.slot_state import SlotState
from roost.starter.machine import Step as StarterStep
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message

_log = logging.getLogger("roost.node")

#: Changes of slots that the matchmaker may want are told after this time, other changes after that, s.
PUBLISH_GAP_S: Final = 0.005
PUBLISH_LATER_S: Final = 1.0
#: Reports of ends of runs are sent again after this time, s.
REPORT_AGAIN_S: Final = 5.0
#: All slot ads are sent again after this time at the latest, s: the collector forgets what it does not hear of.
REFRESH_S: Final = 240.0


class NodeDaemon:
    """An execute machine at work."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.context = context
        self.name = context.name
        self.config = config
        self.bus = bus
        self.subjects = bus.subjects
        self.started_at = time.time()
        self.sensors = self._sensors(config)
        plan = self._plan(config)
        self.machine = Machine(plan, self, birth=int(self.started_at), key=context.home.secret(), now=self.started_at)
        self.runners: dict[Starter, Runner] = {}
        self.reports = Reports(context.home.jobs)
        self.tickets = Tickets(context.home.jobs)
        self.state = NodeState(context.home.run / "slots")
        self.chronicle = Chronicle(context.home.log / "transitions.jsonl", config)
        self._timers: dict[tuple[NodeSlot, Timer], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._publish: asyncio.TimerHandle | None = None
        self._dirty: set[str] = set()
        self._told: set[str] = set()
        self._whole = True
        self._poll_now = asyncio.Event()
        self._stopping = False
        self._empty = asyncio.Event()
        self._outbox: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
        self.nursery: Nursery | None = None

    def _sensors(self, config: Config) -> Sensors:
        try:
            return Sensors.configured(config, self.context.home.execute)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None

    def _plan(self, config: Config) -> NodePlan:
        try:
            identity = host_identity(
                config,
                machine=self.name,
                address=f"<{self.name}>",
                started_at=self.started_at,
                platform=_platform(config),
            )
            plan = make_plan(config, self.sensors.host(), identity, zone_offset_s=_zone_offset_s())
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        if isinstance(plan, LayoutRefused):
            raise ConfigurationRefused(str(plan))
        for line in plan.warnings:
            _log.warning("%s", line)
        return plan

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin: the nursery, runs that an earlier daemon left, the bus, sensors."""
        try:
            self.nursery = await Nursery.start(self.context.home.run / "nursery")
        except NurseryFailed as error:
            raise ConfigurationRefused(str(error)) from None
        self.reports.load()
        await take_over(self)
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.node(self.name, "*"), self._on_message)
        await self.bus.listen(self.subjects.ask_node(self.name, "*"), self._on_ask)
        self.bus.on_reconnect = self._reconnected
        for work in (self._polls(), self._send_all(), self._report_again(), self._refresh(), self.chronicle.keep()):
            self.spawn(work)

    async def reconfigure(self, config: Config) -> None:
        """Other policy from the next poll on; another layout needs a restart."""
        plan = self._plan(config)
        self.config = config
        self.machine.reconfigure(plan)
        self.chronicle.reconfigure(config)
        self._reconnected()
        self._poll_now.set()

    async def stop(self, ending: DaemonEnding) -> None:
        """Let the jobs end, quickly or with their due time; or leave them running."""
        if ending is not DaemonEnding.LEAVE:
            self._stopping = True
            kind = ShutdownKind.FAST if ending is DaemonEnding.FAST else ShutdownKind.GRACEFUL
            self.carry_out(self.machine.to_all(ev.ShutdownRequested(kind=kind), time.time()))
            self._look_empty()
            await self._empty.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reports.all_taken(), 3)
            gone = [slot.name for slot in self.machine.slots]
            self._outbox.put_nowait((self.subjects.ads(self.name), m.SlotAds(node=self.name, ads=[], gone=gone)))
        while not self._outbox.empty():
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
        for runner in self.runners.values():
            runner.forget()
        if self.nursery is not None:
            await self.nursery.close()
        self.chronicle.write(explained=True)
        self.state.close()
        self.state.write(self.machine)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something beside."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("a mistake in Roost", exc_info=task.exception())

    def _look_empty(self) -> None:
        if self._stopping and all(slot.starter is None for slot in self.machine.slots):
            self._empty.set()

    # -- sensors -------------------------------------------------------------------------------------

    async def _polls(self) -> None:
        problem = ""
        while True:
            percents = {
                slot.plan.id: self.runners[slot.starter].cpu_percent()
                for slot in self.machine.slots
                if slot.starter is not None and slot.starter in self.runners
            }
            reading = self.sensors.read(percents)
            if self.sensors.problem != problem:
                problem = self.sensors.problem
                _log.warning("sensors: %s", problem or "the file of replacements can be read again")
            self.carry_out(self.machine.poll(reading, time.time()))
            await self._until_next_poll()

    async def _until_next_poll(self) -> None:
        """The next poll is when it is due, or when something asks for it."""
        self._poll_now.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._poll_now.wait(), self.machine.interval_s)

    # -- what the core is told of its steps ----------------------------------------------------------

    def stepped(self, slot: NodeSlot, before: SlotState, taken: Step, now: float) -> None:
        """A slot has taken a step."""
        if before is not taken.state:
            self.state.touch(slot, self.machine)
        for each in taken.transitions:
            _log.info("%s: %s -> %s (%s: %s)", slot.name, each.source, each.target, each.number, each.reason)
            self.chronicle.note(slot.plan.id.number, before, taken.state, each)

    def starter_stepped(self, slot: NodeSlot, starter: Starter, taken: StarterStep, now: float) -> None:
        """A starter has taken a step."""
        self.state.touch(slot, self.machine)
        for each in taken.transitions:
            _log.debug("%s %s: %s -> %s (%s)", slot.name, slot.run, each.source, each.target, each.reason)

    # -- orders of the core --------------------------------------------------------------------------

    def carry_out(self, outs: Outs | None) -> None:
        """Do what the core has ordered."""
        if outs is None:
            return
        for out in outs:
            if out.starter is not None:
                self._for_starter(out)
            else:
                self._for_slot(out.slot, out.effect)
        self._after_drain()
        self._look_empty()

    def _for_slot(self, slot: NodeSlot, effect: Any) -> None:
        match effect:
            case ef.SetTimer(timer=timer, at=at):
                self._wake(slot, timer, at)
            case ef.CancelTimer(timer=timer):
                self._wake(slot, timer, None)
            case ef.PublishAd():
                self._mark(slot)
            case ef.SendClaimReply():
                self._reply_claim(slot, effect)
            case ef.SendActivationReply(reply_to=run, accepted=accepted, refusal=refusal):
                text = "" if refusal is None else str(refusal)
                claim_id = slot.state.claim.id.text
                answer = m.ActivationAnswered(claim_id=claim_id, run=run, accepted=accepted, refusal=text)
                self._send(slot.schedd, answer)
            case ef.TellSchedd(schedd=schedd, claim_id=claim, reason=reason, cause=cause):
                text = str(reason) if cause is None else cause.text
                code = 0 if cause is None else int(cause)
                run = self.reports.run_of(claim.text)
                self._send(schedd, m.ClaimGone(claim_id=claim.text, reason=text, code=code, run=run))
            case ef.KillFamily():
                self._kill(slot)
            case ef.RunBenchmarks():
                self.spawn(self._benchmark(slot))
            case ef.Warn(expression=expression, text=text):
                _log.warning("%s: %s: %s", slot.name, expression, text)
            case ef.CheckpointJob() | ef.SendDeactivationReply() | ef.SendAliveReply() | ef.CancelBenchmarks():
                pass
            case OfferLeftovers():
                # The matchmaker hears of what is left with the slot's next ad, which is under way.
                self._mark(slot)
            case _:
                _log.warning("%s: %s is not done by this machine yet", slot.name, type(effect).__name__)

    def _wake(self, slot: NodeSlot, timer: Timer, at: float | None) -> None:
        old = self._timers.pop((slot, timer), None)
        if old is not None:
            old.cancel()
        if at is not None:
            wait_s = max(0.0, at - time.time())
            loop = asyncio.get_running_loop()
            self._timers[slot, timer] = loop.call_later(wait_s, self._timer_fired, slot, timer)

    def _timer_fired(self, slot: NodeSlot, timer: Timer) -> None:
        self._timers.pop((slot, timer), None)
        self.carry_out(self.machine.host.receive(slot, ev.TimerFired(timer=timer), time.time()))

    def _reply_claim(self, slot: NodeSlot, effect: ef.SendClaimReply) -> None:
        schedd, _, asked = effect.reply_to.rpartition("|")
        accepted = effect.accepted
        self._send(
            schedd,
            m.ClaimAnswered(
                asked_id=asked,
                reply_to=asked,
                accepted=accepted,
                refusal="" if effect.refusal is None else str(effect.refusal),
                claim_id=slot.state.claim.id.text if accepted else asked,
                slot=slot.name,
                slot_ad=ad_data(self.machine.ad(slot, time.time())) if accepted else None,
            ),
        )

    def _kill(self, slot: NodeSlot) -> None:
        starter = slot.starter
        if starter is not None:
            self.spawn(self._kill_all(slot, starter))

    async def _kill_all(self, slot: NodeSlot, starter: Starter) -> None:
        """The starter does not get rid of its job: everything is killed, and nobody saw how it ended."""
        runner = self.runners.pop(starter, None)
        if runner is not None:
            await runner.kill()
            runner.done()
        if starter.alive:
            self._report_lost(slot)
            self.carry_out(self.machine.host.starter_lost(slot, starter, time.time()))

    async def _benchmark(self, slot: NodeSlot) -> None:
        mips, kflops = await run_benchmarks()
        event = ev.BenchmarksFinished(mips=mips, kflops=kflops)
        self.carry_out(self.machine.host.receive(slot, event, time.time()))

    def _after_drain(self) -> None:
        what, self.machine.host.ended = self.machine.host.ended, None
        if what is None:
            return
        _log.info("the drain is over: %s", what.name.lower())
        match what:
            case OnCompletion.EXIT | OnCompletion.RESTART:
                # The master starts a daemon that ends again.
                os.kill(os.getpid(), signal.SIGTERM)
            case OnCompletion.RECONFIGURE:
                os.kill(os.getpid(), signal.SIGHUP)
            case _:
                pass

    # -- orders of starters --------------------------------------------------------------------------

    def _for_starter(self, out: Out[NodeSlot]) -> None:
        slot, starter, effect = out.slot, out.starter, out.effect
        assert starter is not None
        about = {"claim_id": starter.claim_id.text, "run": slot.run, "at": time.time()}
        match effect:
            case ef.CheckpointJob():
                pass
            case sef.ReportUsage(attributes=attributes):
                self._send(slot.schedd, m.JobMeasured(attributes=ad_data(attributes), **about))  # type: ignore[arg-type]
            case sef.ReportEviction():
                pass
            case sef.ReportExit(report=report):
                self._report(slot, report, starter.claim_id.text)
            case sef.Warn(about=what, text=text):
                _log.warning("%s %s: %s: %s", slot.name, slot.run, what, text)
            case sef.Quit():
                runner = self.runners.pop(starter, None)
                if runner is not None:
                    runner.done()
            case _:
                self.runner_of(slot, starter).perform(effect)  # type: ignore[arg-type]
                if isinstance(effect, sef.ContinueProcesses):
                    self._send(slot.schedd, m.JobResumed(**about))  # type: ignore[arg-type]

    def runner_of(self, slot: NodeSlot, starter: Starter) -> Runner:
        """The hands of a starter."""
        found = self.runners.get(starter)
        if found is None:
            assert self.nursery is not None
            around = Surroundings(
                home=self.context.home,
                nursery=self.nursery,
                bus=self.bus,
                name=self.name,
                config=self.config,
                tell=partial(self._starter_event, slot, starter),
                began=partial(self._began, slot, starter),
                stopped=partial(self._stopped, slot, starter),
            )
            slot_ad = self.machine.ad(slot, time.time())
            found = Runner(around, slot.run, slot.schedd, slot.name, slot_ad, starter.state.job_ad)
            self.runners[starter] = found
            self.tickets.keep(slot.run, schedd=slot.schedd, claim_id=starter.claim_id.text, slot=slot.name)
        return found

    def _starter_event(self, slot: NodeSlot, starter: Starter, event: sev.StarterEvent) -> None:
        self.carry_out(self.machine.host.receive_starter(slot, starter, event, time.time()))

    def _stopped(self, slot: NodeSlot, starter: Starter, processes: int) -> None:
        claim_id = starter.claim_id.text
        told = m.JobSuspended(claim_id=claim_id, run=slot.run, at=time.time(), processes=processes)
        self._send(slot.schedd, told)

    def _began(self, slot: NodeSlot, starter: Starter, number: int, pid: int) -> None:
        now = time.time()
        if number == 1:
            claim_id = starter.claim_id.text
            self._send(slot.schedd, m.JobBegan(claim_id=claim_id, run=slot.run, at=now, pid=pid, slot=slot.name))
        self._starter_event(slot, starter, sev.JobStarted(run=number, pid=pid))

    # -- words to queues -----------------------------------------------------------------------------

    def _send(self, schedd: str, message: Message) -> None:
        if schedd:
            self._outbox.put_nowait((self.subjects.schedd(schedd, self.name), message))

    async def _send_all(self) -> None:
        while True:
            subject, message = await self._outbox.get()
            await self.bus.send(subject, message)

    def _report(self, slot: NodeSlot, report: Any, claim_id: str) -> None:
        cause = report.cause
        self._keep_report(
            slot.schedd,
            m.RunEnded(
                claim_id=claim_id,
                run=slot.run,
                at=time.time(),
                ending=str(report.ending),
                started=report.started,
                code=0 if cause is None else cause.code,
                subcode=0 if cause is None else cause.subcode,
                text="" if cause is None else cause.text,
                exit_code=report.exit_code,
                exit_signal=report.exit_signal,
                core_dumped=report.core_dumped,
                output=str(report.output),
                checkpoints=report.checkpoints,
                slot=slot.name,
                attributes=ad_data(report.attributes),
            ),
        )

    def _report_lost(self, slot: NodeSlot) -> None:
        if slot.starter is None or slot.run in self.reports:
            return
        self._keep_report(
            slot.schedd,
            m.RunEnded(
                claim_id=slot.starter.claim_id.text,
                run=slot.run,
                at=time.time(),
                ending=str(Ending.EVICT),
                started=slot.starter.state.started_at is not None,
                code=1007,
                text="nobody saw how the run ended",
                slot=slot.name,
            ),
        )

    def _keep_report(self, schedd: str, message: m.RunEnded) -> None:
        if schedd:
            self.reports.keep(schedd, message)
            self._send(schedd, message)

    async def _report_again(self) -> None:
        while True:
            for schedd, message in self.reports.waiting():
                self._send(schedd, message)
            await asyncio.sleep(REPORT_AGAIN_S)

    # -- words to the collector ----------------------------------------------------------------------

    def _mark(self, slot: NodeSlot) -> None:
        self._dirty.add(slot.name)
        self._publish_soon(PUBLISH_LATER_S if slot.state.claim.granted_at is not None else PUBLISH_GAP_S)

    def _publish_soon(self, wait_s: float = PUBLISH_GAP_S) -> None:
        loop = asyncio.get_running_loop()
        if self._publish is not None:
            if self._publish.when() <= loop.time() + wait_s:
                return
            self._publish.cancel()
        self._publish = loop.call_later(wait_s, self._publish_ads)

    def _publish_ads(self) -> None:
        self._publish = None
        whole, self._whole = self._whole, False
        dirty, self._dirty = self._dirty, set()
        present = {slot.name for slot in self.machine.slots}
        changed = [slot for slot in self.machine.slots if whole or slot.name in dirty or slot.name not in self._told]
        ads = [ad_data(ad) for ad in self.machine.ads(changed, time.time())]
        claims = {slot.name: (slot.state.preempting or slot.state.claim).id.text for slot in changed}
        gone = sorted(self._told - present)
        self._told = present
        message = m.SlotAds(node=self.name, ads=ads, claim_ids=claims, gone=gone, whole=whole)
        self._outbox.put_nowait((self.subjects.ads(self.name), message))

    async def _refresh(self) -> None:
        while True:
            self._whole = True
            self._publish_soon()
            await asyncio.sleep(REFRESH_S)

    def _reconnected(self) -> None:
        self._whole = True
        self._publish_soon()

    def _on_central(self, message: Message, sender: str, reply: str) -> None:
        if isinstance(message, m.Hello):
            self._reconnected()

    # -- what queues want ----------------------------------------------------------------------------

    def _on_message(self, message: Message, sender: str, reply: str) -> None:
        try:
            self.carry_out(self._handled(message, sender, time.time()))
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)

    def _handled(self, message: Message, sender: str, now: float) -> Outs | None:
        machine = self.machine
        match message:
            case m.RequestClaim():
                return self._claim(message, sender, now)
            case m.ReleaseClaim(claim_id=claim_id):
                return machine.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now)
            case m.KeepAlive(claim_ids=claim_ids, reply_to=reply_to):
                return self._keep_alive(claim_ids, reply_to, sender, now)
            case m.ActivateClaim():
                outs = machine.activate(message.claim_id, message.run, ad_from(message.job_ad, "job_ad"), now)
                if outs is None:
                    refusal = str(Refusal.UNKNOWN_CLAIM)
                    self._send(
                        sender,
                        m.ActivationAnswered(
                            claim_id=message.claim_id, run=message.run, accepted=False, refusal=refusal
                        ),
                    )
                return outs
            case m.EndJob():
                return self._end_job(message, sender, now)
            case m.SuspendJob(claim_id=claim_id):
                return machine.about_claim(claim_id, lambda each: ev.SuspendRequested(claim_id=each), now)
            case m.ContinueJob(claim_id=claim_id):
                return machine.about_claim(claim_id, lambda each: ev.ContinueRequested(claim_id=each), now)
            case m.ReportTaken(runs=runs):
                self.reports.taken(runs)
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
        outs = self.machine.claim(message.slot, message.claim_id, request, now)
        if outs is None:
            refused = m.ClaimAnswered(
                asked_id=message.claim_id,
                reply_to=message.reply_to,
                accepted=False,
                refusal=str(Refusal.UNKNOWN_CLAIM),
                claim_id=message.claim_id,
                slot=message.slot,
            )
            self._send(sender, refused)
        elif not any(isinstance(out.effect, ef.SendClaimReply) for out in outs):
            # The slot gets rid of its job first, and the queue is to know that it is not forgotten.
            self._send(sender, m.ClaimsKnown(reply_to="", known={message.claim_id: ""}, unknown=[]))
        return outs

    def _keep_alive(self, claim_ids: list[str], reply_to: str, sender: str, now: float) -> Outs:
        """The holder of claims lives, and hears what is known of them."""
        known, unknown = {}, []
        runs = self.machine.runs()
        found: Outs = []
        for claim_id in claim_ids:
            reported = self.reports.run_of(claim_id)
            outs = self.machine.about_claim(claim_id, lambda each: ev.AliveReceived(claim_id=each), now)
            found += outs or []
            if outs is None and not reported:
                unknown.append(claim_id)
            else:
                known[claim_id] = runs.get(claim_id, reported)
        if reply_to:
            self._send(sender, m.ClaimsKnown(reply_to=reply_to, known=known, unknown=unknown))
        return found

    def _end_job(self, message: m.EndJob, sender: str, now: float) -> Outs | None:
        try:
            ending = Ending(message.ending)
        except ValueError:
            raise WireError(f"ending: {message.ending!r} is none of {', '.join(Ending)}") from None
        cause = Cause(ending=ending, code=message.code, subcode=message.subcode, text=message.text, by=OrderedBy.QUEUE)
        if self.machine.slot_of(message.claim_id) is None:
            if message.run not in self.reports:
                self._send(sender, m.ClaimsKnown(reply_to="end", known={}, unknown=[message.claim_id]))
            return None
        return self.machine.end_run(message.claim_id, message.run, cause, hard=message.hard, now=now)

    def _reconnect(self, message: m.Reconnect, sender: str, now: float) -> Outs:
        """A queue has started again. Claims that it does not name are not its any more."""
        for schedd, report in self.reports.waiting():
            if schedd == sender:
                self._send(sender, report)
        found = self._keep_alive(list(message.claims), message.reply_to, sender, now)
        for claim_id in self.machine.claims_of(sender):
            if claim_id not in message.claims:
                outs = self.machine.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now)
                found += outs or []
        return found

    # -- what administrators want --------------------------------------------------------------------

    async def _on_ask(self, message: Message, sender: str, reply: str) -> None:
        if not isinstance(message, Ask):
            return
        try:
            answer = self._answered(message, time.time())
        except (KeyError, TypeError, ValueError, ParseError) as error:
            answer = Answer(ok=False, code="bad-request", text=f"{message.what}: {error}")
        await self.bus.answer(reply, answer)

    def _answered(self, ask: Ask, now: float) -> Answer:
        args, host = ask.args, self.machine.host
        match ask.what:
            case "ads":
                return Answer(data=[ad_data(ad) for ad in self.machine.ads(self.machine.slots, now)])
            case "drain":
                outs, refusal = host.drain(_drain_order(args), now)
                self.carry_out(outs)
                if refusal is not None:
                    return Answer(ok=False, code="refused", text=str(refusal))
                self._poll_now.set()
                return Answer(data={"request_id": host.drains.draining.request_id})
            case "cancel-drain":
                outs, refusal = host.cancel_drain(str(args.get("request_id", "")), now)
                self.carry_out(outs)
                return Answer() if refusal is None else Answer(ok=False, code="refused", text=str(refusal))
            case "vacate":
                return self._vacate(args, now)
            case "story":
                wanted = {key: str(args.get(key, "")) for key in ("slot", "job")}
                return Answer(data=self.chronicle.read(**wanted, limit=int(args.get("limit", 0))))
            case "poll":
                self._poll_now.set()
                return Answer()
        return Answer(ok=False, code="bad-request", text=f"a machine can't answer {ask.what!r}")

    def _vacate(self, args: dict[str, Any], now: float) -> Answer:
        wanted = str(args.get("slot", ""))
        slots = [slot for slot in self.machine.slots if not wanted or slot.name == wanted]
        if not slots:
            return Answer(ok=False, code="not-found", text=f"there is no slot {wanted!r} on {self.name}")
        for slot in slots:
            event = ev.VacateRequested(fast=bool(args.get("fast")))
            self.carry_out(self.machine.host.receive(slot, event, now))
        return Answer(data={"slots": [slot.name for slot in slots]})


def _drain_order(args: dict[str, Any]) -> DrainOrder:
    check, start = args.get("check"), args.get("start")
    return DrainOrder(
        schedule=DrainSchedule(int(args.get("schedule", DrainSchedule.GRACEFUL))),
        on_completion=OnCompletion(int(args.get("on_completion", OnCompletion.NOTHING))),
        check=None if not check else parse_expression(str(check)),
        start=None if not start else parse_expression(str(start)),
        reason=str(args.get("reason", "")),
    )


def _platform(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = {
        "Arch": config.get("ARCH") or platform.machine().upper(),
        "OpSys": config.get("OPSYS") or platform.system().upper(),
        "HasFileTransfer": True,
        "HasJobDeferral": False,
        "CondorVersion": "$CondorVersion: 25.0.0 Roost $",
    }
    version = config.get("OPSYSANDVER")
    if version:
        found["OpSysAndVer"] = version
    return found


def _zone_offset_s() -> int:
    return time.localtime().tm_gmtoff


def make(context: RoleContext, config: Config, bus: Bus) -> NodeDaemon:
    """The daemon of an execute machine."""
    return NodeDaemon(context, config, bus)

"""The daemon of an execute machine: its core between bus, sensors, nursery and disk.

Sensors are read as often as the core wants to look. Orders of the core become messages, timers, and work that `Runner`s
do for the runs of jobs. Ends of runs are kept on disk until the queue says that it has them on its own.

What it does not do: decide. `roost.node` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final

from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.config.in_force import configuration_record
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.audit import AuditRecord
from roost.model.claims import ClaimKind
from roost.model.events import ShutdownKind, Timer
from roost.model.slots import SlotId
from roost.node.decisions import is_eviction, of_slot, of_starter
from roost.node.host import OfferLeftovers, Out
from roost.node.host_slots import Starter
from roost.node.machine import Machine, NodeSlot, Outs
from roost.node.plan import NodePlan, make_plan
from roost.runtime.accounts import can_switch_user
from roost.runtime.audit_sender import AuditSender
from roost.runtime.backfill import BackfillClient, ClientAround
from roost.runtime.benchmarks import run_benchmarks
from roost.runtime.bus import Carrier
from roost.runtime.chronicle import Chronicle
from roost.runtime.daemon_ads import REFRESH_S, master_ad
from roost.runtime.deputies import Deputies
from roost.runtime.fetching import Fetching
from roost.runtime.node_answers import NodeAnswers
from roost.runtime.node_messages import claim_answer, ended_run, lost_run, platform_of
from roost.runtime.node_state import NodeState
from roost.runtime.nursery import Nursery, NurseryFailed
from roost.runtime.queue_words import QueueWords
from roost.runtime.reports import Reports
from roost.runtime.role import ConfigurationRefused, RoleContext
from roost.runtime.role import Ending as DaemonEnding
from roost.runtime.runner import Runner, Surroundings
from roost.runtime.sensors import Sensors
from roost.runtime.slot_ads import SlotPublisher
from roost.runtime.takeover import take_over
from roost.runtime.trouble import AGAIN_S, Trouble
from roost.startd.draining import OnCompletion
from roost.startd.layout_problems import LayoutRefused
from roost.startd.machine import Step
from roost.startd.slot_ad import host_identity
from roost.startd.slot_state import SlotState
from roost.startd.states import BACKFILL_BUSY, State
from roost.starter.machine import Step as StarterStep
from roost.wire import messages as m
from roost.wire.ads import ad_data
from roost.wire.audit import audit_data
from roost.wire.messages import Message

_log = logging.getLogger("roost.node")

#: Reports of ends of runs are sent again after this time, s.
REPORT_AGAIN_S: Final = 5.0
#: How long hooks that still run at the daemon's end may take to be gone, s.
HOOKS_END_S: Final = 10.0
#: How often what still runs is told to end when the daemon does.
_ROUNDS: Final = 3
#: With every so many of these times queues are told of their claims.
CLAIMS_EVERY: Final = 3


class NodeDaemon:
    """An execute machine at work."""

    def __init__(self, context: RoleContext, config: Config, bus: Carrier) -> None:
        self.context = context
        self.clock = context.clock
        self.name = context.name
        self.config = config
        self.bus = bus
        self.subjects = bus.subjects
        self.started_at = self.clock.now()
        self.sensors = self._sensors(config)
        plan = self._plan(config)
        self.machine = Machine(plan, self, birth=int(self.started_at), key=context.home.secret(), now=self.started_at)
        self.runners: dict[Starter, Runner] = {}
        self.reports = Reports(context.home.jobs)
        self.state = NodeState(context.home.run / "slots", self.clock)
        self.chronicle = Chronicle(context.home.log / "transitions.jsonl", config)
        path = context.home.run / "node-audit.jsonl"
        self.audit = AuditSender(self._tell_decisions, role=context.role, now=self.started_at, path=path)
        self.configuration = ""
        self._timers: dict[tuple[NodeSlot, Timer], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.fetching = Fetching(self.machine, config, context.home.execute, self.clock, self.spawn, self.fetched)
        self.ads = SlotPublisher(self.machine, self.name, self._tell_pool, self.clock)
        self.words = QueueWords(self)
        self._answers = NodeAnswers(self)
        self._poll_now = asyncio.Event()
        self._poll_is_far = False
        #: When polls began, as the event loop counts.
        self._polls_since = 0.0
        self._stopping = False
        self._empty = asyncio.Event()
        self._outbox: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
        self.nursery: Nursery | None = None
        self.deputies = Deputies()
        self.backfill = self._backfill_client(config)
        self.trouble = Trouble((context.home.execute, context.home.jobs))

    def _backfill_client(self, config: Config) -> BackfillClient:
        around = ClientAround(
            home=self.context.home,
            deputies=self.deputies,
            spawn=self.spawn,
            slot_ad=self._ad_of_backfill,
            tell=lambda runs: self.carry_out(self.machine.host.backfill(runs, self.clock.now())),
        )
        return BackfillClient(around, config)

    def _ad_of_backfill(self) -> ClassAd | None:
        slot = next((each for each in self.machine.slots if each.state.state is State.BACKFILL), None)
        return None if slot is None else self.machine.ad(slot, self.clock.now())

    def _sensors(self, config: Config) -> Sensors:
        try:
            return Sensors.configured(config, self.context.home.execute)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None

    def _plan(self, config: Config, earlier: NodePlan | None = None) -> NodePlan:
        try:
            identity = host_identity(
                config,
                machine=self.name,
                address=f"<{self.name}>",
                started_at=self.started_at,
                platform=self.platform(config),
            )
            plan = make_plan(
                config,
                self.sensors.host(),
                identity,
                zone_offset_s=self.clock.zone_offset_s(),
                as_root=can_switch_user(),
                earlier=earlier,
            )
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        if isinstance(plan, LayoutRefused):
            raise ConfigurationRefused(str(plan))
        for line in plan.warnings:
            _log.warning("%s", line)
        return plan

    def platform(self, config: Config) -> dict[str, Any]:
        """What the slots' ads say of the system."""
        return platform_of(config)

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin: the nursery, runs that an earlier daemon left, the bus, sensors."""
        try:
            self.nursery = await self.start_nursery()
        except NurseryFailed as error:
            raise ConfigurationRefused(str(error)) from None
        self.fetching.nursery = self.backfill.nursery = self.nursery
        self.audit.load()
        self._note_configuration(None)
        await take_over(self, self.reports.load())
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.node(self.name, "*"), self.words.on_message)
        await self.bus.listen(self.subjects.matched(self.name, "*"), self.words.on_match)
        await self.bus.listen(self.subjects.ask_node(self.name, "*"), self._answers.on_ask)
        self.bus.on_reconnect = self.ads.all_anew
        for work in (
            self._polls(),
            self._send_all(),
            self._report_again(),
            self._tell_master(),
            self.ads.refresh(),
            self.chronicle.keep(),
            self.audit.send_all(),
        ):
            self.spawn(work)

    async def start_nursery(self) -> Nursery:
        """Where jobs are started. Raises NurseryFailed."""
        return await Nursery.start(self.context.home.run / "nursery")

    async def reconfigure(self, config: Config) -> None:
        """Other policy from the next poll on; another layout needs a restart."""
        plan = self._plan(config, self.machine.plan)
        self._note_configuration(config)
        self.config = config
        self.machine.reconfigure(plan)
        self.fetching.reconfigure(config)
        self.backfill.reconfigure(config)
        self.chronicle.reconfigure(config)
        self.ads.all_anew()
        self._poll_now.set()

    async def stop(self, ending: DaemonEnding) -> None:
        """Let the jobs end, quickly or with their due time; or leave them running."""
        if ending is not DaemonEnding.LEAVE:
            self._stopping = True
            kind = ShutdownKind.FAST if ending is DaemonEnding.FAST else ShutdownKind.GRACEFUL
            self.carry_out(self.machine.to_all(ev.ShutdownRequested(kind=kind), self.clock.now()))
            self._look_empty()
            await self._empty.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reports.all_taken(), 3)
            self.ads.withdraw()
        await self.backfill.stop()
        while not self._outbox.empty():
            await asyncio.sleep(0.01)
        for runner in self.runners.values():
            runner.forget()
        # Hooks that still run are killed, and what they read and printed is removed; the end of one may begin another.
        for _ in range(_ROUNDS):
            await self._end_tasks()
        if self.nursery is not None:
            await self.nursery.close()
        self.deputies.close()
        self.chronicle.write(explained=True)
        self.state.close()
        self.state.write(self.machine, unripe=True)

    async def _end_tasks(self) -> None:
        left = list(self._tasks)
        for task in left:
            task.cancel()
        if left:
            _, stuck = await asyncio.wait(left, timeout=HOOKS_END_S)
            for task in stuck:
                _log.warning("left behind, since it does not end: %r", task)

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
        self._polls_since = asyncio.get_running_loop().time()
        problem = trouble = ""
        while True:
            percents = {
                slot.plan.id: self.runners[slot.starter].cpu_percent()
                for slot in self.machine.slots
                if slot.starter is not None and slot.starter in self.runners
            }
            percents |= await self._backfill_percents()
            await self.trouble.look()
            reading = self.sensors.read(percents, now=self.clock.now())
            if self.trouble.text:
                reading = replace(reading, attributes={**reading.attributes, "MachineProblem": self.trouble.text})
            if self.sensors.problem != problem:
                problem = self.sensors.problem
                _log.warning("sensors: %s", problem or "the file of replacements can be read again")
            self.carry_out(self.machine.poll(reading, self.clock.now()))
            if self.trouble.text != trouble:
                trouble = self.trouble.text
                self.ads.all_anew()
            await self._until_next_poll()

    def _failed(self, text: str) -> None:
        """A job could not be run here: the pool is to hear of it before another comes."""
        self.trouble.found(text)
        self._poll_now.set()

    async def _backfill_percents(self) -> dict[SlotId, float]:
        """What the backfill client uses is no load of the owner's: the slots that do backfill share it."""
        slots = [slot.plan.id for slot in self.machine.slots if slot.state.pair == BACKFILL_BUSY]
        return dict.fromkeys(slots, await self.backfill.cpu_percent() / len(slots)) if slots else {}

    async def _until_next_poll(self) -> None:
        """The next poll is when it is due, or when something asks for it."""
        self._poll_now.clear()
        self._poll_is_far = self.machine.interval_s > self.machine.plan.polling_s
        wait_s = min(self.machine.interval_s, AGAIN_S) if self.trouble.text else self.machine.interval_s
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._poll_now.wait(), self._to_grid_s(wait_s))

    def _to_grid_s(self, interval_s: float) -> float:
        """Time to the next instant of a grid that began with the first poll."""
        return interval_s - (asyncio.get_running_loop().time() - self._polls_since) % interval_s

    def _poll_as_if_claimed(self) -> None:
        """Somebody has come to a machine that is looked at seldom: from now on its policy counts."""
        if self._poll_is_far:
            self._poll_is_far = False
            asyncio.get_running_loop().call_later(self._to_grid_s(self.machine.plan.polling_s), self._poll_now.set)

    # -- what the core is told of its steps ----------------------------------------------------------

    def stepped(self, slot: NodeSlot, before: SlotState, taken: Step, now: float) -> None:
        """A slot has taken a step."""
        if before is not taken.state:
            self.state.touch(slot, self.machine)
        if taken.state.broken is not None and taken.state.broken != before.broken:
            _log.warning("%s takes no jobs until `roost reopen %s`: %s", slot.name, slot.name, taken.state.broken)
        if taken.transitions and self._poll_is_far:
            self._poll_as_if_claimed()
        for each in taken.transitions:
            _log.info("%s: %s -> %s (%s: %s)", slot.name, each.source, each.target, each.number, each.reason)
            self.chronicle.note(slot.plan.id.number, before, taken.state, each)
            if is_eviction(each):
                place = "" if each.decision is None else self.chronicle.place(each.decision.name, slot.plan.id.number)
                self.record(
                    of_slot(
                        before,
                        taken.state,
                        each,
                        machine=self.name,
                        place=place,
                        configuration=self.configuration,
                    )
                )

    def starter_stepped(self, slot: NodeSlot, starter: Starter, taken: StarterStep, now: float) -> None:
        """A starter has taken a step."""
        self.state.touch(slot, self.machine)
        for each in taken.transitions:
            _log.debug("%s %s: %s -> %s (%s)", slot.name, slot.run, each.source, each.target, each.reason)
            place = "" if each.decision is None else self.chronicle.place(each.decision.name, slot.plan.id.number)
            self.record(
                of_starter(
                    slot.name,
                    starter.state.job_ad,
                    slot.run,
                    each,
                    machine=self.name,
                    place=place,
                    configuration=self.configuration,
                )
            )

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
                self.ads.mark(slot)
            case ef.SendClaimReply():
                self._reply_claim(slot, effect)
            case ef.SendActivationReply(reply_to=run, accepted=accepted, refusal=refusal):
                text = "" if refusal is None else str(refusal)
                claim_id = slot.state.claim.id.text
                answer = m.ActivationAnswered(claim_id=claim_id, run=run, accepted=accepted, refusal=text)
                self.send(slot.schedd, answer)
            case ef.TellSchedd(schedd=schedd, claim_id=claim, reason=reason, cause=cause):
                text = str(reason) if cause is None else cause.text
                code = 0 if cause is None else int(cause)
                run = self.reports.run_of(claim.text)
                self.send(schedd, m.ClaimGone(claim_id=claim.text, reason=text, code=code, run=run))
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
                self.ads.mark(slot)
            case ef.StartBackfill():
                self.backfill.start()
            case ef.KillBackfill():
                self.backfill.kill()
            case ef.FetchWork() | ef.ReplyFetch() | ef.EvictFetched():
                self.fetching.perform(slot, effect)
            case _:
                _log.warning("%s: %s is not done by this machine yet", slot.name, type(effect).__name__)

    def _wake(self, slot: NodeSlot, timer: Timer, at: float | None) -> None:
        old = self._timers.pop((slot, timer), None)
        if old is not None:
            old.cancel()
        if at is not None:
            wait_s = max(0.0, at - self.clock.now())
            loop = asyncio.get_running_loop()
            self._timers[slot, timer] = loop.call_later(wait_s, self._timer_fired, slot, timer)

    def _timer_fired(self, slot: NodeSlot, timer: Timer) -> None:
        self._timers.pop((slot, timer), None)
        self.carry_out(self.machine.host.receive(slot, ev.TimerFired(timer=timer), self.clock.now()))

    def _reply_claim(self, slot: NodeSlot, effect: ef.SendClaimReply) -> None:
        ad = ad_data(self.machine.ad(slot, self.clock.now())) if effect.accepted else None
        self.send(*claim_answer(slot, effect, ad))

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
            self.carry_out(self.machine.host.starter_lost(slot, starter, self.clock.now()))

    def fetched(self, slot: NodeSlot, event: ev.FetchedWorkOffered) -> None:
        """A hook has said whether there is work for a slot."""
        self.carry_out(self.machine.host.receive(slot, event, self.clock.now()))

    async def _benchmark(self, slot: NodeSlot) -> None:
        mips, kflops = await self.benchmark()
        event = ev.BenchmarksFinished(mips=mips, kflops=kflops)
        self.carry_out(self.machine.host.receive(slot, event, self.clock.now()))

    async def benchmark(self) -> tuple[int | None, int | None]:
        """How fast the machine is: Mips and KFlops."""
        return await run_benchmarks()

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
        about = {"claim_id": starter.claim_id.text, "run": slot.run, "at": self.clock.now()}
        match effect:
            case ef.CheckpointJob():
                pass
            case sef.ReportUsage(attributes=attributes):
                self.send(slot.schedd, m.JobMeasured(attributes=ad_data(attributes), **about))  # type: ignore[arg-type]
            case sef.ReportEviction():
                pass
            case sef.ReportExit(report=report):
                self._keep_report(slot.schedd, ended_run(slot, report, starter.claim_id.text, self.clock.now()))
                self.runner_of(slot, starter).log_end(report)
            case sef.Warn(about=what, text=text):
                _log.warning("%s %s: %s: %s", slot.name, slot.run, what, text)
            case sef.Quit():
                runner = self.runners.pop(starter, None)
                if runner is not None:
                    runner.done()
            case _:
                self.runner_of(slot, starter).perform(effect)  # type: ignore[arg-type]
                # A job that has to go is continued only so that it can end.
                if isinstance(effect, sef.ContinueProcesses) and slot.state.state is not State.PREEMPTING:
                    self.send(slot.schedd, m.JobResumed(**about))  # type: ignore[arg-type]

    def runner_of(self, slot: NodeSlot, starter: Starter, *, resumed: bool = False) -> Runner:
        """The hands of a starter; `resumed`: of one that an earlier daemon had."""
        found = self.runners.get(starter)
        if found is None:
            if starter.kind is ClaimKind.FETCHED and starter.state.run == 0:
                self.machine.name_fetched(slot)
            slot_ad = self.machine.ad(slot, self.clock.now())
            around, job_ad = self.surroundings(slot, starter), starter.state.job_ad
            found = Runner(around, slot.run, slot.schedd, slot.name, slot_ad, job_ad)
            self.runners[starter] = found
            if not resumed:
                self.reports.begin(slot.run, schedd=slot.schedd, claim_id=starter.claim_id.text, slot=slot.name)
        return found

    def surroundings(self, slot: NodeSlot, starter: Starter) -> Surroundings:
        """What the hands of a starter work with."""
        assert self.nursery is not None
        return Surroundings(
            home=self.context.home,
            nursery=self.nursery,
            deputies=self.deputies,
            bus=self.bus,
            name=self.name,
            config=self.config,
            clock=self.clock,
            record=self.reports.record(slot.run),
            done=partial(self.reports.done, slot.run),
            tell=partial(self._starter_event, slot, starter),
            failed=self._failed,
            began=partial(self._began, slot, starter),
            stopped=partial(self._stopped, slot, starter),
        )

    def _starter_event(self, slot: NodeSlot, starter: Starter, event: sev.StarterEvent) -> None:
        self.carry_out(self.machine.host.receive_starter(slot, starter, event, self.clock.now()))

    def _stopped(self, slot: NodeSlot, starter: Starter, processes: int) -> None:
        claim_id = starter.claim_id.text
        told = m.JobSuspended(claim_id=claim_id, run=slot.run, at=self.clock.now(), processes=processes)
        self.send(slot.schedd, told)

    def _began(self, slot: NodeSlot, starter: Starter, number: int, pid: int) -> None:
        now = self.clock.now()
        if number == 1:
            claim_id = starter.claim_id.text
            self.send(slot.schedd, m.JobBegan(claim_id=claim_id, run=slot.run, at=now, pid=pid, slot=slot.name))
            self.runner_of(slot, starter).log_begin()
        self._starter_event(slot, starter, sev.JobStarted(run=number, pid=pid))

    # -- words to queues -----------------------------------------------------------------------------

    def send(self, schedd: str, message: Message) -> None:
        """Say something to a queue; "" is nobody's."""
        if schedd:
            self._outbox.put_nowait((self.subjects.schedd(schedd, self.name), message))

    def _tell_pool(self, message: Message) -> None:
        match message:
            case m.SlotAds():
                subject = self.subjects.slots(self.name)
            case m.Audit():
                subject = self.subjects.audit(self.name)
            case _:
                subject = self.subjects.ads(self.name)
        self._outbox.put_nowait((subject, message))

    async def _tell_master(self) -> None:
        """The master has no connection of its own, and is there as long as this machine is."""
        while True:
            self._tell_pool(m.DaemonAds(ads=[master_ad(self.name, started_at=self.started_at)]))
            await asyncio.sleep(REFRESH_S)

    async def _tell_decisions(self, message: m.Audit) -> None:
        self._tell_pool(message)

    def record(self, decision: AuditRecord | None) -> None:
        """Have a decision on record."""
        if decision is not None:
            self.audit.add([audit_data(decision)])

    def _note_configuration(self, config: Config | None) -> None:
        after = self.config if config is None else config
        found = configuration_record(
            None if config is None else self.config, after, self.clock.now(), role=self.context.role
        )
        self.configuration = found.configuration
        self.record(found)

    async def _send_all(self) -> None:
        while True:
            subject, message = await self._outbox.get()
            await self.bus.send(subject, message)

    def _report_lost(self, slot: NodeSlot) -> None:
        """Nobody saw how the run of a slot ended."""
        if slot.starter is not None and slot.run not in self.reports:
            self._keep_report(slot.schedd, lost_run(slot, slot.starter, self.clock.now()))

    def _keep_report(self, schedd: str, message: m.RunEnded) -> None:
        if schedd:
            self.reports.keep(schedd, message)
            self.send(schedd, message)

    async def _report_again(self) -> None:
        for number in itertools.count():
            for schedd, message in self.reports.waiting():
                self.send(schedd, message)
            if number % CLAIMS_EVERY == 0:
                # A queue that knows nothing of one of them gives it back: its word to do so was lost.
                for schedd, known in self.machine.held_claims().items():
                    self.send(schedd, m.ClaimsKnown(reply_to="", known=known, unknown=[]))
                self.deputies.tidy()
            await asyncio.sleep(REPORT_AGAIN_S)

    # -- words of others -----------------------------------------------------------------------------

    def poll_now(self) -> None:
        """Look at the policy of all slots without delay."""
        self._poll_now.set()

    def _on_central(self, message: Message, sender: str, reply: str) -> None:
        match message:
            case m.Hello():
                self._tell_pool(m.DaemonAds(ads=[master_ad(self.name, started_at=self.started_at)]))
                self.ads.all_anew()
            case m.AuditKept(kept=kept):
                self.audit.kept(kept.get(f"{self.context.role} {self.name}", 0))


def make(context: RoleContext, config: Config, bus: Carrier) -> NodeDaemon:
    """The daemon of an execute machine."""
    return NodeDaemon(context, config, bus)

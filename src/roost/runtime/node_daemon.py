"""The daemon of an execute machine: its core between bus, sensors, nursery and disk.

Sensors are read as often as the core wants to look. Orders of the core become messages, timers, and work that `Runner`s
do for the runs of jobs. Ends of runs are kept on disk until the queue says that it has them on its own.

What it does not do: decide. `roost.node` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import platform
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from roost.classad import ParseError, parse_expression
from roost.config import Config, ConfigError
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model.claims import ClaimRequest
from roost.model.events import DrainSchedule, ShutdownKind, Timer
from roost.model.slots import SlotId
from roost.model.starter import Cause, Ending, OrderedBy
from roost.node import orders as out
from roost.node.node import Node
from roost.node.plan import NodePlan, make_plan
from roost.runtime.bus import Bus
from roost.runtime.nursery import Nursery, NurseryFailed
from roost.runtime.role import ConfigurationRefused, RoleContext
from roost.runtime.role import Ending as DaemonEnding
from roost.runtime.runner import Runner, Surroundings
from roost.runtime.sensors import Sensors
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.layout_problems import LayoutRefused
from roost.startd.slot_ad import host_identity
from roost.startd.work import Taken
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message

_log = logging.getLogger("roost.node")

#: Changes of slot ads within this time are told together, s.
PUBLISH_GAP_S: Final = 0.02
#: Reports of ends of runs are sent again after this time, s.
REPORT_AGAIN_S: Final = 5.0
#: All slot ads are sent again after this time at the latest, s: the collector forgets what it does not hear of.
REFRESH_S: Final = 240.0


class NodeDaemon:
    """An execute machine at work."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.context = context
        self.config = config
        self.bus = bus
        self.subjects = bus.subjects
        self.started_at = time.time()
        self.sensors = Sensors(config, context.home.execute)
        self.plan = self._plan(config)
        self.node = Node(
            self.plan, birth=int(self.started_at), key=context.home.secret(), now=self.started_at
        )
        self.runners: dict[str, Runner] = {}
        self._timers: dict[tuple[SlotId, Timer], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._publish: asyncio.TimerHandle | None = None
        self._dirty: set[SlotId] = set()
        self._withdrawn: list[str] = []
        self._whole = True
        self._poll_now = asyncio.Event()
        self._stopping = False
        self._empty = asyncio.Event()
        self._outbox: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
        #: Run to the report that its queue has not taken yet.
        self.reports: dict[str, tuple[str, m.RunEnded]] = {}
        self._reports_path = context.home.run / "reports.json"
        self.nursery: Nursery | None = None

    def _plan(self, config: Config) -> NodePlan:
        try:
            reading = self.sensors.host_reading()
            identity = host_identity(
                config,
                machine=self.context.name,
                address=f"<{self.context.name}>",
                started_at=self.started_at,
                platform=_platform(config),
            )
            plan = make_plan(config, reading, identity, zone_offset_s=_zone_offset_s())
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
        self._load_reports()
        await self._take_over()
        name = self.context.name
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.node(name, "").rpartition(".")[0] + ".*", self._on_message)
        await self.bus.listen(self.subjects.ask_node(name, "").rpartition(".")[0] + ".*", self._on_ask)
        self.bus.on_reconnect = self._reconnected
        for work in (self._polls(), self._send_all(), self._report_again(), self._refresh()):
            self.spawn(work)

    async def reconfigure(self, config: Config) -> None:
        """Other policy from the next poll on; another layout needs a restart."""
        self.config = config
        plan = self._plan(config)
        self.plan = plan
        self.node.reconfigure(plan)
        self._whole = True
        self._poll_now.set()

    async def stop(self, ending: DaemonEnding) -> None:
        """Let the jobs end, quickly or with their due time; or leave them running."""
        if ending is not DaemonEnding.LEAVE:
            self._stopping = True
            kind = ShutdownKind.FAST if ending is DaemonEnding.FAST else ShutdownKind.GRACEFUL
            self.node.every_slot(ev.ShutdownRequested(kind=kind), time.time())
            self.carry_out()
            self._look_empty()
            await self._empty.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3):
                    while self.reports:
                        await asyncio.sleep(0.02)
            gone = [slot.name for slot in self.node.slots]
            await self.bus.send(self.subjects.ads(self.context.name), m.SlotAds(node=self.context.name, ads=[], gone=gone))
        while not self._outbox.empty():
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
        for runner in self.runners.values():
            runner.forget()
        if self.nursery is not None:
            await self.nursery.close()

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
        if self._stopping and not self.runners and all(slot.run is None for slot in self.node.slots):
            self._empty.set()

    # -- sensors -------------------------------------------------------------------------------------

    async def _polls(self) -> None:
        while True:
            use = {slot.id: self.runners[slot.run.name] for slot in self.node.slots if slot.run and slot.run.name in self.runners}
            percents = {slot: runner.cpu_percent() for slot, runner in use.items()}
            reading = self.sensors.reading(cpu_percent=percents)
            self.node.poll(reading, time.time())
            self.carry_out()
            self._poll_now.clear()
            changed = self.sensors.changed
            waits = [asyncio.create_task(self._poll_now.wait()), asyncio.create_task(changed.wait())]
            try:
                await asyncio.wait(waits, timeout=self.node.polling.interval_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
            changed.clear()

    # -- orders of the core --------------------------------------------------------------------------

    def carry_out(self) -> None:
        """Do what the core has ordered."""
        while orders := self.node.take_orders():
            for order in orders:
                self._perform(order)
        self._look_empty()

    def _perform(self, order: out.Order) -> None:
        match order:
            case out.Wake(slot=slot, timer=timer, at=at):
                self._wake(slot, timer, at)
            case out.Publish(slot=slot):
                self._mark(slot)
            case out.Withdraw(name=name):
                self._withdrawn.append(name)
                self._publish_soon()
            case out.ForStarter(run=run, effect=effect):
                self._for_starter(run, effect)
            case out.StarterDone(run=run):
                runner = self.runners.pop(run, None)
                if runner is not None:
                    runner.done()
            case out.KillRun(run=run):
                self._kill(run)
            case out.RunOver():
                self._report(order)
            case out.OwnWork(slot=slot, effect=own):
                self._own_work(slot, own)
            case out.Note():
                self._note(order)
            case out.Daemon(what=what):
                self._after_drain(what)
            case _:
                self._tell_queue(order)

    def _wake(self, slot: SlotId, timer: Timer, at: float | None) -> None:
        old = self._timers.pop((slot, timer), None)
        if old is not None:
            old.cancel()
        if at is not None:
            loop = asyncio.get_running_loop()
            wait_s = max(0.0, at - time.time())
            self._timers[slot, timer] = loop.call_later(wait_s, self._timer_fired, slot, timer)

    def _timer_fired(self, slot: SlotId, timer: Timer) -> None:
        self._timers.pop((slot, timer), None)
        held = self.node.slot(slot)
        if held is not None:
            self.node.tell(held, ev.TimerFired(timer=timer), time.time())
            self.carry_out()

    def _for_starter(self, run: str, effect: sef.StarterEffect) -> None:
        runner = self.runners.get(run)
        if runner is None:
            found = self.node.run_of(run)
            if found is None:
                return
            slot, held = found
            surroundings = Surroundings(
                home=self.context.home,
                nursery=self.nursery,
                bus=self.bus,
                name=self.context.name,
                config=self.config,
                tell=partial(self._starter_event, run),
                began=partial(self._run_began, run),
            )
            slot_ad = self.node.ad(slot, time.time())
            runner = self.runners[run] = Runner(surroundings, run, held.schedd, slot.name, slot_ad)
        runner.perform(effect)

    def _starter_event(self, run: str, event: Any) -> None:
        self.node.starter_event(run, event, time.time())
        self.carry_out()

    def _run_began(self, run: str, number: int, pid: int) -> None:
        self.node.run_started(run, number, pid, time.time())
        self.carry_out()

    def _kill(self, run: str) -> None:
        runner = self.runners.get(run)
        if runner is None:
            self.node.run_vanished(run, time.time())
        else:
            self.spawn(self._kill_all(run, runner))

    async def _kill_all(self, run: str, runner: Runner) -> None:
        await runner.kill()
        self.node.run_vanished(run, time.time())
        self.carry_out()

    def _note(self, note: out.Note) -> None:
        what = note.what
        if isinstance(what, Taken):
            _log.info("%s: %s -> %s (%s: %s)", note.slot, what.source, what.target, what.number, what.reason)
        elif isinstance(what, str):
            _log.warning("%s%s: %s", note.slot, f" {note.run}" if note.run else "", what)
        else:
            _log.info("%s %s: %s -> %s (%s)", note.slot, note.run, what.source, what.target, what.reason)

    def _after_drain(self, what: OnCompletion) -> None:
        _log.info("the drain is over: %s", what.name.lower())
        match what:
            case OnCompletion.EXIT | OnCompletion.RESTART:
                # The master starts a daemon that ends again; one that is to stay away is not in DAEMON_LIST.
                os.kill(os.getpid(), 15)
            case OnCompletion.RECONFIGURE:
                os.kill(os.getpid(), 1)
            case _:
                pass

    def _own_work(self, slot: SlotId, effect: ef.Effect) -> None:
        if isinstance(effect, ef.RunBenchmarks):
            self.spawn(self._benchmark(slot))

    async def _benchmark(self, slot: SlotId) -> None:
        mips, kflops = await self.sensors.benchmark()
        held = self.node.slot(slot)
        if held is not None:
            self.node.tell(held, ev.BenchmarksFinished(mips=mips, kflops=kflops), time.time())
            self.carry_out()

    # -- words to queues -----------------------------------------------------------------------------

    def _send(self, schedd: str, message: Message) -> None:
        if schedd:
            self._outbox.put_nowait((self.subjects.schedd(schedd, self.context.name), message))

    async def _send_all(self) -> None:
        while True:
            subject, message = await self._outbox.get()
            await self.bus.send(subject, message)

    def _tell_queue(self, order: out.Order) -> None:
        match order:
            case out.ClaimReply():
                message: Message = m.ClaimAnswered(
                    asked_id=order.reply_to,
                    reply_to=order.reply_to,
                    accepted=order.accepted,
                    refusal=order.refusal,
                    claim_id=order.claim_id,
                    slot=order.slot,
                    slot_ad=None if order.slot_ad is None else ad_data(order.slot_ad),
                )
            case out.RunReply():
                message = m.ActivationAnswered(
                    claim_id=order.claim_id, run=order.run, accepted=order.accepted, refusal=order.refusal
                )
            case out.ClaimOver():
                message = m.ClaimGone(claim_id=order.claim_id, reason=order.reason, code=order.code)
            case out.RunStarted():
                message = m.JobBegan(
                    claim_id=order.claim_id, run=order.run, at=order.at, pid=order.pid, slot=order.slot
                )
            case out.RunStood(still=True):
                message = m.JobSuspended(claim_id=order.claim_id, run=order.run, at=order.at)
            case out.RunStood():
                message = m.JobResumed(claim_id=order.claim_id, run=order.run, at=order.at)
            case out.RunMeasured():
                message = m.JobMeasured(
                    claim_id=order.claim_id, run=order.run, at=order.at, attributes=ad_data(order.attributes)
                )
            case _:
                raise AssertionError(f"an order that nobody carries out: {order}")
        self._send(order.schedd, message)

    def _report(self, order: out.RunOver) -> None:
        report = order.report
        cause = report.cause
        message = m.RunEnded(
            claim_id=order.claim_id,
            run=order.run,
            at=order.at,
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
            slot=order.slot,
            attributes=ad_data(report.attributes),
        )
        if order.schedd:
            self.reports[order.run] = (order.schedd, message)
            self._keep_report(order.run)
            self._send(order.schedd, message)

    def _keep_report(self, run: str) -> None:
        """Keep a report beside the record of its run, until the queue has it."""
        schedd, message = self.reports[run]
        path = self.context.home.jobs / f"{_file_name(run)}.report"
        temporary = path.with_suffix(".new")
        with contextlib.suppress(OSError):
            temporary.write_bytes(json.dumps({"schedd": schedd}).encode() + b"\n" + _encoded(message))
            temporary.rename(path)

    def _load_reports(self) -> None:
        for path in sorted(self.context.home.jobs.glob("*.report")):
            try:
                head, _, body = path.read_bytes().partition(b"\n")
                message = _decoded(body)
                self.reports[message.run] = (json.loads(head)["schedd"], message)
            except (OSError, ValueError, KeyError) as error:
                _log.error("%s can't be read: %s", path, error)

    async def _report_again(self) -> None:
        while True:
            for schedd, message in list(self.reports.values()):
                self._send(schedd, message)
            await asyncio.sleep(REPORT_AGAIN_S)

    def _taken(self, runs: list[str]) -> None:
        for run in runs:
            if self.reports.pop(run, None) is not None:
                (self.context.home.jobs / f"{_file_name(run)}.report").unlink(missing_ok=True)

    # -- words to the collector ----------------------------------------------------------------------

    def _mark(self, slot: SlotId | None) -> None:
        self._dirty.update([slot] if slot is not None else [each.id for each in self.node.slots])
        self._publish_soon()

    def _publish_soon(self) -> None:
        if self._publish is None:
            self._publish = asyncio.get_running_loop().call_later(PUBLISH_GAP_S, self._publish_ads)

    def _publish_ads(self) -> None:
        self._publish = None
        whole, self._whole = self._whole, False
        dirty, self._dirty = self._dirty, set()
        withdrawn, self._withdrawn = self._withdrawn, []
        now = time.time()
        ads, claims = [], {}
        for slot in self.node.slots:
            if whole or slot.id in dirty:
                ads.append(ad_data(self.node.ad(slot, now)))
                offered = slot.state.preempting or slot.state.claim
                claims[slot.name] = offered.id.text
        message = m.SlotAds(node=self.context.name, ads=ads, claim_ids=claims, gone=withdrawn, whole=whole)
        self._outbox.put_nowait((self.subjects.ads(self.context.name), message))

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
            self._handle(message, sender, time.time())
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)
            return
        self.carry_out()

    def _handle(self, message: Message, sender: str, now: float) -> None:
        node = self.node
        match message:
            case m.RequestClaim():
                request = ClaimRequest(
                    job_ad=ad_from(message.job_ad, "job_ad"),
                    schedd=sender,
                    client_machine=message.client_machine,
                    alive_interval_s=message.alive_interval_s,
                    reply_to=f"{sender}|{message.reply_to}",
                )
                node.claim(message.slot, message.claim_id, request, now)
            case m.ReleaseClaim(claim_id=claim_id):
                if not node.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now):
                    self._send(sender, m.ClaimGone(claim_id=claim_id, reason="no slot knows the claim"))
            case m.KeepAlive(claim_ids=claim_ids, reply_to=reply_to):
                self._keep_alive(claim_ids, reply_to, sender, now)
            case m.ActivateClaim():
                node.activate(message.claim_id, message.run, ad_from(message.job_ad, "job_ad"), now, sender)
            case m.EndJob():
                self._end_job(message, sender, now)
            case m.SuspendJob(claim_id=claim_id):
                node.about_claim(claim_id, lambda each: ev.SuspendRequested(claim_id=each), now)
            case m.ContinueJob(claim_id=claim_id):
                node.about_claim(claim_id, lambda each: ev.ContinueRequested(claim_id=each), now)
            case m.ReportTaken(runs=runs):
                self._taken(runs)
            case m.Reconnect():
                self._reconnect(message, sender, now)

    def _keep_alive(self, claim_ids: list[str], reply_to: str, sender: str, now: float) -> None:
        known, unknown = {}, []
        runs = self.node.runs()
        for claim_id in claim_ids:
            if self.node.about_claim(claim_id, lambda each: ev.AliveReceived(claim_id=each), now):
                known[claim_id] = runs.get(claim_id, "")
            else:
                unknown.append(claim_id)
        if reply_to:
            self._send(sender, m.ClaimsKnown(reply_to=reply_to, known=known, unknown=unknown))

    def _end_job(self, message: m.EndJob, sender: str, now: float) -> None:
        try:
            ending = Ending(message.ending)
        except ValueError:
            raise WireError(f"ending: {message.ending!r} is none of {', '.join(Ending)}") from None
        cause = Cause(
            ending=ending, code=message.code, subcode=message.subcode, text=message.text, by=OrderedBy.QUEUE
        )
        if not self.node.end_run(message.run, cause, hard=message.hard, now=now) and message.run not in self.reports:
            self._send(sender, m.ClaimsKnown(reply_to="end", known={}, unknown=[message.claim_id]))

    def _reconnect(self, message: m.Reconnect, sender: str, now: float) -> None:
        """A queue has started again. What it does not name is not its any more."""
        for schedd, report in list(self.reports.values()):
            if schedd == sender:
                self._send(sender, report)
        reported = {report.claim_id: report.run for _, report in self.reports.values()}
        runs = self.node.runs()
        known, unknown = {}, []
        for claim_id in message.claims:
            if self.node.slot_of(claim_id) is not None:
                self.node.about_claim(claim_id, lambda each: ev.AliveReceived(claim_id=each), now)
                known[claim_id] = runs.get(claim_id) or reported.get(claim_id, "")
            elif claim_id in reported:
                known[claim_id] = reported[claim_id]
            else:
                unknown.append(claim_id)
        self._send(sender, m.ClaimsKnown(reply_to=message.reply_to, known=known, unknown=unknown))
        for claim_id in self.node.claims_of(sender):
            if claim_id not in message.claims:
                self.node.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), now)

    # -- what administrators want --------------------------------------------------------------------

    async def _on_ask(self, message: Message, sender: str, reply: str) -> None:
        if not isinstance(message, Ask):
            return
        try:
            answer = self._answered(message, time.time())
        except (KeyError, TypeError, ValueError, ParseError) as error:
            answer = Answer(ok=False, code="bad-request", text=f"{message.what}: {error}")
        self.carry_out()
        await self.bus.answer(reply, answer)

    def _answered(self, ask: Ask, now: float) -> Answer:
        args = ask.args
        match ask.what:
            case "ads":
                return Answer(data=[ad_data(self.node.ad(slot, now)) for slot in self.node.slots])
            case "drain":
                refusal = self.node.drain(_drain_order(args), now)
                if refusal is not None:
                    return Answer(ok=False, code="refused", text=str(refusal))
                return Answer(data={"request_id": self.node.draining.request_id})
            case "cancel-drain":
                refusal = self.node.cancel_drain(str(args.get("request_id", "")), now)
                return Answer() if refusal is None else Answer(ok=False, code="refused", text=str(refusal))
            case "vacate":
                return self._vacate(args, now)
            case "poll":
                self._poll_now.set()
                return Answer()
        return Answer(ok=False, code="bad-request", text=f"a machine can't answer {ask.what!r}")

    def _vacate(self, args: dict[str, Any], now: float) -> Answer:
        wanted = str(args.get("slot", ""))
        slots = [slot for slot in self.node.slots if not wanted or slot.name == wanted]
        if not slots:
            return Answer(ok=False, code="not-found", text=f"there is no slot {wanted!r} on {self.context.name}")
        for slot in slots:
            self.node.tell(slot, ev.VacateRequested(fast=bool(args.get("fast"))), now)
        return Answer(data={"slots": [slot.name for slot in slots]})

    # -- runs of an earlier daemon -------------------------------------------------------------------

    async def _take_over(self) -> None:
        """Take over what runs still."""
        from roost.runtime.takeover import take_over

        await take_over(self)


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


def _file_name(run: str) -> str:
    return "".join(char if char.isalnum() or char in ".-_" else "_" for char in run)


def _encoded(message: m.RunEnded) -> bytes:
    from roost.wire.codec import encode

    return encode(message)


def _decoded(data: bytes) -> m.RunEnded:
    from roost.wire.codec import expect

    return expect(m.RunEnded, data)


def make(context: RoleContext, config: Config, bus: Bus) -> NodeDaemon:
    """The daemon of an execute machine."""
    return NodeDaemon(context, config, bus)

"""Carrying out the effects of a machine's core: each effect of a slot or a starter becomes an action.

Answers and reports become messages, timers wake-ups, and what a run needs is done by its `Runner`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.cell_requests import TASK
from roost.model.claims import ClaimKind
from roost.model.events import Timer
from roost.model.starter import Method
from roost.node.claim_news import claim_lost, run_ended
from roost.node.host import Out
from roost.node.host_slots import OfferLeftovers, Starter
from roost.node.machine import NodeSlot
from roost.runtime.node.messages import activation_answer, claim_answer, ended_run
from roost.runtime.node.runs.local_run import Surroundings
from roost.runtime.node.runs.runner import Runner
from roost.runtime.role import DaemonEnding, must_go_on, stop_for_good
from roost.startd.draining import OnCompletion
from roost.startd.states import State
from roost.wire import messages as m
from roost.wire.ads import ad_data

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from roost.config import Config
    from roost.node.machine import Machine, Outs
    from roost.runtime.bus.client import Carrier
    from roost.runtime.clock import Clock
    from roost.runtime.files.file_workers import FileWorkers
    from roost.runtime.node.backfill import BackfillClient
    from roost.runtime.node.fetching import Fetching
    from roost.runtime.node.outbox import Outbox
    from roost.runtime.node.runs.reports import Reports
    from roost.runtime.node.runs.reused_sandboxes import Sandboxes
    from roost.runtime.node.runs.scratch import Scratch
    from roost.runtime.node.runs.shells import Shells
    from roost.runtime.node.sessions import Sessions
    from roost.runtime.node.slot_ads import SlotPublisher
    from roost.runtime.node.state import NodeState
    from roost.runtime.processes.fork_server import ForkServer
    from roost.runtime.role import RoleContext

_log = logging.getLogger("roost.node")


class OrdersDaemon(Protocol):
    """The interface of the machine's daemon for carrying out effects."""

    name: str
    context: RoleContext
    config: Config
    clock: Clock
    bus: Carrier
    machine: Machine
    outbox: Outbox
    reports: Reports
    state: NodeState
    ads: SlotPublisher
    scratch: Scratch
    sandboxes: dict[Path, Sandboxes]
    sessions: Sessions
    shells: Shells
    file_workers: FileWorkers
    fetching: Fetching
    backfill: BackfillClient
    fork_server: ForkServer | None

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a background task; the daemon waits for it before it exits."""

    def need_cell_root(self) -> None:
        """Install Grid Engine's commands where programs of a cell's jobs look for them."""

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""

    def job_failed(self, text: str) -> None:
        """Note that a job could not be run here."""

    async def benchmark(self) -> tuple[int | None, int | None]:
        """The speed of the machine: Mips and KFlops."""

    def surroundings(self, slot: NodeSlot, starter: Starter) -> Surroundings:
        """The surroundings of a starter's runner."""


class NodeOrders:
    """Carries out the effects of one machine."""

    def __init__(self, daemon: OrdersDaemon) -> None:
        self._daemon = daemon
        self._machine = daemon.machine
        self._outbox = daemon.outbox
        #: The runner of each starter.
        self.runners: dict[Starter, Runner] = {}
        self._timers: dict[tuple[NodeSlot, Timer], asyncio.TimerHandle] = {}
        self._benchmarks: dict[NodeSlot, asyncio.Task[None]] = {}

    def drop_timers(self) -> None:
        """Cancel all timers."""
        for each in self._timers.values():
            each.cancel()

    # -- orders of slots -----------------------------------------------------------------------------

    def of_slot(self, slot: NodeSlot, effect: Any) -> None:
        """Carry out an effect of a slot."""
        daemon, outbox = self._daemon, self._outbox
        match effect:
            case ef.SetTimer(timer=timer, at=at):
                self._wake(slot, timer, at)
            case ef.CancelTimer(timer=timer):
                self._wake(slot, timer, None)
            case ef.PublishAd():
                daemon.ads.mark(slot)
            case ef.SendClaimReply():
                if effect.accepted and _is_further_part(slot):
                    # It never gets a run with its own record, and must outlive this daemon just as the master's claim
                    # does.
                    self._keep_claim(slot)
                ad = ad_data(self._machine.ad(slot, daemon.clock.now())) if effect.accepted else None
                outbox.to_queue(*claim_answer(slot, effect, ad))
            case ef.SendActivationReply():
                outbox.to_queue(*activation_answer(effect))
            case ef.TellSchedd(schedd=schedd, claim_id=claim):
                lost = claim_lost(effect, daemon.reports.run_of(claim.text))
                gone = m.ClaimGone(claim_id=lost.claim_id, reason=lost.reason, code=lost.code, run=lost.reported)
                outbox.to_queue(schedd, gone)
            case ef.KillFamily():
                if slot.starter is not None:
                    self._lost(slot, slot.starter)
            case ef.RunBenchmarks():
                self._benchmarks[slot] = daemon.spawn(self._benchmark(slot))
            case ef.CancelBenchmarks():
                self._cancel_benchmarks(slot)
            case ef.WarnOfExpression(expression=expression, text=text):
                _log.warning("%s: %s: %s", slot.name, expression, text)
            case ef.CheckpointJob() | ef.SendDeactivationReply() | ef.SendAliveReply():
                pass
            case OfferLeftovers():
                # The negotiator sees the rest with the slot's next ad, which is being sent.
                daemon.ads.mark(slot)
            case ef.StartBackfill():
                daemon.backfill.start()
            case ef.KillBackfill():
                daemon.backfill.kill()
            case ef.FetchWork() | ef.ReplyFetch() | ef.EvictFetched():
                daemon.fetching.perform(slot, effect)
            case _:
                _log.warning("%s: this machine has no handler for the order %s", slot.name, type(effect).__name__)

    def _keep_claim(self, slot: NodeSlot) -> None:
        try:
            self._daemon.state.keep_claim(slot, self._machine)
        except OSError as problem:
            _log.error("cannot save the claim of %s: %s", slot.name, problem.strerror)

    def _wake(self, slot: NodeSlot, timer: Timer, at: float | None) -> None:
        old = self._timers.pop((slot, timer), None)
        if old is not None:
            old.cancel()
        if at is not None:
            wait_s = max(0.0, at - self._daemon.clock.now())
            loop = asyncio.get_running_loop()
            self._timers[slot, timer] = loop.call_later(wait_s, self._timer_fired, slot, timer)

    def _timer_fired(self, slot: NodeSlot, timer: Timer) -> None:
        self._timers.pop((slot, timer), None)
        self._happened(slot, ev.TimerFired(timer=timer))

    def _happened(self, slot: NodeSlot, event: ev.Event) -> None:
        self._daemon.carry_out(self._machine.host.receive(slot, event, self._daemon.clock.now()))

    def _lost(self, slot: NodeSlot, starter: Starter) -> None:
        must_go_on(self._daemon.spawn(self._kill_all(slot, starter), f"the end of {slot.run_name}"))

    async def _kill_all(self, slot: NodeSlot, starter: Starter) -> None:
        """Kill everything, because the starter does not end its job, or is lost itself; the run's end was not
        observed.
        """
        runner = self.runners.pop(starter, None)
        if runner is not None:
            try:
                await runner.give_up()
            except Exception:
                # The slot is free all the same, and the next start of the daemon cleans up the rest.
                _log.exception("%s: internal error", runner.run)
        if starter.alive:
            self._outbox.report_lost(slot)
            now = self._daemon.clock.now()
            self._daemon.carry_out(self._machine.host.starter_lost(slot, starter, now))

    async def _benchmark(self, slot: NodeSlot) -> None:
        mips = kflops = None
        try:
            mips, kflops = await self._daemon.benchmark()
        except Exception:
            # A slot whose benchmarks never end would never be assigned.
            _log.exception("internal error: the benchmarks of %s", slot.name)
        self._happened(slot, ev.BenchmarksFinished(mips=mips, kflops=kflops))

    def _cancel_benchmarks(self, slot: NodeSlot) -> None:
        """Cancel the benchmarks because a slot has other work, unless their end is just being reported."""
        task = self._benchmarks.pop(slot, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def after_drain(self) -> None:
        """Carry out what follows a finished drain, if anything."""
        what, self._machine.host.ended = self._machine.host.ended, None
        if what is None:
            return
        _log.info("the drain is over: %s", what.name.lower())
        match what:
            case OnCompletion.EXIT:
                stop_for_good(DaemonEnding.GRACEFUL)
            case OnCompletion.RESTART:
                # The master restarts a daemon that exits.
                os.kill(os.getpid(), signal.SIGTERM)
            case OnCompletion.RECONFIGURE:
                os.kill(os.getpid(), signal.SIGHUP)
            case _:
                pass

    # -- orders of starters --------------------------------------------------------------------------

    def of_starter(self, out: Out[NodeSlot]) -> None:
        """Carry out an effect of a starter."""
        slot, starter, effect = out.slot, out.starter, out.effect
        assert starter is not None
        outbox, now = self._outbox, self._daemon.clock.now()
        about: dict[str, Any] = {"claim_id": starter.claim_id.text, "run": slot.run_name, "at": now}
        match effect:
            case ef.CheckpointJob() | sef.ReportEviction():
                pass
            case sef.ReportUsage(attributes=attributes):
                outbox.to_queue(slot.schedd, m.JobMeasured(attributes=ad_data(attributes), **about))
            case sef.ReportCheckpoint(checkpoints=number, attributes=attributes):
                told = m.JobCheckpointed(checkpoints=number, attributes=ad_data(attributes), **about)
                outbox.to_queue(slot.schedd, told)
            case sef.ReportExit(report=report):
                hands = self.runner_of(slot, starter)
                traffic = (hands.transfers.sent, hands.transfers.received)
                claim_id = starter.claim_id.text
                ended = run_ended(
                    slot, report, node=self._daemon.context.name, claim_id=claim_id, at=now, traffic=traffic
                )
                used = [] if hands.tasks is None else hands.tasks.used
                outbox.report(slot.schedd, ended_run(slot, ended, used))
                hands.log.end(report)
            case sef.Warn(about=what, text=text):
                _log.warning("%s %s: %s: %s", slot.name, slot.run_name, what, text)
            case sef.Quit():
                runner = self.runners.pop(starter, None)
                if runner is not None:
                    runner.done()
            case _:
                self.runner_of(slot, starter).perform(effect)  # type: ignore[arg-type]
                # A job that has to leave is continued only so that it can end.
                if _continues(effect) and slot.state.state is not State.PREEMPTING:
                    outbox.to_queue(slot.schedd, m.JobResumed(**about))

    def runner_of(self, slot: NodeSlot, starter: Starter, *, resumed: bool = False) -> Runner:
        """The runner of a starter; `resumed`: of one that an earlier daemon had."""
        found = self.runners.get(starter)
        if found is None:
            daemon = self._daemon
            if starter.kind is ClaimKind.FETCHED and starter.state.run == 0 and not resumed:
                self._machine.name_fetched(slot)
            slot_ad = self._machine.ad(slot, daemon.clock.now())
            around, job_ad = daemon.surroundings(slot, starter), starter.state.job_ad
            found = Runner(around, slot.run_name, slot.schedd, slot.name, slot_ad, job_ad)
            self.runners[starter] = found
            if not resumed:
                daemon.reports.begin(slot.run_name, schedd=slot.schedd, claim_id=starter.claim_id.text, slot=slot.name)
        return found

    def surroundings(self, slot: NodeSlot, starter: Starter) -> Surroundings:
        """The surroundings of a starter's runner."""
        daemon = self._daemon
        assert daemon.fork_server is not None
        execute = daemon.scratch.of(slot.plan.id.number)
        if starter.state.launch.context is not None:
            daemon.need_cell_root()
        return Surroundings(
            home=daemon.context.home,
            fork_server=daemon.fork_server,
            sandboxes=daemon.sandboxes[execute],
            execute=execute,
            scratch=daemon.scratch,
            file_workers=daemon.file_workers,
            bus=daemon.bus,
            name=daemon.name,
            config=daemon.config,
            clock=daemon.clock,
            context=starter.state.launch.context,
            sessions=daemon.sessions,
            shells=daemon.shells,
            record=daemon.reports.record(slot.run_name),
            problem=partial(daemon.reports.problem, slot.run_name),
            done=partial(daemon.reports.done, slot.run_name),
            tell=partial(self._starter_event, slot, starter),
            failed=daemon.job_failed,
            began=partial(self._began, slot, starter),
            stopped=partial(self._stopped, slot, starter),
            moved=partial(self._moved, slot, starter),
            lost=partial(self._lost, slot, starter),
        )

    def _starter_event(self, slot: NodeSlot, starter: Starter, event: sev.StarterEvent) -> None:
        daemon = self._daemon
        daemon.carry_out(self._machine.host.receive_starter(slot, starter, event, daemon.clock.now()))

    def _stopped(self, slot: NodeSlot, starter: Starter, processes: int) -> None:
        claim_id = starter.claim_id.text
        told = m.JobSuspended(claim_id=claim_id, run=slot.run_name, at=self._daemon.clock.now(), processes=processes)
        self._outbox.to_queue(slot.schedd, told)

    def _moved(self, slot: NodeSlot, starter: Starter, stage: str) -> None:
        now, claim_id = self._daemon.clock.now(), starter.claim_id.text
        self._outbox.to_queue(slot.schedd, m.FileMoved(claim_id=claim_id, run=slot.run_name, at=now, stage=stage))

    def _began(self, slot: NodeSlot, starter: Starter, number: int, pid: int) -> None:
        now = self._daemon.clock.now()
        if number == 1:
            claim_id = starter.claim_id.text
            began = m.JobBegan(claim_id=claim_id, run=slot.run_name, at=now, pid=pid, slot=slot.name)
            self._outbox.to_queue(slot.schedd, began)
            self.runner_of(slot, starter).log.begin()
        self._starter_event(slot, starter, sev.JobStarted(run=number, pid=pid))


def _continues(effect: object) -> bool:
    """Whether an order lets a job continue."""
    return isinstance(effect, sef.ContinueProcesses) or (
        isinstance(effect, sef.RunMethod) and effect.method is Method.RESUME
    )


def _is_further_part(slot: NodeSlot) -> bool:
    """Whether the claim of a slot is for additional tasks of a parallel job, whose master runs on another claim."""
    job_ad = slot.state.claim.job_ad
    task = None if job_ad is None else job_ad.get(TASK)
    part = task.get("Part") if isinstance(task, ClassAd) else None
    return isinstance(part, int) and part > 0

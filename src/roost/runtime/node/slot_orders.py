"""Carrying out the effects of a machine's slots: answers and reports become messages, timers wake-ups."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import TYPE_CHECKING, Any, Protocol

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.cell_requests import TASK
from roost.model.events import Timer
from roost.node.claim_news import claim_lost
from roost.node.host_slots import OfferLeftovers, Starter
from roost.node.machine import NodeSlot
from roost.runtime.daemon_orders import DaemonEnding, stop_for_good
from roost.runtime.node.messages import activation_answer, claim_answer
from roost.startd.draining import OnCompletion
from roost.wire import messages as m
from roost.wire.ads import ad_data

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from roost.node.machine import Machine, Outs
    from roost.runtime.clock import Clock
    from roost.runtime.node.backfill import BackfillClient
    from roost.runtime.node.fetching import Fetching
    from roost.runtime.node.outbox import Outbox
    from roost.runtime.node.runs.reports import Reports
    from roost.runtime.node.slot_ads import SlotPublisher
    from roost.runtime.node.state import NodeState

_log = logging.getLogger("roost.node")


class LostStarters(Protocol):
    """What ends a starter that does not end its job."""

    def lost(self, slot: NodeSlot, starter: Starter) -> None:
        """Kill everything of a starter; the end of its run was not observed."""


class SlotOrdersDaemon(Protocol):
    """The interface of the machine's daemon for carrying out effects of slots."""

    clock: Clock
    machine: Machine
    outbox: Outbox
    reports: Reports
    state: NodeState
    ads: SlotPublisher
    fetching: Fetching
    backfill: BackfillClient

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a background task; the daemon waits for it before it exits."""

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""

    async def benchmark(self) -> tuple[int | None, int | None]:
        """The speed of the machine: Mips and KFlops."""


class SlotOrders:
    """Carries out the effects of the slots of one machine."""

    def __init__(self, daemon: SlotOrdersDaemon, starters: LostStarters) -> None:
        self._daemon = daemon
        self._machine = daemon.machine
        self._outbox = daemon.outbox
        self._starters = starters
        self._timers: dict[tuple[NodeSlot, Timer], asyncio.TimerHandle] = {}
        self._benchmarks: dict[NodeSlot, asyncio.Task[None]] = {}

    def drop_timers(self) -> None:
        """Cancel all timers."""
        for each in self._timers.values():
            each.cancel()

    def perform(self, slot: NodeSlot, effect: Any) -> None:
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
                    self._starters.lost(slot, slot.starter)
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


def _is_further_part(slot: NodeSlot) -> bool:
    """Whether the claim of a slot is for additional tasks of a parallel job, whose master runs on another claim."""
    job_ad = slot.state.claim.job_ad
    task = None if job_ad is None else job_ad.get(TASK)
    part = task.get("Part") if isinstance(task, ClassAd) else None
    return isinstance(part, int) and part > 0

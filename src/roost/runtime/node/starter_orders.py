"""Carrying out the effects of a machine's starters: reports become messages, and a `Runner` does what a run needs."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from roost.base.records import dataclass
from roost.model import effects as ef
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.claims import ClaimKind
from roost.model.starter import Method
from roost.node.claim_news import run_ended
from roost.node.host import Out
from roost.node.host_slots import Starter
from roost.node.machine import NodeSlot
from roost.runtime.node.messages import ended_run
from roost.runtime.node.runs.local_run import Surroundings
from roost.runtime.node.runs.runner import Runner
from roost.runtime.role import must_go_on
from roost.startd.states import State
from roost.wire import messages as m
from roost.wire.ads import ad_data

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from roost.node.machine import Machine, Outs
    from roost.runtime.clock import Clock
    from roost.runtime.node.outbox import Outbox
    from roost.runtime.node.runs.reports import Reports
    from roost.runtime.role import RoleContext

_log = logging.getLogger("roost.node")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCalls:
    """What a runner calls when something has happened to its run (see `Surroundings`)."""

    tell: Callable[[sev.StarterEvent], None]
    began: Callable[[int, int], None]
    stopped: Callable[[int], None]
    moved: Callable[[str], None]
    lost: Callable[[], None]


class StarterOrdersDaemon(Protocol):
    """The interface of the machine's daemon for carrying out effects of starters."""

    context: RoleContext
    clock: Clock
    machine: Machine
    outbox: Outbox
    reports: Reports

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a background task; the daemon waits for it before it exits."""

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""

    def surroundings(self, slot: NodeSlot, starter: Starter, calls: RunCalls) -> Surroundings:
        """The surroundings of a starter's runner."""


class StarterOrders:
    """Carries out the effects of the starters of one machine."""

    def __init__(self, daemon: StarterOrdersDaemon) -> None:
        self._daemon = daemon
        self._machine = daemon.machine
        self._outbox = daemon.outbox
        #: The runner of each starter.
        self.runners: dict[Starter, Runner] = {}

    def perform(self, out: Out[NodeSlot]) -> None:
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
            around, job_ad = daemon.surroundings(slot, starter, self._calls(slot, starter)), starter.state.job_ad
            found = Runner(around, slot.run_name, slot.schedd, slot.name, slot_ad, job_ad)
            self.runners[starter] = found
            if not resumed:
                daemon.reports.begin(slot.run_name, schedd=slot.schedd, claim_id=starter.claim_id.text, slot=slot.name)
        return found

    def lost(self, slot: NodeSlot, starter: Starter) -> None:
        """Kill everything of a starter; the end of its run was not observed."""
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

    # -- what runners call ---------------------------------------------------------------------------

    def _calls(self, slot: NodeSlot, starter: Starter) -> RunCalls:
        return RunCalls(
            tell=partial(self._starter_event, slot, starter),
            began=partial(self._began, slot, starter),
            stopped=partial(self._stopped, slot, starter),
            moved=partial(self._moved, slot, starter),
            lost=partial(self.lost, slot, starter),
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

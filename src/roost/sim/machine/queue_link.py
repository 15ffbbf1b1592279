"""Messages from queues to a simulated machine and back, as a real machine's daemon would exchange them.

Each order of a queue becomes an event of the machine's core, or an answer. Reports of the ends of runs are kept until
the queue has acknowledged them, even if the daemon dies, because they are on disk; so is the list of runs that existed
when it died. If messages may be lost, both are repeated.

It corresponds to `roost.runtime.node.queue_requests`, `slot_orders` and `runs.reports` in the real world; what both
have in common is in `roost.node.claim_news`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd
from roost.model import effects as slot_ef
from roost.model import events as nev
from roost.model import starter_events as sev
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.identifiers import ClaimId
from roost.model.queue_context import QueueContext
from roost.model.reasons import Refusal
from roost.model.starter import Cause, Ending, ExitReport, OrderedBy
from roost.node import claim_news as news
from roost.node.host_slots import Starter
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.sim.machine.pool_ads import pool_ad
from roost.startd.states import State

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, SimulatedSlot
    from roost.sim.machine.process import Process


#: A daemon checks leases at once when a short one begins; here they are checked at least at this interval, s.
LOOK_S: Final = 1.0
#: The only queue.
_QUEUE: Final = "sim"


class QueueLink:
    """The link of one machine to its queue."""

    __slots__ = ("_answered", "_generation", "_reconnected", "_running", "machine", "reports")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        #: Run to how it ended, until the queue has acknowledged that.
        self.reports: dict[str, ev.RunEnded] = {}
        #: Run in progress to its claim and slot, and whether its program has started.
        self._running: dict[str, tuple[str, Process]] = {}
        self._answered = False
        #: Number of the last question about all claims.
        self._reconnected = 0
        self._generation = 0

    def begin(self, now: float) -> None:
        """Start the daemon; the runs of an earlier one are over, and their end was not observed."""
        self._reconnected = 0
        running, self._running = self._running, {}
        for run, (claim_id, process) in running.items():
            text = "the machine's daemon was killed, and the run could not be taken over"
            began = process.run_s > 0 or process.suspended_s > 0
            self._report(news.run_lost(run, node=self._node, claim_id=claim_id, at=now, began=began, text=text))

    def repeat(self, now: float) -> None:
        """Repeat from now on what the queue has to know."""
        self._generation += 1
        generation, numbers = self._generation, itertools.count()

        def again(now: float) -> None:
            if generation != self._generation or not self.machine.alive:
                return
            for report in self.reports.values():
                self._say(report)
            if next(numbers) % news.CLAIMS_EVERY == 0 and (known := self._held()):
                self._say(ev.ClaimsHeard(node=self._node, known=known, standings=news.standings(self.machine.slots)))
            self.machine.engine.at(now + news.REPORT_AGAIN_S, again)

        def ask_for_life(now: float) -> None:
            if generation != self._generation or not self.machine.alive:
                return
            if known := news.silent_claims(self.machine.slots, now).get(_QUEUE):
                self._say(ev.ClaimsHeard(node=self._node, known=known, renew=True))
            self.machine.engine.at(now + min(LOOK_S, news.next_look_s(self.machine.slots)), ask_for_life)

        self.machine.engine.at(now + news.REPORT_AGAIN_S, again)
        self.machine.engine.at(now, ask_for_life)

    @property
    def _node(self) -> str:
        return self.machine.plan.name

    def _say(self, event: ev.Event) -> None:
        self.machine.watcher.say(self.machine, event)

    # -- what the queue says -----------------------------------------------------------------------------

    def hear(self, effect: ef.Effect, now: float, context: QueueContext | None = None) -> None:
        """Handle a message of the queue; `context` is what a queue instance gives the job of a run."""
        if not self.machine.alive:
            return
        match effect:
            case ef.AskForSlot():
                self._claim(effect, now)
            case ef.GiveBack(claim_id=claim_id):
                self._about(claim_id, lambda each: nev.ClaimReleased(claim_id=each), now)
            case ef.StartRun():
                self._activate(effect, context, now)
            case ef.EndRun():
                self._end_run(effect, now)
            case ef.StandStill():
                order = news.stand_still(self.machine.slots, effect.claim_id, effect.run, still=effect.still)
                if order is not None:
                    self.machine.tell(*order, now)
            case ef.Taken(runs=runs):
                for run in runs:
                    self.reports.pop(run, None)
            case ef.SayAlive(claim_ids=claim_ids, serial=serial):
                self._keep_alive(claim_ids, serial, now)
            case ef.AskAgain():
                self._reconnect(effect, now)

    def matched(self, claim_id: str, now: float) -> None:
        """Note that the negotiator has assigned a slot to a submitter."""
        if self.machine.alive:
            self._about(claim_id, lambda each: nev.MatchReceived(claim_id=each), now)

    def suspended(self, slot_name: str, event: nev.SuspendersChanged, now: float) -> None:
        """Note a change in what the cell suspends in a slot."""
        for slot in self.machine.slots if self.machine.alive else ():
            if slot.plan.name == slot_name:
                self.machine.tell(slot, event, now)
                return

    def _about(self, claim_id: str, make: Callable[[ClaimId], nev.Event], now: float) -> bool:
        """Handle the holder's message about its claim; False if no slot knows the claim."""
        found = news.slot_of(self.machine.slots, claim_id)
        if found is None:
            return False
        event = make(found[1])
        self.machine.tell(found[0], event, now, quietly=isinstance(event, nev.AliveReceived))
        return True

    def _claim(self, order: ef.AskForSlot, now: float) -> None:
        found, node = news.slot_of(self.machine.slots, order.claim_id), self._node
        if found is None or not news.goes_by(self.machine.slots, found[0], order.slot):
            refusal = str(Refusal.UNKNOWN_CLAIM)
            self._say(ev.ClaimAnswered(node=node, asked_id=order.claim_id, accepted=False, refusal=refusal))
            return
        request = ClaimRequest(
            job_ad=order.job_ad.unchained(),
            schedd=_QUEUE,
            client_machine=_QUEUE,
            alive_interval_s=self.machine.watcher.alive_interval_s,
            reply_to=f"{_QUEUE}|{order.claim_id}",
        )
        self._answered = False
        self.machine.tell(found[0], nev.ClaimRequested(claim_id=found[1], request=request), now)
        if not self._answered and self.machine.alive:
            # The slot must first evict its job, and the queue should know that its request is not forgotten.
            self._say(ev.ClaimsHeard(node=node, known={order.claim_id: ""}))

    def _activate(self, order: ef.StartRun, context: QueueContext | None, now: float) -> None:
        found = news.slot_of(self.machine.slots, order.claim_id)
        if found is None:
            self._say(ev.RunRefused(claim_id=order.claim_id, run=order.run, refusal=str(Refusal.UNKNOWN_CLAIM)))
            return
        slot, known = found
        reply_to = f"{order.claim_id}|{order.run}"
        event = nev.ActivationRequested(claim_id=known, job_ad=order.job_ad, reply_to=reply_to, context=context)
        self.machine.activate(slot, order.run, event, now)

    def _end_run(self, order: ef.EndRun, now: float) -> None:
        if news.slot_of(self.machine.slots, order.claim_id) is None:
            if order.run not in self.reports:
                self._say(ev.ClaimsHeard(node=self._node, known={}, unknown=(order.claim_id,)))
            return
        cause = Cause(
            ending=Ending(order.ending), code=order.code, subcode=order.subcode, text=order.text, by=OrderedBy.QUEUE
        )
        for slot in self.machine.slots:
            starter = slot.starter
            if starter is not None and slot.run_name == order.run and starter.claim_id.text == order.claim_id:
                kill = sev.HardKillOrdered(cause=cause) if order.hard else sev.SoftKillOrdered(cause=cause)
                self.machine.tell_starter(slot, starter, kill, now)
                return

    def _keep_alive(self, claim_ids: tuple[str, ...], serial: int, now: float) -> None:
        known, unknown, runs = {}, [], news.runs(self.machine.slots)
        for claim_id in claim_ids:
            reported = self.run_of(claim_id)
            if self._about(claim_id, lambda each: nev.AliveReceived(claim_id=each), now) or reported:
                known[claim_id] = runs.get(claim_id, reported)
            else:
                unknown.append(claim_id)
        standings = news.standings(self.machine.slots)
        self._say(
            ev.ClaimsHeard(node=self._node, known=known, unknown=tuple(unknown), serial=serial, standings=standings)
        )

    def _reconnect(self, order: ef.AskAgain, now: float) -> None:
        """Note that the queue has restarted. Claims that it does not name are no longer its own."""
        for report in self.reports.values():
            self._say(report)
        self._keep_alive(tuple(order.claims), order.serial, now)
        if order.serial <= self._reconnected:
            # The message was sent before claims were granted that it does not name.
            return
        self._reconnected = order.serial
        for claim_id in self._held():
            if claim_id not in order.claims:
                self._about(claim_id, lambda each: nev.ClaimReleased(claim_id=each), now)

    # -- what is known -----------------------------------------------------------------------------------

    def _held(self) -> dict[str, str]:
        """The claims that the queue holds or has requested: id to run, "" for none."""
        return news.held_claims(self.machine.slots).get(_QUEUE, {})

    def run_of(self, claim_id: str) -> str:
        """The run on a claim whose report has not been acknowledged; "" if there is none."""
        return next((report.run for report in self.reports.values() if report.claim_id == claim_id), "")

    # -- what the machine says ---------------------------------------------------------------------------

    def claim_reply(self, slot: SimulatedSlot, effect: slot_ef.SendClaimReply, now: float) -> None:
        """Answer that a slot has granted a claim, or has not."""
        self._answered = True
        ad = pool_ad(slot, now) if effect.accepted else None
        self._say(news.claim_answered(slot, effect, self._node, ad))

    def activation_reply(self, effect: slot_ef.SendActivationReply) -> None:
        """Answer that a slot has accepted a job, or has not."""
        if not effect.accepted:
            claim_id, _, run = effect.reply_to.partition("|")
            text = "" if effect.refusal is None else str(effect.refusal)
            self._say(ev.RunRefused(claim_id=claim_id, run=run, refusal=text))

    def claim_gone(self, effect: slot_ef.TellSchedd) -> None:
        """Report that a claim is over."""
        if effect.schedd:
            self._say(news.claim_lost(effect, self.run_of(effect.claim_id.text)))

    # -- runs --------------------------------------------------------------------------------------------

    def run_begins(self, slot: SimulatedSlot, starter: Starter, process: Process) -> None:
        """Note that a starter has started a job."""
        if starter.kind is ClaimKind.SCHEDD:
            self._running[slot.run_name] = starter.claim_id.text, process

    def _of_run(self, slot: SimulatedSlot, starter: Starter, now: float) -> dict[str, Any]:
        return {"claim_id": starter.claim_id.text, "run": slot.run_name, "at": now}

    def began(self, slot: SimulatedSlot, starter: Starter, now: float) -> None:
        """Report that the program of a job runs."""
        if starter.kind is ClaimKind.SCHEDD:
            self._say(ev.RunBegan(**self._of_run(slot, starter, now), slot=slot.plan.name))

    def stood_still(self, slot: SimulatedSlot, starter: Starter, still: bool, now: float) -> None:
        """Report that a job was stopped, or continued."""
        # A job that has to leave is continued only so that it can end.
        if starter.kind is ClaimKind.SCHEDD and (still or slot.state.state is not State.PREEMPTING):
            self._say(ev.RunStoodStill(**self._of_run(slot, starter, now), still=still))

    def moved(self, slot: SimulatedSlot, starter: Starter, stage: str, now: float) -> None:
        """Report a stage of a job's file transfer."""
        if starter.kind is ClaimKind.SCHEDD:
            self._say(ev.FilesMoved(**self._of_run(slot, starter, now), stage=stage))

    def measured(self, slot: SimulatedSlot, starter: Starter, attributes: ClassAd, now: float) -> None:
        """Report a job's usage."""
        if starter.kind is ClaimKind.SCHEDD:
            self._say(ev.RunMeasured(**self._of_run(slot, starter, now), attributes=attributes))

    def saved(self, slot: SimulatedSlot, starter: Starter, number: int, attributes: ClassAd, now: float) -> None:
        """Report a checkpoint, the `number`-th one of the run."""
        if starter.kind is ClaimKind.SCHEDD:
            about = self._of_run(slot, starter, now)
            self._say(ev.RunSaved(**about, checkpoints=number, attributes=attributes))

    def ended(self, slot: SimulatedSlot, starter: Starter, report: ExitReport, now: float) -> None:
        """Report the end of a run, from its starter."""
        if starter.kind is ClaimKind.SCHEDD:
            claim_id = starter.claim_id.text
            self._report(news.run_ended(slot, report, node=self._node, claim_id=claim_id, at=now))

    def lost(self, slot: SimulatedSlot, starter: Starter, now: float) -> None:
        """Report a run whose end was not observed."""
        if starter.kind is ClaimKind.SCHEDD and slot.run_name not in self.reports:
            claim_id, began = starter.claim_id.text, starter.state.started_at is not None
            self._report(news.run_lost(slot.run_name, node=self._node, claim_id=claim_id, at=now, began=began))

    def _report(self, report: ev.RunEnded) -> None:
        self._running.pop(report.run, None)
        self.reports[report.run] = report
        self._say(report)


__all__ = ["QueueLink"]

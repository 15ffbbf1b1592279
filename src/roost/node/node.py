"""A machine at work: events in, orders out.

Everything that happens goes through one inbox and is handled to the end before the next: no step is taken within
another. An event for a slot may lead to one for its starter and the other way round; both wait their turn. What leaves
the machine is collected in `orders`, which the caller takes after each call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.reasons import Refusal
from roost.model.slots import SlotId
from roost.model.starter import Cause, Ending, ExitReport, OrderedBy, StarterVacate
from roost.node import orders as out
from roost.node.partition import Partition
from roost.node.plan import NodePlan, Reading
from roost.node.polling import Polling
from roost.node.slots import Run, Slot
from roost.startd import draining
from roost.startd.draining import DrainOrder, MachineDraining
from roost.startd.machine import step as slot_step
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.publication import slot_attributes
from roost.startd.retirement import remaining_s
from roost.startd.slot_state import SlotState, new_slot
from roost.starter.endings import cause_of
from roost.starter.machine import ImpossibleEvent, begin
from roost.starter.machine import Step as StarterStep
from roost.starter.machine import step as starter_step
from roost.starter.starter_ad import static_shares
from roost.starter.starter_state import Launch

#: What a queue hears of a run that is gone without a word.
_STARTER_LOST: Final = Cause(
    ending=Ending.EVICT,
    code=StarterVacate.STARTER_ERROR,
    text="the starter ended without a report",
    by=OrderedBy.STARTER,
)


class Node:
    """The slots of one machine."""

    def __init__(self, plan: NodePlan, *, birth: int, key: bytes, now: float) -> None:
        self.plan = plan
        self.birth = birth
        self._key = key
        self.orders: list[out.Order] = []
        self._inbox: deque[Callable[[float], None]] = deque()
        self._busy = False
        self.draining = MachineDraining()
        self.backfill_running = False
        self.partition = Partition(self)
        self.polling = Polling(self)
        self.slots: list[Slot] = [self._fresh(slot, now) for slot in plan.slots.ids]

    def _fresh(self, slot: SlotId, now: float) -> Slot:
        ad = self.plan.fixed_ad(self.plan.slots, slot)
        name = self.plan.identity.name_of(slot)
        kind = self.plan.slots.kind(slot)
        state = new_slot(name, kind=kind, ids=self.ids(slot.number), now=now, ad=ad)
        return Slot(slot, self.plan.policies[slot.number], ad, state)

    def ids(self, block: int) -> ClaimIdSource:
        """The claim ids of one slot."""
        return ClaimIdSource(address=f"<{self.plan.identity.machine}>", birth=self.birth, block=block, key=self._key)

    def take_orders(self) -> list[out.Order]:
        """What is to be done, and forget it."""
        taken, self.orders = self.orders, []
        return taken

    # -- finding -------------------------------------------------------------------------------------

    def slot(self, slot: SlotId) -> Slot | None:
        """The slot of that number."""
        return next((each for each in self.slots if each.id == slot), None)

    def slot_of(self, claim_id: str) -> Slot | None:
        """The slot that has a claim, or offers it."""
        for slot in self.slots:
            state = slot.state
            for claim in (state.claim, state.preempting, state.pre_preempting):
                if claim is not None and claim.id.text == claim_id:
                    return slot
        return None

    def run_of(self, name: str) -> tuple[Slot, Run] | None:
        """The slot and the starter of a run."""
        for slot in self.slots:
            if slot.run is not None and slot.run.name == name:
                return slot, slot.run
        return None

    def runs(self) -> dict[str, str]:
        """Claim id to run, for what runs."""
        return {slot.run.claim_id: slot.run.name for slot in self.slots if slot.run is not None}

    def claims_of(self, schedd: str) -> list[str]:
        """The claims that a queue holds."""
        found = []
        for slot in self.slots:
            request = slot.state.claim.request
            if request is not None and request.schedd == schedd and slot.state.claim.granted_at is not None:
                found.append(slot.state.claim.id.text)
        return found

    # -- what others want ----------------------------------------------------------------------------

    def claim(self, slot_name: str, claim_id: str, request: ClaimRequest, now: float) -> None:
        """A queue asks for a slot."""
        slot = self.slot_of(claim_id)
        if slot is None or slot.name != slot_name:
            self.orders.append(
                out.ClaimReply(
                    schedd=request.schedd,
                    reply_to=request.reply_to,
                    accepted=False,
                    refusal=str(Refusal.UNKNOWN_CLAIM),
                    claim_id=claim_id,
                    slot=slot_name,
                )
            )
            return
        event = ev.ClaimRequested(claim_id=_id_of(slot, claim_id), request=replace(request, reply_to=request.reply_to))
        self.tell(slot, event, now)

    def activate(self, claim_id: str, run: str, job_ad: ClassAd, now: float) -> None:
        """A queue wants a job to run on its claim."""
        slot = self.slot_of(claim_id)
        if slot is not None and slot.run is not None and slot.run.name == run:
            return
        request = None if slot is None else slot.state.claim.request
        if slot is None or request is None:
            self.orders.append(
                out.RunReply(schedd="", claim_id=claim_id, run=run, accepted=False, refusal=str(Refusal.UNKNOWN_CLAIM))
            )
            return
        slot.asked = run
        event = ev.ActivationRequested(claim_id=_id_of(slot, claim_id), job_ad=job_ad, reply_to=run)
        self.tell(slot, event, now)

    def about_claim(self, claim_id: str, make: Callable[[ClaimId], ev.Event], now: float) -> bool:
        """A holder's word about its claim; False if no slot knows the claim."""
        slot = self.slot_of(claim_id)
        if slot is None:
            return False
        self.tell(slot, make(_id_of(slot, claim_id)), now)
        return True

    def end_run(self, run: str, cause: Cause, *, hard: bool, now: float) -> bool:
        """The queue wants a run to end; False if there is no such run."""
        found = self.run_of(run)
        if found is None:
            return False
        slot, held = found
        event: sev.StarterEvent = sev.HardKillOrdered(cause=cause) if hard else sev.SoftKillOrdered(cause=cause)
        self.tell_starter(slot, held, event, now)
        return True

    def drain(self, order: DrainOrder, now: float) -> Refusal | None:
        """Empty the machine; why not, if that is refused."""
        found = draining.request(self.draining, order, self._states, self._policies, now)
        return self._drained(found, now)

    def cancel_drain(self, request_id: str, now: float) -> Refusal | None:
        """Go on; why not, if that is refused."""
        return self._drained(draining.cancel(self.draining, request_id, now), now)

    def _drained(self, found: draining.Drain, now: float) -> Refusal | None:
        self.draining = found.draining
        for event in found.events:
            for slot in list(self.slots):
                self.tell(slot, event, now)
        if found.daemon is not None:
            self.orders.append(out.Daemon(what=found.daemon))
        if found.events:
            self.orders.append(out.Publish())
        return found.refusal

    @property
    def _states(self) -> list[SlotState]:
        return [slot.state for slot in self.slots]

    @property
    def _policies(self) -> dict[str, SlotPolicy]:
        return {slot.name: slot.policy for slot in self.slots}

    def every_slot(self, event: ev.Event, now: float) -> None:
        """Something has happened to all slots."""
        for slot in list(self.slots):
            self.tell(slot, event, now)

    # -- polls ---------------------------------------------------------------------------------------

    def poll(self, reading: Reading, now: float) -> None:
        """Sensors have been read: all slots look at their policy."""
        self.polling.poll(reading, now)
        self._drained(draining.progress(self.draining, self._states, now), now)

    def facts(self, now: float) -> ev.MachineFacts:
        """What all slots are told with a poll."""
        return draining.facts(self.draining, self._states, self._policies, now, backfill_running=self.backfill_running)

    def ad(self, slot: Slot, now: float) -> ClassAd:
        """The whole ad of a slot, as the pool sees it."""
        ad = slot.state.ad.copy()
        for name, value in draining.attributes(self.draining, self._states, self._policies, now).items():
            ad[name] = value
        own = slot_attributes(slot.state, slot.policy, now)
        for name in own:
            ad.put(name, own.cell(name.lower()))  # type: ignore[arg-type]
        return ad

    # -- steps ---------------------------------------------------------------------------------------

    def tell(self, slot: Slot, event: ev.Event, now: float) -> None:
        """Something has happened to a slot."""
        self._inbox.append(lambda then: self._step_slot(slot, event, then))
        self._go_on(now)

    def tell_starter(self, slot: Slot, run: Run, event: sev.StarterEvent, now: float) -> None:
        """Something has happened to a starter."""
        self._inbox.append(lambda then: self._step_starter(slot, run, event, then))
        self._go_on(now)

    def starter_event(self, run: str, event: sev.StarterEvent, now: float) -> bool:
        """Something has happened to the starter of a run; False if there is none."""
        found = self.run_of(run)
        if found is None:
            return False
        self.tell_starter(*found, event, now)
        return True

    def _go_on(self, now: float) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            while self._inbox:
                self._inbox.popleft()(now)
        finally:
            self._busy = False

    def _step_slot(self, slot: Slot, event: ev.Event, now: float) -> None:
        if slot.state.deleted:
            return
        taken = slot_step(slot.state, event, now, slot.policy)
        before, slot.state = slot.state, taken.state
        if before.claim is not taken.state.claim:
            self.partition.account(slot, before)
        self.orders += [out.Note(slot=slot.name, what=each) for each in taken.transitions]
        for effect in taken.effects:
            self._perform(slot, before, effect, now)

    def _perform(self, slot: Slot, before: SlotState, effect: ef.Effect, now: float) -> None:
        match effect:
            case ef.SetTimer(timer=timer, at=at):
                self.orders.append(out.Wake(slot=slot.id, timer=timer, at=at))
            case ef.CancelTimer(timer=timer):
                self.orders.append(out.Wake(slot=slot.id, timer=timer, at=None))
            case ef.PublishAd():
                self.orders.append(out.Publish(slot=slot.id))
            case ef.SendClaimReply():
                self._reply_claim(slot, before, effect, now)
            case ef.SendActivationReply():
                self._reply_run(slot, before, effect)
            case ef.TellSchedd(schedd=schedd, claim_id=claim_id, reason=reason, cause=cause):
                code = 0 if cause is None else int(cause)
                text = str(reason) if cause is None else cause.text
                self.orders.append(out.ClaimOver(schedd=schedd, claim_id=claim_id.text, reason=text, code=code))
            case ef.ActivateStarter():
                self._begin_run(slot, effect, now)
            case ef.SplitSlot():
                self.partition.split(slot, effect, now)
            case ef.DeleteDynamicSlot():
                self.partition.delete(slot)
            case ef.CountBadput(run_s=run_s):
                self.draining = draining.count_badput(self.draining, run_s, self.partition.cpus(slot))
            case ef.Warn(expression=expression, text=text):
                self.orders.append(out.Note(slot=slot.name, what=f"{expression}: {text}"))
            case ef.SendDeactivationReply() | ef.SendAliveReply():
                pass
            case (
                ef.RunBenchmarks()
                | ef.CancelBenchmarks()
                | ef.StartBackfill()
                | ef.KillBackfill()
                | ef.FetchWork()
                | ef.ReplyFetch()
                | ef.EvictFetched()
            ):
                self.orders.append(out.OwnWork(slot=slot.id, effect=effect))
            case _:
                self._order_starter(slot, effect, now)

    def _order_starter(self, slot: Slot, effect: ef.Effect, now: float) -> None:
        run = slot.run
        if run is None:
            return
        event: sev.StarterEvent
        match effect:
            case ef.SuspendJob():
                event = sev.SuspendOrdered()
            case ef.ContinueJob():
                event = sev.ContinueOrdered()
            case ef.SoftKill(notice=notice):
                left_s = remaining_s(Inputs(slot.state, slot.policy, now))
                event = sev.SoftKillOrdered(cause=cause_of(notice), retirement_s=left_s)
            case ef.HardKill(notice=notice):
                event = sev.HardKillOrdered(cause=cause_of(notice))
            case ef.CheckpointJob():
                event = sev.CheckpointOrdered()
            case ef.KillFamily():
                self.orders.append(out.KillRun(run=run.name))
                return
            case _:
                raise AssertionError(f"an order that nobody carries out: {effect}")
        self.tell_starter(slot, run, event, now)

    def _reply_claim(self, slot: Slot, before: SlotState, effect: ef.SendClaimReply, now: float) -> None:
        schedd, _, reply_to = effect.reply_to.partition("|")
        self.orders.append(
            out.ClaimReply(
                schedd=schedd,
                reply_to=reply_to,
                accepted=effect.accepted,
                refusal="" if effect.refusal is None else str(effect.refusal),
                claim_id=slot.state.claim.id.text if effect.accepted else reply_to,
                slot=slot.name,
                slot_ad=self.ad(slot, now) if effect.accepted else None,
            )
        )

    def _reply_run(self, slot: Slot, before: SlotState, effect: ef.SendActivationReply) -> None:
        request = slot.state.claim.request or before.claim.request
        self.orders.append(
            out.RunReply(
                schedd="" if request is None else request.schedd,
                claim_id=before.claim.id.text,
                run=effect.reply_to,
                accepted=effect.accepted,
                refusal="" if effect.refusal is None else str(effect.refusal),
            )
        )

    # -- starters ------------------------------------------------------------------------------------

    def _begin_run(self, slot: Slot, effect: ef.ActivateStarter, now: float) -> None:
        policy = self.plan.starters[slot.id.number]
        request = slot.state.claim.request
        activation = slot.state.claim.activation
        launch = Launch(
            job_ad=effect.job_ad,
            slot=slot.name,
            shares=static_shares(slot.state.ad),
            vacate_pledge_s=None if activation is None else float(activation.vacate_pledge_s),
            retirement_s=remaining_s(Inputs(slot.state, slot.policy, now)),
            from_queue=effect.kind is ClaimKind.SCHEDD,
        )
        begun = begin(launch, now, policy)
        name = slot.asked or effect.claim_id.public
        run = Run(name, effect.claim_id.text, "" if request is None else request.schedd, policy, begun.state)
        slot.run, slot.asked = run, ""
        self._carry_out(slot, run, begun, now)

    def _step_starter(self, slot: Slot, run: Run, event: sev.StarterEvent, now: float) -> None:
        if slot.run is not run:
            return
        try:
            taken = starter_step(run.state, event, now, run.policy)
        except ImpossibleEvent as problem:
            self.orders.append(out.Note(slot=slot.name, what=str(problem), run=run.name))
            return
        run.state = taken.state
        self._carry_out(slot, run, taken, now)

    def _carry_out(self, slot: Slot, run: Run, taken: StarterStep, now: float) -> None:
        self.orders += [out.Note(slot=slot.name, what=each, run=run.name) for each in taken.transitions]
        for effect in taken.effects:
            self._starter_order(slot, run, effect, now)

    def _starter_order(self, slot: Slot, run: Run, effect: sef.StarterEffect, now: float) -> None:
        about = {"schedd": run.schedd, "claim_id": run.claim_id, "run": run.name, "at": now}
        match effect:
            case sef.ReportUsage(attributes=attributes):
                self.tell(slot, ev.JobUpdated(attributes=attributes), now)
                self.orders.append(out.RunMeasured(attributes=attributes, **about))  # type: ignore[arg-type]
            case sef.ReportEviction(job_state=job_state):
                self.tell(slot, ev.StarterEvicted(job_state=job_state), now)
            case sef.ReportExit(report=report):
                self.orders.append(out.RunOver(slot=slot.name, report=report, **about))  # type: ignore[arg-type]
                self.tell(slot, ev.JobExited(), now)
            case sef.Quit():
                self._quit(slot, run, now)
            case sef.Warn(about=what, text=text):
                self.orders.append(out.Note(slot=slot.name, what=f"{what}: {text}", run=run.name))
            case sef.SuspendProcesses() | sef.ContinueProcesses():
                self.orders.append(out.ForStarter(run=run.name, effect=effect))
                still = isinstance(effect, sef.SuspendProcesses)
                self.orders.append(out.RunStood(still=still, **about))  # type: ignore[arg-type]
            case _:
                self.orders.append(out.ForStarter(run=run.name, effect=effect))

    def _quit(self, slot: Slot, run: Run, now: float) -> None:
        slot.run = None
        self.orders.append(out.StarterDone(run=run.name))
        self.tell(slot, ev.StarterExited(), now)

    def run_started(self, run: str, number: int, pid: int, now: float) -> None:
        """The program of a run runs."""
        found = self.run_of(run)
        if found is None:
            return
        slot, held = found
        self.tell_starter(slot, held, sev.JobStarted(run=number, pid=pid), now)
        self.orders.append(
            out.RunStarted(schedd=held.schedd, claim_id=held.claim_id, run=run, slot=slot.name, pid=pid, at=now)
        )

    def run_vanished(self, run: str, now: float) -> None:
        """Nothing is left of a run, and nobody saw its end."""
        found = self.run_of(run)
        if found is not None:
            slot, held = found
            report = ExitReport(
                ending=Ending.EVICT,
                cause=_STARTER_LOST,
                started=held.state.started_at is not None,
                attributes=ClassAd(),
            )
            self._starter_order(slot, held, sef.ReportExit(report=report), now)
            self._quit(slot, held, now)


def _id_of(slot: Slot, claim_id: str) -> ClaimId:
    state = slot.state
    for claim in (state.claim, state.preempting, state.pre_preempting):
        if claim is not None and claim.id.text == claim_id:
            return claim.id
    raise AssertionError("the slot was found by this claim")

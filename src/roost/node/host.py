"""The slots of a host with their starters and dynamic slots.

All events go through one inbox, and each is handled completely before the next: steps are not nested. Effects from one
core to another are resolved here: a slot's orders to its starter, a starter's reports to its slot, and the creation and
deletion of slots. All other effects are returned as `Out`s to be carried out; their results come back as events.

The daemon may die between any two orders: the first has then been carried out and the others not.

What it does not do: read a clock or sensors (`poll` receives the ads), keep timers, or send messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.claims import ClaimKind
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.reasons import Refusal
from roost.model.slots import SlotShape
from roost.node.drains import Drains
from roost.node.dynamic_slots import DynamicSlots
from roost.node.host_plan import Division, SlotPlan
from roost.node.host_slots import HostSlot, OfferLeftovers, Starter
from roost.node.relayouts import Relayouts
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.machine import SlotStep, step
from roost.startd.policy_inputs import Inputs
from roost.startd.retirement import remaining_s
from roost.startd.slot_state import SlotState, new_slot
from roost.startd.states import CLEANING
from roost.starter import machine as starter_machine
from roost.starter.endings import cause_of
from roost.starter.policy_inputs import EVICT
from roost.starter.scripts import breaks_slot, queue_script, script_cause
from roost.starter.starter_state import Launch

S = TypeVar("S", bound=HostSlot)


@dataclass(slots=True)
class Out(Generic[S]):
    """An effect to be carried out. Never modified; not frozen, because very many are created and that is faster."""

    slot: S
    effect: ef.Effect | sef.StarterEffect | OfferLeftovers
    #: The starter that ordered it; None for the slot itself.
    starter: Starter | None = None


class Observer(Protocol):
    """Notified of every step before its effects are carried out."""

    def stepped(self, slot: Any, before: SlotState, taken: SlotStep, now: float) -> None:
        """A slot has taken a step."""

    def starter_stepped(self, slot: Any, starter: Starter, taken: starter_machine.StarterStep, now: float) -> None:
        """A starter has taken a step."""


class Host(Generic[S]):
    """One execute host."""

    __slots__ = (
        "_ids",
        "_inbox",
        "_make",
        "_orders",
        "_outs",
        "backfill_running",
        "drains",
        "dynamic_slots",
        "ended",
        "observer",
        "relayouts",
        "slots",
    )  # fmt: skip

    def __init__(
        self,
        plans: Sequence[SlotPlan],
        *,
        ids: Callable[[int], ClaimIdSource],
        now: float,
        make: Callable[[SlotPlan, SlotState, int], S],
        observer: Observer,
        division: Division | None = None,
    ) -> None:
        #: Block to a source of claim ids; no block is requested twice.
        self._ids = ids
        self._make = make
        self.observer = observer
        self._orders = 0
        self._inbox: deque[Callable[[float], None]] = deque()
        self._outs: list[Out[S]] = []
        self.slots: list[S] = [
            self.made(each, new_slot(each.name, kind=each.kind, ids=ids(each.id.number), now=now, ad=each.ad))
            for each in plans
        ]
        self.drains = Drains(self)
        self.dynamic_slots = None if division is None else DynamicSlots(self, division)
        self.relayouts = None if self.dynamic_slots is None else Relayouts(self, self.dynamic_slots)
        self.backfill_running = False
        #: What the daemon does after a drain; None for nothing.
        self.ended: OnCompletion | None = None

    def made(self, plan: SlotPlan, state: SlotState) -> S:
        """A new host slot, with an order number that no slot of the host has used."""
        self._orders += 1
        return self._make(plan, state, self._orders)

    def ids(self, block: int) -> ClaimIdSource:
        """The claim ids of a slot."""
        return self._ids(block)

    # -- events ----------------------------------------------------------------------------------

    def address(self, claim_id: ClaimId, event: ev.Event, now: float) -> list[Out[S]]:
        """Deliver a message about a claim to the slot that has it; for an unknown claim, to any slot."""
        return self.receive(self.slot_of(claim_id) or self.slots[0], event, now)

    def receive(self, slot: S, event: ev.Event, now: float) -> list[Out[S]]:
        """Deliver an event to a slot."""
        self._step(slot, event, now)
        return self._settled(now)

    def activate(self, slot: S, run: str, event: ev.ActivationRequested, now: float) -> list[Out[S]]:
        """A queue requests a run on its claim. A repeated request counts once.

        The queue learns of the end of the previous run as soon as that is reported. If the starter is still cleaning
        up, which takes as long as removing the job's files, the order waits until the starter is gone.
        """
        if slot.run_name == run:
            return []
        if slot.state.pair == CLEANING and slot.state.claim.id.matches(event.claim_id):
            slot.next_run = run, event
            return []
        self._activate_run(slot, run, event, now)
        return self._settled(now)

    def receive_starter(self, slot: S, starter: Starter, event: sev.StarterEvent, now: float) -> list[Out[S]]:
        """Deliver an event to a starter."""
        self._step_starter(slot, starter, event, now)
        return self._settled(now)

    def starter_lost(self, slot: S, starter: Starter, now: float) -> list[Out[S]]:
        """A starter and all processes of its job are gone without a report."""
        if starter.alive:
            self._drop(slot, starter)
        return self._settled(now)

    def backfill(self, running: bool, now: float) -> list[Out[S]]:
        """The backfill client has started or ended."""
        self.backfill_running = running
        self.tell_all(ev.BackfillStarted() if running else ev.BackfillExited())
        return self._settled(now)

    def drain(self, order: DrainOrder, now: float) -> tuple[list[Out[S]], Refusal | None]:
        """Drain the host, or return why not."""
        refusal = self.drains.request(order, now)
        return self._settled(now), refusal

    def cancel_drain(self, request_id: str, now: float) -> tuple[list[Out[S]], Refusal | None]:
        """Cancel a drain, "" for the current one, or return why not."""
        refusal = self.drains.cancel(request_id, now)
        return self._settled(now), refusal

    def poll(self, sense: Callable[[S], ClassAd], now: float) -> list[Out[S]]:
        """Poll every slot in turn. `sense` returns the ad of each as it is after the preceding slots were polled."""
        facts = self.drains.facts(now)
        for slot in list(self.slots):
            if not slot.state.deleted:
                self._step(slot, ev.Polled(ad=sense(slot), machine=facts), now)
                self._go_on(now)
        self.drains.progress(now)
        return self._settled(now)

    def resumed(
        self, slot: S, taken: SlotStep, of_starter: starter_machine.StarterStep | None, now: float
    ) -> list[Out[S]]:
        """Resume a slot, and the starter of its job if that still exists, from their records."""
        starter = slot.starter
        if starter is not None and of_starter is not None:
            starter.state = of_starter.state
            self._order_of_starter(slot, starter, of_starter, now)
        self._take(slot, taken, now)
        return self._settled(now)

    def slot_of(self, claim_id: ClaimId) -> S | None:
        """The slot that has a claim or offers it."""
        for slot in self.slots:
            state = slot.state
            for claim in (state.claim, state.preempting, state.pre_preempting):
                if claim is not None and (claim.id is claim_id or claim.id == claim_id):
                    return slot
        return None

    # -- the inbox ---------------------------------------------------------------------------------------

    def tell(self, slot: S, event: ev.Event) -> None:
        """Queue an event for a slot, after the current work."""
        self._inbox.append(lambda now: self._step(slot, event, now))

    def tell_all(self, event: ev.Event) -> None:
        """Queue an event for every slot, after the current work."""
        for slot in self.slots:
            self.tell(slot, event)

    def later(self, act: Callable[[float], None]) -> None:
        """Queue an action after the current work."""
        self._inbox.append(act)

    def out(self, slot: S, effect: ef.Effect | sef.StarterEffect | OfferLeftovers) -> None:
        """Emit an effect to be carried out."""
        self._outs.append(Out(slot, effect))

    def _tell_starter(self, slot: S, starter: Starter, event: sev.StarterEvent) -> None:
        self._inbox.append(lambda now: self._step_starter(slot, starter, event, now))

    def _go_on(self, now: float) -> None:
        inbox = self._inbox
        while inbox:
            inbox.popleft()(now)

    def relaid(self, wanted: Iterable[SlotShape], now: float) -> list[Out[S]]:
        """Change the static and partitionable slots of the host."""
        assert self.relayouts is not None, "only a host with dynamic slots can change its layout"
        self.relayouts.begin(wanted)
        return self._settled(now)

    def receive_within(self, slot: S, event: ev.Event, now: float) -> None:
        """Deliver an event to a slot as part of the current work."""
        self._step(slot, event, now)

    def _settled(self, now: float) -> list[Out[S]]:
        self._go_on(now)
        if self.drains.draining.order is not None:
            self.drains.look_for_originals(now)
            self._go_on(now)
        if self.relayouts is not None and self.relayouts.under_way:
            self.relayouts.progress(now)
            self._go_on(now)
        outs, self._outs = self._outs, []
        return outs

    # -- slots ---------------------------------------------------------------------------------------------

    def _step(self, slot: S, event: ev.Event, now: float) -> None:
        before = slot.state
        if before.deleted:
            return
        self._take(slot, step(before, event, now, slot.plan.policy), now)

    def _take(self, slot: S, taken: SlotStep, now: float) -> None:
        before, slot.state = slot.state, taken.state
        if self.dynamic_slots is not None and before.claim is not taken.state.claim:
            self.dynamic_slots.account(slot, before)
        self.observer.stepped(slot, before, taken, now)
        for effect in taken.effects:
            resolve = _OF_SLOTS.get(type(effect))
            if resolve is None:
                self._outs.append(Out(slot, effect))
            else:
                resolve(self, slot, effect, now)

    def _split(self, slot: S, effect: ef.SplitSlot, now: float) -> None:
        assert self.dynamic_slots is not None, "only a host with dynamic slots has partitionable slots"
        self.dynamic_slots.split(slot, effect, now)

    def _delete(self, slot: S, effect: ef.DeleteSlot, now: float) -> None:
        assert self.dynamic_slots is not None, "only a host with dynamic slots has slots that go"
        self.dynamic_slots.delete(slot)

    def _count_badput(self, slot: S, effect: ef.CountBadput, now: float) -> None:
        self.drains.count(effect.run_s, slot.plan.cpus)

    def _activate(self, slot: S, effect: ef.ActivateStarter, now: float) -> None:
        activation, policy = slot.state.claim.activation, slot.plan.starter
        evicts = not policy.expressions[EVICT].is_literal
        launch = Launch(
            job_ad=effect.job_ad,
            slot=slot.plan.name,
            shares=slot.shares,
            vacate_pledge_s=None if activation is None else float(activation.vacate_pledge_s),
            # Only a starter that evicts a job by itself needs it; all other orders include it.
            retirement_s=self._retirement_s(slot, now) if evicts else 0.0,
            from_queue=effect.kind is ClaimKind.SCHEDD,
            context=slot.context,
        )
        begun = starter_machine.begin(launch, now, policy)
        starter = slot.starter = Starter(effect, begun.state, policy)
        self._order_of_starter(slot, starter, begun, now)

    def _retirement_s(self, slot: S, now: float) -> float:
        return remaining_s(Inputs(slot.state, slot.plan.policy, now))

    def _soft_kill(self, slot: S, effect: ef.SoftKill, now: float) -> None:
        left_s = self._retirement_s(slot, now)
        self._order(slot, sev.SoftKillOrdered(cause=cause_of(effect.notice), retirement_s=left_s))

    def _hard_kill(self, slot: S, effect: ef.HardKill, now: float) -> None:
        self._order(slot, sev.HardKillOrdered(cause=cause_of(effect.notice)))

    def _suspend(self, slot: S, effect: ef.SuspendJob, now: float) -> None:
        self._order(slot, sev.SuspendOrdered())

    def _continue(self, slot: S, effect: ef.ContinueJob, now: float) -> None:
        self._order(slot, sev.ContinueOrdered())

    def _order(self, slot: S, event: sev.StarterEvent) -> None:
        if slot.starter is not None:
            self._tell_starter(slot, slot.starter, event)

    def _checkpoint(self, slot: S, effect: ef.CheckpointJob, now: float) -> None:
        # State of standard-universe jobs is saved without the starter's core.
        self._outs.append(Out(slot, effect, slot.starter))
        self._order(slot, sev.CheckpointOrdered())

    # -- starters ------------------------------------------------------------------------------------------

    def _step_starter(self, slot: S, starter: Starter, event: sev.StarterEvent, now: float) -> None:
        if not starter.alive:
            return
        taken = starter_machine.step(starter.state, event, now, starter.policy)
        starter.state = taken.state
        self.observer.starter_stepped(slot, starter, taken, now)
        self._order_of_starter(slot, starter, taken, now)

    def _order_of_starter(self, slot: S, starter: Starter, taken: starter_machine.StarterStep, now: float) -> None:
        for effect in taken.effects:
            self._outs.append(Out(slot, effect, starter))
            match effect:
                case sef.ReportUsage(attributes=attributes):
                    self.tell(slot, ev.JobUpdated(attributes=attributes))
                case sef.ReportEviction(job_state=job_state):
                    self.tell(slot, ev.StarterEvicted(job_state=job_state))
                case sef.ReportExit(report=report):
                    self.tell(slot, ev.JobExited(started=report.started))
                    for failure in report.script_failures:
                        # A failed script of a queue instance is the cell's concern: the instance accepts no more jobs,
                        # but the slot does.
                        of_slot = not queue_script(starter.state, failure.point)
                        if of_slot and breaks_slot(failure.status):
                            cause = script_cause(failure.point, failure.status)
                            self._break(slot, "" if cause is None else cause.text)
                case sef.Quit():
                    self._drop(slot, starter)

    def _break(self, slot: S, text: str) -> None:
        """Close a slot and all slots of the same parent, which share its prolog and epilog."""
        for each in self.slots:
            if each.plan.id.number == slot.plan.id.number:
                self.tell(each, ev.SlotBroken(text=text))

    def _activate_run(self, slot: S, run: str, event: ev.ActivationRequested, now: float) -> None:
        before = slot.run_name
        if slot.starter is None:
            slot.run_name = run
        slot.context = event.context
        self._step(slot, event, now)
        slot.context = None
        if slot.starter is None:
            # The order was refused: a repeated one is judged and answered again.
            slot.run_name = before

    def _drop(self, slot: S, starter: Starter) -> None:
        starter.alive = False
        if slot.starter is starter:
            slot.starter = None
            self.tell(slot, ev.StarterExited())
            waiting, slot.next_run = slot.next_run, None
            if waiting is not None:
                self.later(lambda now: self._activate_run(slot, *waiting, now))


#: Handlers of slot effects that stay within the host; all others go to other daemons.
_OF_SLOTS: Final[dict[type[Any], Callable[[Any, Any, Any, float], None]]] = {
    ef.SplitSlot: Host._split,
    ef.DeleteSlot: Host._delete,
    ef.CountBadput: Host._count_badput,
    ef.ActivateStarter: Host._activate,
    ef.SoftKill: Host._soft_kill,
    ef.HardKill: Host._hard_kill,
    ef.SuspendJob: Host._suspend,
    ef.ContinueJob: Host._continue,
    ef.CheckpointJob: Host._checkpoint,
}

"""A simulated execute machine: the real host core (`node`), its events, and its effects carried out.

Orders about a job go to its run (`run`), those about the machine's own work to `own_work`; `polling` decides when the
machine polls its slots. Each event is processed to the end before the next one.

A machine may die between any two effects. Everything that runs on it is then gone, and it starts over; it still has the
reports for its queue (`queue_link`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from random import Random
from typing import Any, Final, NamedTuple

from roost.base import fast_records
from roost.base.records import replace
from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.identifiers import ClaimIdSource
from roost.model.reasons import Refusal
from roost.model.slots import SlotKind
from roost.node.host import Host, Out
from roost.node.host_plan import SlotPlan
from roost.node.host_slots import HostSlot, OfferLeftovers, Starter
from roost.sim.engine import Engine
from roost.sim.machine.own_work import OwnWork
from roost.sim.machine.plan import MachinePlan
from roost.sim.machine.polling import Polling
from roost.sim.machine.process import Process
from roost.sim.machine.queue_link import QueueLink
from roost.sim.machine.run import REPEATED, Run
from roost.sim.machine.watcher import Watcher
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.layout.change import PresentLayout
from roost.startd.machine import SlotStep
from roost.startd.slot_state import SlotState
from roost.starter.machine import StarterStep


class SimulatedSlot(HostSlot):
    """A slot of a running machine."""

    __slots__ = ("benchmark", "cuts", "machine", "rejected", "run", "timers")

    def __init__(self, plan: SlotPlan, state: SlotState, order: int, machine: Machine) -> None:
        super().__init__(plan, state, order)
        self.machine = machine
        self.run: Run | None = None
        #: Number of the only current setting of each timer.
        self.timers = dict.fromkeys(ev.Timer, 0)
        self.benchmark = 0
        #: Requests that did not match: the request to the time of the poll at which it was evaluated, and the verdict.
        self.rejected: dict[Hashable, tuple[float, int]] = {}
        #: Number of changes of its sizes.
        self.cuts = 0

    def resized(self, plan: SlotPlan) -> None:
        """Note a change of its sizes."""
        super().resized(plan)
        self.cuts += 1
        self.rejected.clear()

    @property
    def process(self) -> Process | None:
        """The process of its run; None while there is none."""
        return None if self.run is None else self.run.process


class Deaths(NamedTuple):
    """How daemons and starters of a machine die by themselves."""

    #: The random stream; None if nothing dies.
    chance: Random | None = None
    #: Probability that a life of the daemon ends between two effects, and that a starter dies.
    cuts: float = 0.0
    crashes: float = 0.0


NO_DEATHS: Final = Deaths()


class Machine:
    """A running machine."""

    __slots__ = (
        "_busy",
        "_chance",
        "_crashes",
        "_cut_in",
        "_cuts",
        "_pending",
        "_restless",
        "alive",
        "engine",
        "exhaustive",
        "host",
        "index",
        "lives",
        "own_work",
        "plan",
        "polling",
        "queue_link",
        "watcher",
    )  # fmt: skip

    def __init__(
        self,
        plan: MachinePlan,
        index: int,
        engine: Engine,
        watcher: Watcher,
        *,
        exhaustive: bool = False,
        deaths: Deaths = NO_DEATHS,
    ) -> None:
        self.plan = plan
        self.index = index
        self.engine = engine
        self.watcher = watcher
        # Slots that show attributes to each other, and latches other than CpuBusy, are not tracked: such machines are
        # polled at every instant of the grid.
        self.exhaustive = exhaustive or bool(plan.neighbour_names or plan.latch_names)
        self.alive = False
        self.lives = 0
        #: Effects not yet carried out.
        self._pending: deque[Out[SimulatedSlot]] = deque()
        self._busy = False
        #: Runs whose plans must be made again once the event in progress has been processed.
        self._restless: dict[Run, None] = {}
        self._chance, self._cuts, self._crashes = deaths
        self._cut_in: int | None = None
        self.own_work = OwnWork(self)
        self.queue_link = QueueLink(self)
        self.polling = Polling(self)
        self.begin(engine.now)

    @property
    def slots(self) -> list[SimulatedSlot]:
        """All current slots, in order."""
        return self.host.slots

    @property
    def present(self) -> PresentLayout | None:
        """The current slots, as input of a following plan; None for a machine without accounts."""
        return None if self.host.relayouts is None else self.host.relayouts.present

    @property
    def polls(self) -> int:
        """Number of polls that happened."""
        return self.polling.count

    # -- life and death ------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """Start the daemon, with fresh slots."""
        self.alive = True
        self.lives += 1
        self._pending.clear()
        self.own_work.begin()
        address, birth, key = f"<{self.plan.name}>", int(now), f"{self.lives}".encode()
        self.host: Host[SimulatedSlot] = Host(
            self.plan.slots,
            ids=lambda block: ClaimIdSource(address=address, birth=birth, block=block, key=key),
            now=now,
            make=lambda plan, state, order: SimulatedSlot(plan, state, order, self),
            observer=self,
            division=self.plan.division,
        )
        self._cut_in = None
        if self._chance is not None and self._chance.random() < self._cuts:
            self._cut_in = self._chance.randrange(1, 200)
        self.polling.begin(now)
        self.queue_link.begin(now)

    def die(self, now: float) -> None:
        """Kill the daemon and everything below it."""
        self.alive = False
        self._pending.clear()
        self._restless.clear()
        self.polling.end()
        for slot in self.slots:
            if slot.run is not None:
                slot.run.vanish(now)

    def reconfigure(self, plan: MachinePlan, now: float) -> None:
        """Read the configuration again: policies change, and so does what static slots publish.

        Existing starters keep the policy with which they were started. A machine that keeps accounts adopts the layout
        of the plan as its slots become free; the plan was made with them `present`.
        """
        self.sync(now)
        self.plan = plan
        accounts = self.host.dynamic_slots
        fresh = {each.id.number: each for each in plan.slots}
        if accounts is not None and plan.division is not None:
            accounts.division = plan.division
            fixed = [each for each in accounts.slots.ids if not each.is_dynamic]
            fresh = {each.number: plan.division.plan_of(accounts.slots, each) for each in fixed}
        for slot in self.slots:
            new = fresh[slot.plan.id.number]
            ad = new.ad if slot.plan.kind is SlotKind.STATIC else slot.plan.ad
            slot.resized(replace(slot.plan, policy=new.policy, starter=new.starter, ad=ad))
            if slot.run is not None:
                slot.run.reconfigured()
        if plan.division is not None:
            wanted = plan.division.slots.fixed.values()
            self._happen(lambda: self.host.relaid(wanted, now), now)
        self.polling.reconfigured(now)
        self.watcher.reconfigured(self)

    def sync(self, now: float) -> None:
        """Bring everything to the state as if nothing had been left out."""
        if self.alive and not self.exhaustive:
            self.polling.sync(now)
            self._catch_up(now)

    def _catch_up(self, now: float) -> None:
        for slot in self.host.slots:
            if slot.run is not None:
                slot.run.catch_up(now)
            lease_until = slot.state.claim.lease_until
            if lease_until is not None and lease_until <= now:
                self._renew(slot, now)

    def _renew(self, slot: SimulatedSlot, now: float) -> bool:
        """Whether a keepalive that was not sent has extended a lease."""
        claim = slot.state.claim
        if claim.lease_until is None or claim.lease_s is None:
            return False
        came_at = self.watcher.renewed_at(self, claim.id, now)
        if came_at is None or came_at + claim.lease_s <= claim.lease_until:
            return False
        slot.state = fast_records.replace(
            slot.state, claim=fast_records.replace(claim, lease_until=came_at + claim.lease_s)
        )
        return True

    # -- what happens --------------------------------------------------------------------------------

    def receive(self, number: int, event: ev.Event, now: float, life: int) -> None:
        """Deliver an event to a slot by its place, unless the daemon for which it was meant is dead."""
        if life == self.lives:
            self.tell(self.slots[number], event, now)

    def tell(self, slot: SimulatedSlot, event: ev.Event, now: float, *, quietly: bool = False) -> None:
        """Deliver an event to a slot. `quietly`: it changes nothing but a lease, and the plan of polls stays."""
        self._happen(lambda: self.host.receive(slot, event, now), now, quietly=quietly)

    def activate(self, slot: SimulatedSlot, run: str, event: ev.ActivationRequested, now: float) -> None:
        """Handle a queue's request for a run on its claim."""
        self._happen(lambda: self.host.activate(slot, run, event, now), now)

    def tell_starter(self, slot: SimulatedSlot, starter: Starter, event: sev.StarterEvent, now: float) -> None:
        """Deliver an event to a starter."""
        self._happen(lambda: self.host.receive_starter(slot, starter, event, now), now)

    def starter_lost(self, slot: SimulatedSlot, starter: Starter, now: float) -> None:
        """Note that a starter is gone with all of its job."""
        self._happen(lambda: self.host.starter_lost(slot, starter, now), now)

    def backfill(self, running: bool, now: float) -> None:
        """Note that the backfill client runs, or is gone."""
        self._happen(lambda: self.host.backfill(running, now), now)

    def drain(self, order: DrainOrder, now: float) -> Refusal | None:
        """Drain the machine; return why not, if refused."""
        return self._commanded(lambda: self.host.drain(order, now), now)

    def cancel_drain(self, now: float, request_id: str = "") -> Refusal | None:
        """End a drain, any drain if none is named; return why not, if refused."""
        return self._commanded(lambda: self.host.cancel_drain(request_id, now), now)

    def _commanded(
        self, command: Callable[[], tuple[list[Out[SimulatedSlot]], Refusal | None]], now: float
    ) -> Refusal | None:
        said: list[Refusal | None] = []

        def act() -> list[Out[SimulatedSlot]]:
            outs, refusal = command()
            said.append(refusal)
            return outs

        self._happen(act, now)
        return said[0] if said else None

    def polled(self, sense: Callable[[SimulatedSlot], ClassAd], now: float) -> None:
        """Poll the slots."""
        if not self.exhaustive:
            self._catch_up(now)
        self._happen(lambda: self.host.poll(sense, now), now, quietly=True)

    def _happen(self, act: Callable[[], list[Out[SimulatedSlot]]], now: float, *, quietly: bool = False) -> None:
        """Process an event with all its consequences. `quietly`: no poll has to follow."""
        if not self.alive:
            return
        if self._busy:
            self._pending.extend(act())
            return
        self._busy = True
        try:
            if not quietly:
                self.sync(now)
            self._pending.extend(act())
            self._carry_out(now)
        finally:
            self._busy = False
        if self.host.ended is not None and self.host.ended in (OnCompletion.EXIT, OnCompletion.RESTART):
            self.watcher.ended(self, now)
        if self.alive and not quietly:
            self.polling.disturbed(now)

    def _carry_out(self, now: float) -> None:
        pending = self._pending
        while pending:
            if self._cut_in is not None and not isinstance(pending[0].effect, REPEATED):
                self._cut_in -= 1
                if self._cut_in <= 0:
                    self._cut_in = None
                    self.watcher.cut(self, now)
                    continue
            self._perform(pending.popleft(), now)
        while self._restless:
            run, _ = self._restless.popitem()
            if run.starter.alive:
                run.plan_anew(now)

    # -- orders --------------------------------------------------------------------------------------

    def _perform(self, out: Out[SimulatedSlot], now: float) -> None:
        slot, effect = out.slot, out.effect
        if out.starter is not None:
            self._perform_for(out.starter, slot, effect, now)
            return
        match effect:
            case ef.PublishAd():
                # The matcher examines slots when they change.
                return
            case ef.SetTimer(timer=timer, at=at):
                self._set_timer(slot, timer, max(at, now))
            case ef.CancelTimer(timer=timer):
                slot.timers[timer] += 1
            case ef.SendClaimReply():
                self.queue_link.claim_reply(slot, effect, now)
                if effect.accepted and slot.plan.id.is_dynamic:
                    self.watcher.divided(self)
            case ef.SendActivationReply():
                self.queue_link.activation_reply(effect)
            case ef.TellSchedd():
                self.queue_link.claim_gone(effect)
            case ef.SendAliveReply() | OfferLeftovers():
                # The queue learns of it with the answer to its keepalive; the negotiator sees the rest of a slot.
                return
            case ef.KillFamily() if slot.run is not None:
                slot.run.crash(now)
            case _:
                self.own_work.perform(slot, effect, now)

    def _perform_for(self, starter: Starter, slot: SimulatedSlot, effect: Any, now: float) -> None:
        match effect:
            case sef.MakeSandbox():
                job, done_s = self.watcher.job_of(starter.state.job_ad, starter.kind)
                slot.run = Run(slot, starter, job, done_s, self._crash_in())
                self.queue_link.run_begins(slot, starter, slot.run.process)
                self.watcher.run_begun(self, slot, slot.run, now)
            case ef.CheckpointJob():
                if slot.run is not None:
                    slot.run.checkpoint(now)
                return
            case sef.Quit():
                if slot.run is not None and slot.run.starter is starter:
                    slot.run.process.forget()
                    slot.run = None
                return
        if slot.run is not None and slot.run.starter is starter:
            slot.run.perform(effect, now)

    def plans_anew(self, run: Run) -> bool:
        """Whether the plans of a run will be made again when the event in progress has been processed."""
        return run in self._restless

    def _crash_in(self) -> int | None:
        if self._chance is None or self._chance.random() >= self._crashes:
            return None
        return self._chance.randrange(16)

    def _set_timer(self, slot: SimulatedSlot, timer: ev.Timer, at: float) -> None:
        slot.timers[timer] += 1
        setting, life = slot.timers[timer], self.lives

        def fire(now: float) -> None:
            if slot.timers[timer] != setting or self.lives != life or slot.state.deleted:
                return
            if timer is ev.Timer.LEASE and self._renew(slot, now):
                until = slot.state.claim.lease_until
                assert until is not None
                self._set_timer(slot, timer, until)
                return
            self.tell(slot, ev.TimerFired(timer=timer), now)

        self.engine.at(at, fire)

    # -- what the host tells ---------------------------------------------------------------------------

    def stepped(self, slot: SimulatedSlot, before: SlotState, taken: SlotStep, now: float) -> None:
        """Handle a step of a slot."""
        if taken.transitions:
            slot.rejected.clear()
            self.watcher.stepped(self, slot, taken, now)

    def starter_stepped(self, slot: SimulatedSlot, starter: Starter, taken: StarterStep, now: float) -> None:
        """Handle a step of a starter."""
        run = slot.run
        if run is None or run.starter is not starter:
            return
        if taken.state.checkpoints != run.checkpoints:
            run.checkpoints = taken.state.checkpoints
            run.process.safe()
        if taken.transitions:
            self.watcher.starter_stepped(self, slot, taken, now)
            if not self.exhaustive:
                self._restless[run] = None

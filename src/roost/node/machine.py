"""A machine of a pool: a `Host` plus what the daemon needs, under the names that other daemons use.

Queues identify claims by their full text and runs by their own names; sensors measure the machine, of which each slot
gets its part; the pool needs complete ads. All that is handled here, so that the daemon only carries out effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from roost.base.records import replace
from roost.classad import ClassAd, Value
from roost.model import events as ev
from roost.model import starter_events as sev
from roost.model.claims import ClaimRequest
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.queue_context import QueueContext
from roost.model.slots import SlotId, SlotShape
from roost.model.starter import Cause
from roost.node import claim_news
from roost.node.cron import CronAd, published_on
from roost.node.host import Host, Observer, Out
from roost.node.host_plan import SlotPlan
from roost.node.host_slots import HostSlot, Starter
from roost.node.plan import NodePlan, Reading
from roost.policy.decision import StepWorld
from roost.startd.idleness import slot_idleness
from roost.startd.layout.change import PresentLayout
from roost.startd.load import CpuUse, MachineLoad, apportion
from roost.startd.policy_inputs import Inputs
from roost.startd.publication import slot_attributes
from roost.startd.slot_ad.ad import Sensed, sensed_over
from roost.startd.slot_ad.neighbours import shown_to_neighbours
from roost.startd.slot_state import SlotState
from roost.startd.timers import idle_interval_s, polling_needed


class NodeSlot(HostSlot):
    """A slot of a real machine."""

    __slots__ = ("use",)

    def __init__(self, plan: SlotPlan, state: SlotState, order: int) -> None:
        super().__init__(plan, state, order)
        self.use = CpuUse()

    @property
    def name(self) -> str:
        """``slot1@host``."""
        return self.state.name

    @property
    def is_dynamic(self) -> bool:
        """Whether it is a dynamic slot."""
        return self.plan.id.is_dynamic


Outs = list[Out[NodeSlot]]


class Machine:
    """One execute machine."""

    def __init__(self, plan: NodePlan, observer: Observer, *, birth: int, key: bytes, now: float) -> None:
        self.plan = plan

        def ids(block: int) -> ClaimIdSource:
            return ClaimIdSource(address=f"<{plan.identity.machine}>", birth=birth, block=block, key=key)

        self.host: Host[NodeSlot] = Host(
            plan.slot_plans(), ids=ids, now=now, make=NodeSlot, observer=observer, division=plan.division()
        )
        self._birth = birth
        self._fetched = 0
        self.load: MachineLoad | None = None
        self._updates = 0
        self._cron: tuple[CronAd, ...] = ()
        #: When sensors were read last; None if never.
        self.polled_at: float | None = None

    @property
    def slots(self) -> list[NodeSlot]:
        """All slots, in order."""
        return self.host.slots

    # -- finding ---------------------------------------------------------------------------------------

    def slot_of(self, claim_id: str) -> tuple[NodeSlot, ClaimId] | None:
        """The slot that has a claim or offers it."""
        return claim_news.slot_of(self.slots, claim_id)

    def slot_of_run(self, run: str) -> tuple[NodeSlot, Starter] | None:
        """The slot and the starter of a run."""
        for slot in self.slots:
            if slot.starter is not None and slot.run_name == run:
                return slot, slot.starter
        return None

    def runs(self) -> dict[str, str]:
        """Claim id to run, for active runs."""
        return claim_news.runs(self.slots)

    def held_claims(self) -> dict[str, dict[str, str]]:
        """Queue to the claims that it holds or waits for: claim id to run, "" for none."""
        return claim_news.held_claims(self.slots)

    def standings(self) -> dict[str, str]:
        """Claim id to the state of its run, for runs that a command can suspend or continue."""
        return claim_news.standings(self.slots)

    def silent_claims(self, now: float) -> dict[str, dict[str, str]]:
        """Queue to its claims with a running job whose lease is half over without a heartbeat: claim id to run."""
        return claim_news.silent_claims(self.slots, now)

    # -- requests of queues ------------------------------------------------------------------------------

    def claim(self, slot_name: str, claim_id: str, request: ClaimRequest, now: float) -> Outs | None:
        """A queue requests a slot; None if no slot of that name offers that claim."""
        found = self.slot_of(claim_id)
        if found is None:
            return None
        slot, known = found
        if not claim_news.goes_by(self.slots, slot, slot_name):
            return None
        return self.host.receive(slot, ev.ClaimRequested(claim_id=known, request=request), now)

    def activate(
        self,
        claim_id: str,
        run: str,
        job_ad: ClassAd,
        now: float,
        *,
        schedd: str = "",
        context: QueueContext | None = None,
    ) -> Outs | None:
        """A queue requests a run of a job on its claim; None if the claim is unknown. A repeated request counts once.

        The reply names queue, claim and run: the slot may have another claim or none by then.
        """
        found = self.slot_of(claim_id)
        if found is None:
            return None
        slot, known = found
        reply_to = f"{schedd}|{claim_id}|{run}"
        event = ev.ActivationRequested(claim_id=known, job_ad=job_ad, reply_to=reply_to, context=context)
        return self.host.activate(slot, run, event, now)

    def name_fetched(self, slot: NodeSlot) -> None:
        """Name the run of fetched work, which no queue has named."""
        self._fetched += 1
        slot.run_name = f"fetched.{self._birth}.{self._fetched}"

    def was_named(self, run: str) -> None:
        """An earlier daemon, possibly started in the same second, gave this name to a run; do not reuse it."""
        head, _, number = run.rpartition(".")
        if head == f"fetched.{self._birth}" and number.isdecimal():
            self._fetched = max(self._fetched, int(number))

    def about_claim(self, claim_id: str, make: Callable[[ClaimId], ev.Event], now: float) -> Outs | None:
        """A message from the holder of a claim; None if the claim is unknown."""
        found = self.slot_of(claim_id)
        return None if found is None else self.host.receive(found[0], make(found[1]), now)

    def stand_still(self, claim_id: str, run: str, now: float, *, still: bool) -> Outs | None:
        """The queue orders a run on its claim to be suspended or continued; None if there is no such run."""
        found = claim_news.stand_still(self.slots, claim_id, run, still=still)
        return None if found is None else self.host.receive(*found, now)

    def end_run(self, claim_id: str, run: str, cause: Cause, *, hard: bool, now: float) -> Outs | None:
        """The queue orders a run on its claim to end; None if there is no such run."""
        found = self.slot_of_run(run)
        if found is None or found[1].claim_id.text != claim_id:
            return None
        event: sev.StarterEvent = sev.HardKillOrdered(cause=cause) if hard else sev.SoftKillOrdered(cause=cause)
        return self.host.receive_starter(*found, event, now)

    def to_all(self, event: ev.Event, now: float) -> Outs:
        """Deliver an event to all slots."""
        outs: Outs = []
        for slot in list(self.slots):
            outs += self.host.receive(slot, event, now)
        return outs

    # -- polling ---------------------------------------------------------------------------------------

    @property
    def interval_s(self) -> int:
        """Time to the next poll: short while a job is on the machine or it is being drained."""
        busy = polling_needed([slot.state for slot in self.slots]) or self.host.drains.active
        return self.plan.polling_s if busy else idle_interval_s(self.plan.polling_s, self.plan.update_s)

    def poll(self, reading: Reading, now: float) -> Outs:
        """Sensors have been read: all slots evaluate their policies."""
        since_s = self.plan.polling_s if self.polled_at is None else max(1.0, now - self.polled_at)
        self.polled_at = now
        self._updates += 1
        sensed = self._sensed(reading, now, since_s)
        self._cron = reading.cron
        return self.host.poll(lambda slot: self._ad(slot, sensed, now), now)

    def _sensed(self, reading: Reading, now: float, since_s: float) -> Sensed:
        system, cpus = reading.load.one_minute, self.plan.slots.resources.detected_cpus
        own: dict[SlotId, float] = {}
        for slot in self.slots:
            percent = reading.cpu_percent.get(slot.plan.id, 0.0)
            slot.use = slot.use.sampled(percent, since_s=since_s, polling_interval_s=self.plan.polling_s)
            own[slot.plan.id] = slot.use.load(cpus=cpus, system_load=system)
        states = {slot.plan.id: str(slot.state.state) for slot in self.slots}
        self.load = apportion(system, own, states)
        started_at = self.plan.identity.started_at
        idle = {
            slot.plan.id: slot_idleness(
                reading.idleness, slot.plan.id, self.plan.connected, now=now, started_at=started_at
            )
            for slot in self.slots
        }
        return Sensed(
            now=now,
            zone_offset_s=reading.zone_offset_s,
            load=self.load,
            idleness=idle,
            updates=self._updates,
            monitor=reading.attributes,
        )

    def _ad(self, slot: NodeSlot, sensed: Sensed, now: float) -> ClassAd:
        ad = sensed_over(slot.plan.ad, slot.plan.id, sensed)
        my = Inputs(replace(slot.state, ad=ad), slot.plan.policy, now).my
        world = StepWorld(slot.plan.policy, slot.name, now)
        for name, value in published_on(my, slot.plan.id.number, self._cron, world):
            ad[name] = value
        slot.latches, found = slot.latches.advanced(my, self.plan.latch_names, now=now, world=world)
        for name, value in (found | self._neighbours(now)).items():
            ad.put(name, value)
        return ad

    def _neighbours(self, now: float) -> dict[str, Value]:
        """The attributes that slots publish to each other, current as each slot is polled."""
        names = self.plan.neighbour_names
        if not names:
            return {}
        ads = {slot.plan.id: Inputs(slot.state, slot.plan.policy, now).my for slot in self.slots}
        world = StepWorld(self.slots[0].plan.policy, self.plan.identity.machine, now)
        return shown_to_neighbours(ads, names, world)

    # -- ads ---------------------------------------------------------------------------------------

    def ads(self, slots: Iterable[NodeSlot], now: float) -> list[ClassAd]:
        """The complete ads of slots, as the pool sees them."""
        shared = self.host.drains.attributes(now)
        found = []
        for slot in slots:
            ad = self.ad(slot, now)
            for name, value in shared.items():
                ad[name] = value
            # Other readings are as old as the last poll of the sensors; times of the slot's state are current.
            ad["MyCurrentTime"] = int(now)
            found.append(ad)
        return found

    def ad(self, slot: NodeSlot, now: float) -> ClassAd:
        """The ad of a slot, without the attributes about draining."""
        ad = ClassAd()
        for layer in (slot.plan.ad, slot.state.ad, slot_attributes(slot.state, slot.plan.policy, now)):
            ad.lay(layer)
        return ad

    @property
    def present(self) -> PresentLayout:
        """The existing slots, for a plan that will replace the current one."""
        assert self.host.relayouts is not None
        return self.host.relayouts.present

    def awaited_layout(self) -> list[str]:
        """What the machine waits for before it has the configured slots, in sentences."""
        relayouts, name_of = self.host.relayouts, self.plan.identity.name_of
        assert relayouts is not None
        leaving = [
            f"{slot.name} accepts no further jobs and is deleted once it is free: {slot.state.leaving}"
            for slot in self.slots
            if slot.state.leaving is not None and not slot.is_dynamic
        ]
        coming = [name_of(each) for each in relayouts.coming]
        return leaving + [f"{name} will be created once there is room for it" for name in coming]

    def start_with(self, plan: NodePlan, shapes: Iterable[SlotShape], now: float) -> None:
        """Start with slots in which an earlier daemon left jobs; the plan was made with them as `present`."""
        dynamic_slots, relayouts = self.host.dynamic_slots, self.host.relayouts
        assert dynamic_slots is not None and relayouts is not None
        self.plan, dynamic_slots.division = plan, plan.division()
        relayouts.start_with(shapes, now)

    def reconfigure(self, plan: NodePlan, now: float) -> Outs:
        """Adopt a new policy, and change to a new layout. Running jobs keep their starters' policy.

        The plan must have been made with the existing slots as `present`.
        """
        dynamic_slots = self.host.dynamic_slots
        assert dynamic_slots is not None
        self.plan, dynamic_slots.division = plan, plan.division()
        for slot in self.slots:
            number = slot.plan.id.number
            if number in plan.policies:
                slot.resized(
                    replace(
                        slot.plan,
                        policy=dynamic_slots.division.policy_of(slot.plan.id, plan.policies[number]),
                        starter=plan.starters[number],
                        ad=self.plan.fixed_ad(dynamic_slots.slots, slot.plan.id),
                    )
                )
        return self.host.relaid(plan.slots.fixed.values(), now)

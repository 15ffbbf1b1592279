"""The daemon with real machines: what it reads in their ads is what they say, and what it asks for is what they do."""

from __future__ import annotations

from dataclasses import replace

from roost.classad import ClassAd
from roost.defrag.machine import step
from roost.defrag.policy import DefragPolicy
from roost.defrag.state import DefragState, DefragTimer, DefragTimerFired, PoolSeen, RequestCancellation, RequestDrain
from roost.model import events as ev
from roost.model.reasons import Refusal
from roost.model.slots import SlotKind
from roost.startd import draining as dr
from roost.startd.publication import slot_attributes
from tests.startd.kit import Hand, job, policy

#: Retirement of an hour for every job, which may take a minute to leave.
RULES = policy({"MAXJOBRETIREMENTTIME": "3600", "MachineMaxVacateTime": "60"})
DEFRAG = DefragPolicy(machines_per_hour=60)


class Node:
    """A machine of eight cores: four left in a partitionable slot, and a dynamic slot in which a job runs."""

    def __init__(self) -> None:
        self.draining = dr.MachineDraining()
        self.parent = Hand(policy=RULES, kind=SlotKind.PARTITIONABLE, sensors={"Cpus": 4, "TotalSlotCpus": 8})
        self.parent.poll(1)
        self.child: Hand | None = Hand(policy=RULES, kind=SlotKind.DYNAMIC, sensors={"Cpus": 4})
        self.child.state = replace(self.child.state, name="slot1_1@host")
        self.child.run(job())
        self.now = self.parent.now

    @property
    def hands(self) -> list[Hand]:
        return [hand for hand in (self.parent, self.child) if hand is not None]

    @property
    def states(self) -> list:  # type: ignore[type-arg]
        return [hand.state for hand in self.hands]

    @property
    def policies(self) -> dict:  # type: ignore[type-arg]
        return {hand.state.name: hand.policy for hand in self.hands}

    def apply(self, found: dr.Drain) -> dr.Drain:
        self.draining = found.draining
        for event in found.events:
            for hand in self.hands:
                hand.now = self.now
                hand.feed(event)
        return found

    def sweep(self, after: float) -> None:
        self.now += after
        facts = dr.facts(self.draining, self.states, self.policies, self.now)
        for hand in self.hands:
            hand.now, hand.machine = self.now, facts
            hand.poll()
        self.apply(dr.progress(self.draining, self.states, self.now))

    def job_ends(self) -> None:
        assert self.child is not None
        self.child.now = self.now
        self.child.gone()
        if self.child.state.deleted:
            self.child = None
            self.parent.sensors["Cpus"] = 8

    def ad(self) -> ClassAd:
        """The ad of the partitionable slot, as the collector has it."""
        ad = slot_attributes(self.parent.state, RULES, self.now)
        ad.update(self.parent.sensors)
        ad.update(dr.attributes(self.draining, self.states, self.policies, self.now))
        ad.update({"Name": "slot1@host", "SlotID": 1, "PartitionableSlot": True, "LastHeardFrom": self.now})
        ad.update({"TotalCpus": 8, "DaemonStartTime": self.now - 10_000})
        return ad

    def asked(self, effect: RequestDrain) -> dr.Drain:
        order = dr.DrainOrder(
            schedule=effect.schedule,
            on_completion=dr.OnCompletion.RESUME,
            check=effect.check,
            start=effect.start,
            reason=effect.reason,
        )
        return self.apply(dr.request(self.draining, order, self.states, self.policies, self.now))


def a_round(state: DefragState, node: Node) -> tuple[DefragState, list[object]]:
    asked = step(state, DefragTimerFired(timer=DefragTimer.ROUND), node.now, DEFRAG, "central").state
    found = step(asked, PoolSeen(ads=(node.ad(),)), node.now, DEFRAG, "central")
    return found.state, list(found.effects)


def test_a_machine_is_drained_and_goes_back_to_work_whole() -> None:
    node = Node()
    state, (request,) = a_round(DefragState(), node)
    assert isinstance(request, RequestDrain) and request.check is not None
    assert node.asked(request).refusal is None
    assert [str(hand.pair) for hand in node.hands] == ["Drained/Retiring", "Claimed/Retiring"]
    node.sweep(5)
    state, effects = a_round(state, node)
    assert effects == [] and state.figures.machines_draining == 1
    node.job_ends()
    node.sweep(5)
    assert node.draining.order is None, "it resumed by itself"
    node.sweep(5)
    state, effects = a_round(state, node)
    assert effects == []
    assert (state.figures.whole_machines, state.figures.drained_machines) == (1, 1)


def test_a_machine_that_is_whole_before_its_drain_is_over_is_let_go() -> None:
    node = Node()
    state, (request,) = a_round(DefragState(), node)
    assert isinstance(request, RequestDrain)
    node.asked(request)
    node.sweep(5)
    state, _ = a_round(state, node)
    node.job_ends()
    state, effects = a_round(state, node)
    (cancel,) = effects
    assert isinstance(cancel, RequestCancellation)
    assert node.apply(dr.cancel(node.draining, cancel.request_id, node.now)).refusal is None
    assert str(node.parent.pair) == "Unclaimed/Idle"
    node.sweep(5)
    assert a_round(state, node)[1] == []


def test_a_machine_that_has_become_dearer_refuses() -> None:
    node = Node()
    _, (request,) = a_round(DefragState(), node)
    assert isinstance(request, RequestDrain)
    assert node.child is not None
    node.child.policy = policy({"MAXJOBRETIREMENTTIME": "36000", "MachineMaxVacateTime": "60"})
    assert node.asked(request).refusal is Refusal.DRAIN_CHECK_FAILED
    node.child.policy = RULES
    assert node.asked(request).refusal is None


def test_what_empty_cores_cost_reaches_the_figures() -> None:
    node = Node()
    state, (request,) = a_round(DefragState(), node)
    assert isinstance(request, RequestDrain)
    node.asked(request)
    node.now += 100
    node.draining = dr.count_unclaimed(node.draining, node.states, {"slot1@host": 4.0}, node.now)
    state, _ = a_round(state, node)
    assert state.figures.avg_draining_unclaimed == 400 / 10_000 / 8
    assert ev.DrainSchedule.GRACEFUL is request.schedule

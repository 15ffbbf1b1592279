"""Orders of a scenario, given to the simulated machine and queue: the only place that knows how each is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, assert_never

from roost.base.records import replace
from roost.classad import parse_expression
from roost.lab.machines import LabError
from roost.lab.scenario.cell_actions import do_in_cell
from roost.lab.scenario.dags import Flow
from roost.lab.scenario.values import Order, ScheduledAction
from roost.model import events as ev
from roost.model.events import DrainSchedule, ShutdownKind
from roost.model.reasons import Refusal
from roost.schedd.events import Action
from roost.sim.machine.host import Machine, Slot
from roost.sim.world import World
from roost.startd.draining import DrainOrder, OnCompletion

_SCHEDULES: Final = {"graceful": DrainSchedule.GRACEFUL, "quick": DrainSchedule.QUICK, "fast": DrainSchedule.FAST}
_SHUTDOWNS: Final = {
    "peaceful": ShutdownKind.PEACEFUL,
    "graceful": ShutdownKind.GRACEFUL,
    "fast": ShutdownKind.FAST,
}
_ACTIONS: Final = {
    Order.HOLD: Action.HOLD,
    Order.RELEASE: Action.RELEASE,
    Order.REMOVE: Action.REMOVE,
    Order.VACATE_JOB: Action.VACATE,
    Order.SUSPEND: Action.SUSPEND,
    Order.CONTINUE: Action.CONTINUE,
}


def slot_named(machine: Machine, name: str) -> Slot | None:
    """The slot ``1``, or ``1_2``, of a machine; None where there is none now."""
    return next((slot for slot in machine.slots if str(slot.plan.id).removeprefix("slot") == name), None)


class Stage(NamedTuple):
    """What orders of a scenario act upon, beside a machine and a job."""

    world: World
    #: Lets daemons read changed settings.
    reconfigure: Callable[[ScheduledAction, float], None]
    #: DAGs, by their names.
    flows: Mapping[str, Flow]
    #: The queue's name of a job to the scenario's.
    names: Mapping[str, str]


def do(action: ScheduledAction, stage: Stage, machine: Machine, job: str, now: float) -> None:
    """Carry out an order; `job` is the queue's name of the job that it is about.

    Raises LabError for an order to something that does not exist.
    """
    world, queue = stage.world, stage.world.queue
    match action.order:
        case Order.HOLD | Order.REMOVE | Order.VACATE_JOB | Order.RELEASE | Order.SUSPEND | Order.CONTINUE:
            if not job:
                raise LabError(f"the job {action.job} has not been submitted when {action.order} is ordered")
            queue.act(_ACTIONS[action.order], job, now)
        case Order.UPDATE:
            assert action.attributes is not None
            _tell(machine, action, ev.JobUpdated(attributes=action.attributes), now)
        case Order.VACATE:
            _tell(machine, action, ev.VacateRequested(fast=action.how == "fast"), now)
        case Order.CHECKPOINT:
            _tell(machine, action, ev.CheckpointRequested(), now)
        case Order.SHUTDOWN:
            for slot in list(machine.slots):
                machine.tell(slot, ev.ShutdownRequested(kind=_SHUTDOWNS[action.how]), now)
        case Order.DRAIN:
            _refused(machine.drain(_drain_order(action), now), action)
        case Order.CANCEL_DRAIN:
            _refused(machine.cancel_drain(now), action)
        case Order.RESTART:
            machine.die(now)
            world.start_anew(machine, now)
        case Order.RECONFIG:
            stage.reconfigure(action, now)
        case Order.MATCH:
            slot = _slot(machine, action)
            machine.tell(slot, ev.MatchReceived(claim_id=slot.state.claim.id), now)
        case Order.QUEUE:
            queue.mute(action.how == "away")
        case Order.DAG:
            stage.flows[action.how].begin(now)
        case Order.REMOVE_DAG:
            stage.flows[action.how].remove(now)
        case Order.QMOD | Order.QCONF:
            do_in_cell(action, world, stage.names, now)
        case _ as never:
            assert_never(never)


def hurry(machine: Machine, now: float) -> None:
    """End what is still there of a graceful shutdown fast, as the master does when the time for it is over."""
    for slot in list(machine.slots):
        if slot.state.shutdown is not None:
            machine.tell(slot, ev.ShutdownRequested(kind=ShutdownKind.FAST), now)


def _refused(refusal: Refusal | None, action: ScheduledAction) -> None:
    if refusal is not None:
        raise LabError(f"the machine refuses to {action.order.value.replace('_', ' ')}: {refusal}")


def _tell(machine: Machine, action: ScheduledAction, event: ev.Event, now: float) -> None:
    machine.tell(_slot(machine, action), event, now)


def _slot(machine: Machine, action: ScheduledAction) -> Slot:
    slot = slot_named(machine, action.slot)
    if slot is None:
        raise LabError(f"there is no slot {action.slot} when {action.order} is ordered")
    return slot


def _drain_order(action: ScheduledAction) -> DrainOrder:
    order = DrainOrder(schedule=_SCHEDULES[action.how], reason="the scenario")
    if action.start:
        order = replace(order, start=parse_expression(action.start))
    return replace(order, on_completion=OnCompletion.RESUME) if action.then == "resume" else order

"""Orders of a scenario to the simulated machine and queue: the only place that carries them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, assert_never

from roost.base.records import replace
from roost.classad import parse_expression
from roost.lab.machines import LabError
from roost.lab.scenario.cell_actions import do_in_cell
from roost.lab.scenario.dags import Flow
from roost.lab.scenario.values import ScenarioCommand, ScheduledAction
from roost.model import events as ev
from roost.model.events import DrainSchedule, ShutdownKind
from roost.model.reasons import Refusal
from roost.schedd.events import Action
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.world import World
from roost.startd.draining import DrainOrder, OnCompletion

_SCHEDULES: Final = {"graceful": DrainSchedule.GRACEFUL, "quick": DrainSchedule.QUICK, "fast": DrainSchedule.FAST}
_SHUTDOWNS: Final = {
    "peaceful": ShutdownKind.PEACEFUL,
    "graceful": ShutdownKind.GRACEFUL,
    "fast": ShutdownKind.FAST,
}
_ACTIONS: Final = {
    ScenarioCommand.HOLD: Action.HOLD,
    ScenarioCommand.RELEASE: Action.RELEASE,
    ScenarioCommand.REMOVE: Action.REMOVE,
    ScenarioCommand.VACATE_JOB: Action.VACATE,
    ScenarioCommand.SUSPEND: Action.SUSPEND,
    ScenarioCommand.CONTINUE: Action.CONTINUE,
}


def slot_named(machine: Machine, name: str) -> SimulatedSlot | None:
    """The slot ``1``, or ``1_2``, of a machine; None if it does not exist now."""
    return next((slot for slot in machine.slots if str(slot.plan.id).removeprefix("slot") == name), None)


class ActionContext(NamedTuple):
    """What orders of a scenario act on, in addition to a machine and a job."""

    world: World
    #: Lets daemons read changed settings.
    reconfigure: Callable[[ScheduledAction, float], None]
    #: DAGs, by their names.
    flows: Mapping[str, Flow]
    #: The queue's name of a job to the scenario's.
    names: Mapping[str, str]


def do(action: ScheduledAction, stage: ActionContext, machine: Machine, job: str, now: float) -> str:
    """Carry out an order; `job` is the queue's name of the job concerned. Why the queue did nothing, or "".

    Raises LabError for an order to something that does not exist.
    """
    world, queue = stage.world, stage.world.queue
    match action.order:
        case (
            ScenarioCommand.HOLD
            | ScenarioCommand.REMOVE
            | ScenarioCommand.VACATE_JOB
            | ScenarioCommand.RELEASE
            | ScenarioCommand.SUSPEND
            | ScenarioCommand.CONTINUE
        ):
            if not job:
                raise action.no_job()
            return queue.act(_ACTIONS[action.order], job, now)
        case ScenarioCommand.UPDATE:
            assert action.attributes is not None
            _tell(machine, action, ev.JobUpdated(attributes=action.attributes), now)
        case ScenarioCommand.VACATE:
            _tell(machine, action, ev.VacateRequested(fast=action.how == "fast"), now)
        case ScenarioCommand.CHECKPOINT:
            _tell(machine, action, ev.CheckpointRequested(), now)
        case ScenarioCommand.SHUTDOWN:
            for slot in list(machine.slots):
                machine.tell(slot, ev.ShutdownRequested(kind=_SHUTDOWNS[action.how]), now)
        case ScenarioCommand.DRAIN:
            _refused(machine.drain(_drain_order(action), now), action)
        case ScenarioCommand.CANCEL_DRAIN:
            _refused(machine.cancel_drain(now), action)
        case ScenarioCommand.RESTART:
            machine.die(now)
            world.start_anew(machine, now)
        case ScenarioCommand.RECONFIG:
            stage.reconfigure(action, now)
        case ScenarioCommand.MATCH:
            slot = _slot(machine, action)
            machine.tell(slot, ev.MatchReceived(claim_id=slot.state.claim.id), now)
        case ScenarioCommand.QUEUE:
            queue.mute(action.how == "away")
        case ScenarioCommand.DAG:
            stage.flows[action.how].begin(now)
        case ScenarioCommand.REMOVE_DAG:
            stage.flows[action.how].remove(now)
        case ScenarioCommand.QMOD | ScenarioCommand.QCONF:
            do_in_cell(action, world, stage.names, now)
        case _ as never:
            assert_never(never)
    return ""


def hurry(machine: Machine, now: float) -> None:
    """Turn a graceful shutdown into a fast one, as the master does when the time limit is over."""
    for slot in list(machine.slots):
        if slot.state.shutdown is not None:
            machine.tell(slot, ev.ShutdownRequested(kind=ShutdownKind.FAST), now)


def _refused(refusal: Refusal | None, action: ScheduledAction) -> None:
    if refusal is not None:
        raise LabError(f"the machine refused to {action.order.value.replace('_', ' ')}: {refusal}")


def _tell(machine: Machine, action: ScheduledAction, event: ev.Event, now: float) -> None:
    machine.tell(_slot(machine, action), event, now)


def _slot(machine: Machine, action: ScheduledAction) -> SimulatedSlot:
    slot = slot_named(machine, action.slot)
    if slot is None:
        raise action.no_slot(str(each.plan.id).removeprefix("slot") for each in machine.slots)
    return slot


def _drain_order(action: ScheduledAction) -> DrainOrder:
    order = DrainOrder(schedule=_SCHEDULES[action.how], reason="the scenario")
    if action.start:
        order = replace(order, start=parse_expression(action.start))
    return replace(order, on_completion=OnCompletion.RESUME) if action.then == "resume" else order

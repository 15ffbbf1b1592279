"""The records from which a machine resumes after it was killed, and how it resumes.

There is one record of the machine and one of each claimed slot: the slot, the starter of its job, the name of the run.
Slots without a record start over. No record says whether the processes of a run still exist: the caller that starts the
daemon checks that and passes the result.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from roost.model.claims import ClaimKind
from roost.model.effects import ActivateStarter
from roost.model.plain import AdTexts, Plain, PlainError, resolved
from roost.node.host_slots import Starter
from roost.node.machine import Machine, NodeSlot, Outs
from roost.startd import persisted as slots
from roost.startd.layout.change import PresentLayout
from roost.startd.persisted import MachineRecord, UnreadableRecord
from roost.startd.resumption import resume
from roost.starter import persisted as starters
from roost.starter.resumption import resume as resume_starter
from roost.starter.starter_state import StarterState

__all__ = ["UnreadableRecord", "is_kept", "machine_record", "restore", "slot_record"]


def is_kept(slot: NodeSlot) -> bool:
    """Whether a slot is in a state that must be recorded."""
    state = slot.state
    return state.claim.granted_at is not None or slot.starter is not None or slot.is_dynamic


def slot_record(slot: NodeSlot, ads: AdTexts | None = None) -> dict[str, Plain]:
    """A slot and the starter of its job. `ads` are those of its last record: most are unchanged."""
    starter, ads = slot.starter, ads or AdTexts()
    ads.again()
    return {
        "slot": slots.persisted(slot.state, ads),
        "run": slot.run_name,
        "starter": None if starter is None else starters.persisted(starter.state, ads),
        "ads": ads.texts,
    }


def starter_of(record: Mapping[str, object]) -> StarterState:
    """The starter in a record of a slot. Raises either kind of UnreadableRecord."""
    return starters.restored(_part(record, "starter"))


def _part(record: Mapping[str, object], name: str) -> Plain:
    """A part of a record, with the ads that it refers to; earlier versions wrote them inline."""
    part: Plain = record[name]  # type: ignore[assignment]
    try:
        return resolved(part, record["ads"]) if "ads" in record else part
    except PlainError as problem:
        raise UnreadableRecord(str(problem)) from None


def machine_record(machine: Machine) -> Plain:
    """The record of what the slots share."""
    dynamic_slots = machine.host.dynamic_slots
    assert dynamic_slots is not None
    return slots.persisted_machine(
        MachineRecord(
            draining=machine.host.drains.draining,
            latches={slot.name: slot.latches for slot in machine.slots},
            dynamic=tuple(dynamic_slots.slots.dynamic.values()),
            next_block=dynamic_slots.next_block,
            fixed=tuple(dynamic_slots.slots.fixed.values()),
        )
    )


def left_slots(machine: Machine, shared: object, records: Mapping[str, object]) -> PresentLayout | None:
    """The slots in which an earlier daemon left jobs, if the current layout differs from them; None if it does not."""
    try:
        found = slots.restored_machine(shared)
    except UnreadableRecord:
        return None
    name_of, here = machine.plan.identity.name_of, machine.plan.slots
    cut = {each.id.number for each in found.dynamic if name_of(each.id) in records}
    held = {each.number: each for each in found.fixed if each.number in cut or name_of(each.id) in records}
    if all(here.fixed.get(number) == shape for number, shape in held.items()):
        return None
    return PresentLayout(resources=here.resources, slots=held, held=dict.fromkeys(held, 0.0))


def restore(
    machine: Machine, shared: object, records: Mapping[str, object], alive: Container[str], now: float
) -> tuple[Outs, list[str]]:
    """Resume from the records; returns effects to carry out, and the records that could not be used. `alive` has the
    runs whose processes are known, running or ended."""
    problems: list[str] = []
    host = machine.host
    dynamic_slots = host.dynamic_slots
    assert dynamic_slots is not None
    try:
        found = slots.restored_machine(shared)
    except UnreadableRecord as problem:
        return [], [str(problem)]
    host.drains.draining = found.draining
    dynamic_slots.restore(found.dynamic, found.next_block, now)
    outs: Outs = []
    for slot in list(machine.slots):
        slot.latches = found.latches.get(slot.name, slot.latches)
        record = records.get(slot.name)
        if record is not None:
            try:
                outs += _go_on(machine, slot, record, alive, now)
            except (UnreadableRecord, starters.UnreadableStarter, KeyError) as problem:
                problems.append(f"{slot.name}: {problem}")
    return outs, problems


def _go_on(machine: Machine, slot: NodeSlot, record: object, alive: Container[str], now: float) -> Outs:
    if not isinstance(record, dict):
        raise UnreadableRecord("This is not the record of a slot")
    dynamic_slots = machine.host.dynamic_slots
    assert dynamic_slots is not None
    run = str(record["run"])
    slot.state = slots.restored(_part(record, "slot"), ad=slot.plan.ad)
    slot.run_name = run
    dynamic_slots.hold(slot)
    of_starter = None
    if record["starter"] is not None and run in alive:
        state = starter_of(record)
        request = slot.state.claim.request
        kind = ClaimKind.SCHEDD if request is None else request.kind
        order = ActivateStarter(claim_id=slot.state.claim.id, kind=kind, job_ad=state.job_ad)
        slot.starter = Starter(order, state, slot.plan.starter)
        of_starter = resume_starter(state, now, slot.plan.starter)
    taken = resume(slot.state, now, slot.plan.policy, starter_alive=slot.starter is not None)
    return machine.host.resumed(slot, taken, of_starter, now)

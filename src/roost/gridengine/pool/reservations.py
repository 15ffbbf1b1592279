"""Advance reservations of a pool: their grants, what the run books for them, and their states.

========  ============================================================================
state     meaning
========  ============================================================================
``w``     its start time is in the future
``W``     the same, and a queue instance of it is in trouble
``r``     it has its resources
``E``     the same, and a queue instance of it is in trouble
``d``     it has been deleted, and its jobs have still to leave
========  ============================================================================
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance, resolve
from roost.gridengine.objects.complex import Type, value_number
from roost.gridengine.pool.requests import Groups, Reader, pairs, text_of
from roost.gridengine.pool.selection import admits
from roost.gridengine.scheduling import Booked, CellSnapshot, Grant, Request, allot
from roost.gridengine.scheduling.allocation import Allocation
from roost.gridengine.scheduling.reasons import Reason
from roost.model import cell_requests as cell_names
from roost.model.cell_requests import RESERVATION_USERS
from roost.model.cell_reservations import AdvanceReservation, Granted

if TYPE_CHECKING:
    from roost.gridengine.pool.active_cell import ActiveCell

#: State letters of instances that are errors for a reservation, with their names.
_TROUBLE: Final = {"d": "disabled", "s": "suspended", "E": "in error state", "u": "unknown"}


def ad_of(one: AdvanceReservation) -> ClassAd:
    """The requests of a reservation as the ad of a job with the same requests."""
    return ClassAd(
        {
            "Owner": one.owner,
            cell_names.RESOURCES: one.resources,
            cell_names.QUEUES: one.queues,
            cell_names.MASTER_QUEUES: one.master_queues,
            cell_names.PARALLEL: one.parallel,
            cell_names.IMMEDIATE: one.interactive,
        }
    )


def request_of(one: AdvanceReservation, reader: Reader) -> Request:
    """The request of a reservation."""
    return replace(reader.request(ad_of(one)), checkpoint=one.checkpoint)


def complaints(one: AdvanceReservation, cell: Cell, reader: Reader) -> Iterator[str]:
    """Problems of a reservation, in Grid Engine's words."""
    for text in reader.complaints(ad_of(one)):
        yield text.replace('"job" denied', '"advance_reservation" denied')
    if one.checkpoint and one.checkpoint not in cell.checkpoints:
        yield f'job rejected: the requested checkpointing environment "{one.checkpoint}" does not exist'
    for each in one.users:
        if each.startswith("@") and each[1:] not in cell.user_lists:
            yield f'Userset "{each[1:]}" does not exist'


def may_reserve(cell: Cell, user: str, groups: tuple[str, ...]) -> bool:
    """Whether a user who is not a manager may make advance reservations."""
    listed = cell.user_lists.get(RESERVATION_USERS)
    return listed is not None and listed.holds(user, groups)


def granted(one: AdvanceReservation, snapshot: CellSnapshot, groups: Groups) -> AdvanceReservation | tuple[Reason, ...]:
    """A reservation with its grants, or the reasons if there is not enough.

    Only instances that all of its users may use count. Running jobs are expected to end by their limits or after
    `default_duration`.
    """
    cell = snapshot.cell
    users = _users(one, cell)

    def takes(instance: QueueInstance) -> bool:
        return "o" not in instance.states and all(admits(cell, instance, user) for user in users)

    found = allot(snapshot, request_of(one, Reader(cell, groups)), one.start, one.end, takes)
    if not isinstance(found, Allocation):
        return found
    environment = found.kind.environment
    return replaced(
        one,
        grants=tuple(Granted(instance=instance, slots=slots) for instance, slots in found.grants),
        environment="" if environment is None else environment.name,
    )


def _users(one: AdvanceReservation, cell: Cell) -> tuple[str, ...]:
    """The users of a reservation, user lists by their members; the owner is checked in any case."""
    found: dict[str, None] = {}
    for each in one.users:
        listed = cell.user_lists.get(each[1:]) if each.startswith("@") else None
        found.update(dict.fromkeys((each,) if listed is None else listed.entries))
    return tuple(found)


def may_use(one: AdvanceReservation, cell: Cell, user: str, groups: tuple[str, ...]) -> bool:
    """Whether a user may use a reservation: its owner, unless it names its users."""
    if not one.users:
        return user == one.owner
    for each in one.users:
        listed = cell.user_lists.get(each[1:]) if each.startswith("@") else None
        if each == user or (listed is not None and listed.holds(user, groups)):
            return True
    return False


def duration_of(job: ClassAd) -> float:
    """How long a job may run by its own limits, s; 0 if it has none."""
    asked = [text for name, text in pairs(text_of(job, cell_names.RESOURCES)) if name in ("h_rt", "s_rt")]
    found = [number for text in asked if (number := value_number(Type.TIME, text)) is not None]
    return min(found, default=0.0)


def booked(active: ActiveCell, states: Mapping[str, str], hosts: Container[str]) -> tuple[Booked, ...]:
    """The reservations of a cell for the run: letters of instances, and the hosts that have a machine."""
    if not active.reservations:
        return ()
    reader = Reader(active.cell, lambda user: ())
    return tuple(
        Booked(
            number=one.number,
            request=request_of(one, reader),
            grants=tuple(Grant(*grant) for grant in one.pairs),
            start=one.start,
            end=one.end,
            environment=one.environment,
            blocked=one.deleted or (one.hard_errors and bool(troubles(one, states, hosts))),
        )
        for one in active.reservations
    )


def troubles(
    one: AdvanceReservation, states: Mapping[str, str], hosts: Container[str] | None = None
) -> tuple[str, ...]:
    """Problems of a reservation's queue instances, in sentences; `states` has their letters.

    `hosts` are those that have a machine, if the letters do not show that.
    """
    away = {instance: "u" for instance, _ in one.pairs if hosts is not None and instance.partition("@")[2] not in hosts}
    return tuple(
        f"reserved queue {instance} is {words}"
        for instance, _ in one.pairs
        for letter, words in _TROUBLE.items()
        if letter in states.get(instance, "") + away.get(instance, "")
    )


def state_of(one: AdvanceReservation, now: float, *, in_trouble: bool) -> str:
    """The letter of a reservation."""
    if one.deleted:
        return "d"
    if now < one.start:
        return "W" if in_trouble else "w"
    return "E" if in_trouble else "r"


def broken(reservations: Sequence[AdvanceReservation], before: Cell, after: Cell) -> str:
    """Why a change of the cell would break a reservation, in Grid Engine's words; "" if it breaks none.

    A removed instance breaks none, as in Grid Engine: it is orphaned as long as jobs run in it.
    """
    known = {one.name: one.settings for one in resolve(before)}
    reserved = _most_reserved(reservations)
    for one in resolve(after):
        if one.name not in reserved:
            continue
        old, new, most = known.get(one.name), one.settings, reserved[one.name]
        if new.slots < most and (old is None or old.slots >= most):
            return f"denied: {most} slots are already reserved in {one.name} by an advance reservation"
        gone = () if old is None else set(old.pe_list) - set(new.pe_list)
        for each in reservations:
            if each.environment in gone and one.name in dict(each.pairs):
                name, number = each.environment, each.number
                return f'denied: removing "{name}" from pe_list would break advance reservation {number}'
    return ""


def _most_reserved(reservations: Sequence[AdvanceReservation]) -> dict[str, int]:
    """The most slots that are reserved at any moment, by instance."""
    found: dict[str, int] = {}
    for moment in {one.start for one in reservations}:
        for instance, slots in slots_now(tuple(reservations), moment).items():
            found[instance] = max(found.get(instance, 0), slots)
    return found


def slots_now(reservations: tuple[AdvanceReservation, ...], now: float) -> dict[str, int]:
    """Slots reserved now, by instance."""
    found: dict[str, int] = {}
    for one in reservations:
        for instance, slots in one.pairs if one.start <= now < one.end else ():
            found[instance] = found.get(instance, 0) + slots
    return found

"""Answers about the pool's Grid Engine cell, from the cell and a snapshot of the pool, as structs of the wire."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from roost.model.cell_reservations import AdvanceReservation
from roost.runtime.bus.request_answers import BadRequest
from roost.runtime.identity import groups_of
from roost.wire.messages import Answer
from roost.wire.requests.central import CellHost, CellPriority, HostOffer, InstanceStatus, ReservationState, Reserved

if TYPE_CHECKING:
    from roost.gridengine.pool.active_cell import ActiveCell
    from roost.gridengine.pool.suspensions import Suspensions
    from roost.gridengine.pool.view import AvailableResource
    from roost.negotiator.snapshot import Snapshot


def hosts(active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions) -> list[CellHost]:
    """The hosts of the cell."""
    from roost.gridengine.pool.view import host_rows

    return [
        CellHost(name=row.name, reported=dict(row.reported), offers=tuple(map(_offered, row.offers)))
        for row in host_rows(active, snapshot, suspensions)
    ]


def queue_instances(
    active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions, *, details: bool
) -> list[InstanceStatus]:
    """The queue instances of the cell. Raises BadRequest if they cannot be scheduled."""
    from roost.gridengine.pool.view import instance_rows
    from roost.gridengine.scheduling import NotScheduled

    try:
        rows = instance_rows(active, snapshot, suspensions, details=details)
    except NotScheduled as refusal:
        raise BadRequest(str(refusal)) from None
    return [
        InstanceStatus(
            name=row.name,
            types=row.types,
            used=row.used,
            total=row.total,
            load=row.load,
            load_per_processor=row.load_per_processor,
            architecture=row.architecture,
            states=row.states,
            reasons=row.reasons,
            reserved=row.reserved,
            offers=tuple(map(_offered, row.offers)),
            explained=row.explained,
        )
        for row in rows
    ]


def reservations(active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions) -> list[ReservationState]:
    """The advance reservations of the cell."""
    from roost.gridengine.pool.view import reservation_rows

    rows = reservation_rows(active, snapshot, suspensions)
    return [ReservationState(reservation=row.reservation, state=row.state, messages=row.messages) for row in rows]


def priorities(record: object) -> list[CellPriority]:
    """The priorities of a scheduling run, from its record; none if it was not one of a cell."""
    from roost.gridengine.pool.cycle import CellRecord

    found = record.priorities() if isinstance(record, CellRecord) else ()
    return [
        CellPriority(schedd=schedd, cluster=cluster, figures=each._asdict(), user_limit=limited)
        for schedd, cluster, each, limited in found
    ]


def may_not_reserve(
    active: ActiveCell, one: AdvanceReservation, sender: str, administrators: Collection[str]
) -> Answer | None:
    """The refusal of an advance reservation that its owner may not make, or that cannot exist; None for none."""
    from roost.gridengine.pool.requests import Reader
    from roost.gridengine.pool.reservations import complaints, may_reserve

    cell = active.cell
    manages = one.owner in cell.managers or sender in administrators
    if not manages and not may_reserve(cell, one.owner, groups_of(one.owner)):
        text = f'denied: "{one.owner}" must be manager or in userset "arusers"'
        return Answer(ok=False, code="not-permitted", text=text)
    text = next(complaints(one, cell, Reader(cell, groups_of)), "")
    return Answer(ok=False, code="not-admitted", text=text) if text else None


def granted(
    active: ActiveCell, one: AdvanceReservation, pool: Snapshot, suspensions: Suspensions
) -> AdvanceReservation | Reserved:
    """A reservation's resources in the current pool, or why there are not enough."""
    from roost.gridengine.pool.cycle import cell_snapshot, pool_hosts
    from roost.gridengine.pool.hosts import Hosts
    from roost.gridengine.pool.reservations import granted as granted_to
    from roost.negotiator.timing import at_once

    found_hosts = at_once(pool_hosts(pool, Hosts(active.cell, active.instances)))
    found = granted_to(one, cell_snapshot(active, pool, found_hosts, suspensions), groups_of)
    if isinstance(found, AdvanceReservation):
        return found
    return Reserved(number=0, reasons=tuple(reason.sentence() for reason in found))


def _offered(offer: AvailableResource) -> HostOffer:
    """In wire form: JSON has no infinite numbers."""
    value = "infinity" if offer.value == math.inf else offer.value
    return HostOffer(name=offer.name, source=offer.source, value=value)

"""Advance reservations between the model and the wire."""

from __future__ import annotations

from roost.model.cell_reservations import AdvanceReservation
from roost.wire.requests.cell import Granted, Reservation


def data_as(one: AdvanceReservation) -> Reservation:
    """A reservation as messages have it."""
    grants = tuple(Granted(instance=instance, slots=slots) for instance, slots in one.grants)
    return Reservation(**{**one._asdict(), "grants": grants})


def reservation_from(row: Reservation) -> AdvanceReservation:
    """A reservation as the model has it."""
    values = {name: getattr(row, name) for name in AdvanceReservation._fields}
    return AdvanceReservation(**{**values, "grants": tuple((one.instance, one.slots) for one in row.grants)})

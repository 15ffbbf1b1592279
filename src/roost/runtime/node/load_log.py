"""The log lines of D_LOAD: load and idle times of an execute machine, and how they are apportioned to slots."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from roost.node.machine import Machine
from roost.node.plan import Reading
from roost.runtime.log_settings import LOADS
from roost.startd.idleness import log_line, slot_idleness
from roost.startd.load import averages_line

_log = logging.getLogger(LOADS)


def log_loads(machine: Machine, reading: Reading, now: float) -> None:
    """Log a sensor reading that the machine's core has just received, if D_LOAD is set."""
    if _log.isEnabledFor(logging.DEBUG):
        for line in load_lines(machine, reading, now):
            _log.debug("%s", line)


def load_lines(machine: Machine, reading: Reading, now: float) -> Iterator[str]:
    """The machine's lines, then those of each slot."""
    yield averages_line(reading.load)
    yield reading.idleness.line
    if machine.load is None:
        return
    yield machine.load.line
    started_at = machine.plan.identity.started_at
    for slot in machine.slots:
        place, load = slot.plan.id, machine.load.slots.get(slot.plan.id)
        idle = slot_idleness(reading.idleness, place, machine.plan.connected, now=now, started_at=started_at)
        yield f"{place}: {log_line(idle)}"
        if load is not None:
            yield f"{place}: {load.line}"
    for slot in machine.slots:
        yield f"{slot.plan.id}: State: {slot.state.state} Activity: {slot.state.activity}"

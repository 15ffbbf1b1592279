"""The state of a job in the queue in DRMAA's terms."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from roost.base.records import dataclass
from roost.explain.cell_tasks import held_by
from roost.model.cell_requests import HELD, NOT_BEFORE, PREDECESSORS
from roost.schedd.status import JobStatus

#: Attributes from which a state is read.
SHOWN: Final = (
    "ClusterId", "ProcId", "JobStatus", "HoldReasonCode", "RemoteHost", HELD, NOT_BEFORE, PREDECESSORS,
)  # fmt: skip


class State(IntEnum):
    """DRMAA_PS_…"""

    UNDETERMINED = 0x00
    QUEUED_ACTIVE = 0x10
    SYSTEM_ON_HOLD = 0x11
    USER_ON_HOLD = 0x12
    USER_SYSTEM_ON_HOLD = 0x13
    RUNNING = 0x20
    SYSTEM_SUSPENDED = 0x21
    USER_SUSPENDED = 0x22
    USER_SYSTEM_SUSPENDED = 0x23
    DONE = 0x30
    FAILED = 0x40


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts about a job that are not in its ad."""

    #: Epoch s.
    now: float
    has_cell: bool
    #: Whether other jobs must leave first.
    waits: bool = False
    #: Whether a user suspended it.
    by_user: bool = False
    by_system: bool = False


def state_of(row: Mapping[str, Any], known: Known) -> State:
    """The state of a job in the queue; a running job with a hold that applies after its run is on hold, as in Grid
    Engine."""
    later = known.waits or float(row.get(NOT_BEFORE) or 0) > known.now
    match row.get("JobStatus"):
        case JobStatus.IDLE:
            return State.SYSTEM_ON_HOLD if later else State.QUEUED_ACTIVE
        case JobStatus.HELD:
            holds = held_by(row)
            if not holds:
                # It is in error state.
                return State.FAILED if known.has_cell else State.SYSTEM_ON_HOLD
            return _on_hold(holds, later=later)
        case JobStatus.RUNNING | JobStatus.TRANSFERRING_OUTPUT | JobStatus.SUSPENDED if held_by(row):
            return _on_hold(held_by(row), later=False)
        case JobStatus.RUNNING | JobStatus.TRANSFERRING_OUTPUT:
            return State.RUNNING
        case JobStatus.SUSPENDED:
            if known.by_system:
                return State.USER_SYSTEM_SUSPENDED if known.by_user else State.SYSTEM_SUSPENDED
            return State.USER_SUSPENDED
        case JobStatus.REMOVED:
            return State.RUNNING if row.get("RemoteHost") else State.FAILED
        case JobStatus.COMPLETED:
            return State.DONE
    return State.UNDETERMINED


def _on_hold(holds: str, *, later: bool) -> State:
    if "u" not in holds:
        return State.SYSTEM_ON_HOLD
    return State.USER_SYSTEM_ON_HOLD if later or set(holds) - {"u"} else State.USER_ON_HOLD

"""What the daemon knows between two steps, what it can be told, and what it orders.

The state is plain frozen data, so that it can be written down and read again (`persisted`): the time of the last round,
because the worth of hours and days counts from there, and the figures of its ad.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.defrag.figures import Figures
from roost.model.events import DrainSchedule
from roost.model.plain import Plain, PlainError, from_plain, to_plain

# -- events ------------------------------------------------------------------------------------------------


class DefragTimer(StrEnum):
    """The timers of the daemon."""

    ROUND = "round"
    UPDATE = "update"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragTimerFired:
    """A timer ran out."""

    timer: DefragTimer


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSeen:
    """The answer to `QueryPool`: the ads of all slots that it asked for."""

    ads: tuple[ClassAd, ...]
    #: Decides between machines of equal rank; another one each time lets none of them always be the first.
    chance: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolNotSeen:
    """The collector did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainAnswered:
    """A machine has begun to drain, or refused."""

    machine: str
    #: Why it refused; "" if it did not.
    refusal: str = ""


DefragEvent: TypeAlias = DefragTimerFired | PoolSeen | PoolNotSeen | DrainAnswered

# -- effects -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDefragTimer:
    """Fire `timer` at `at`, epoch s; an earlier setting of the same timer is void."""

    timer: DefragTimer
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPool:
    """Ask the collector for the slots that this is TRUE of."""

    constraint: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDrain:
    """Ask a machine to drain itself, and to go back to work afterwards."""

    machine: str
    #: MyAddress of its daemon; "" where its ads do not say.
    address: str
    schedule: DrainSchedule
    #: Must be TRUE for every slot, as the machine sees itself; None for no condition.
    check: Expr | None
    #: START while draining; None for no jobs.
    start: Expr | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCancellation:
    """Ask a machine to end its drain."""

    machine: str
    address: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishDefragAd:
    """Send the daemon's ad to the collector."""

    ad: ClassAd


DefragEffect: TypeAlias = SetDefragTimer | QueryPool | RequestDrain | RequestCancellation | PublishDefragAd

# -- state -------------------------------------------------------------------------------------------------

_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragState:
    """The daemon between two steps."""

    #: When the last round began, epoch s; None before the first.
    last_round_at: float | None = None
    #: The pool is being asked.
    asking: bool = False
    #: Machine to when its drain was asked for, epoch s, until an ad of it is younger than that.
    begun: Mapping[str, float] = field(default_factory=dict)
    #: Machines that were being drained by this daemon at the last round.
    draining: tuple[str, ...] = ()
    figures: Figures = field(default_factory=Figures)


def persisted(state: DefragState) -> Plain:
    """The state as plain data."""
    return {"format": "roost defrag", "version": _VERSION, "content": to_plain(state)}


def restored(record: object) -> DefragState:
    """The state of plain data; nothing waits for an answer any more. Raises PlainError."""
    if not isinstance(record, dict) or record.get("format") != "roost defrag" or record.get("version") != _VERSION:
        raise PlainError("defrag", f"a record of the defragmentation daemon, version {_VERSION},", record)
    state = from_plain(DefragState, record.get("content"), "defrag")
    return DefragState(
        last_round_at=state.last_round_at, begun=state.begun, draining=state.draining, figures=state.figures
    )

"""The daemon's state between two steps, its events and its effects.

The state is plain frozen data, so that it can be saved and restored (`persisted`): the time of the last round, from
which the allowances of hours and days are computed, and the figures of its ad.
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
    """A timer fired."""

    timer: DefragTimer


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSeen:
    """The answer to `QueryPool`: the ads of all requested slots."""

    ads: tuple[ClassAd, ...]
    #: Breaks ties between machines of equal rank; it differs each time, so that no machine is always first.
    chance: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolNotSeen:
    """The collector did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainAnswered:
    """A machine has started to drain, or refused."""

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
    """Ask the collector for the slots for which the constraint is TRUE."""

    constraint: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDrain:
    """Ask a machine to drain itself, and to accept jobs again afterwards."""

    machine: str
    #: MyAddress of its daemon; "" if its ads do not say.
    address: str
    schedule: DrainSchedule
    #: Must be TRUE for every slot, as the machine sees itself; None for no condition.
    check: Expr | None
    #: START while draining; None for no jobs.
    start: Expr | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCancellation:
    """Ask a machine to cancel its drain."""

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
    #: Whether a query of the pool is pending.
    asking: bool = False
    #: Machine to when its drain was requested, epoch s, until a newer ad of it arrives.
    begun: Mapping[str, float] = field(default_factory=dict)
    #: Machines that were being drained by this daemon at the last round.
    draining: tuple[str, ...] = ()
    figures: Figures = field(default_factory=Figures)


def persisted(state: DefragState) -> Plain:
    """The state as plain data."""
    return {"format": "roost defrag", "version": _VERSION, "content": to_plain(state)}


def restored(record: object) -> DefragState:
    """The state from plain data; no query is pending. Raises PlainError."""
    if not isinstance(record, dict) or record.get("format") != "roost defrag" or record.get("version") != _VERSION:
        raise PlainError("defrag", f"a record of the defragmentation daemon, version {_VERSION},", record)
    state = from_plain(DefragState, record.get("content"), "defrag")
    return DefragState(
        last_round_at=state.last_round_at, begun=state.begun, draining=state.draining, figures=state.figures
    )

"""What the last matchmaking cycle answers to those who ask why: about a job, and about a slot.

The matchmaker of a pool gives the first two (`roost.negotiator.cycle_record`), the scheduling run of a Grid Engine cell
the third (`roost.gridengine.pool.cycle`); `roost.explain` takes them apart.
"""

from __future__ import annotations

from typing import Final

from roost.base.structs import Struct

_NONE: Final[dict[str, int]] = {}
_NO_USE: Final[dict[str, float]] = {}


class CycleFigures(Struct):
    """A matchmaking cycle in figures; what is 0 may not apply to the cycle of the pool."""

    #: Slots whose ads there were, of them those that jobs could get, and cause to number of the others.
    slots: int = 0
    available: int = 0
    unavailable: dict[str, int] = _NONE
    #: Sum of SLOT_WEIGHT of the slots.
    weight: float = 0.0
    submitters: int = 0
    #: Autoclusters that wanted slots, of all submitters.
    requests: int = 0
    matches: int = 0
    #: Matches that displace a job.
    preempting: int = 0
    #: Requests that got no, or no further, slot, and text to number of them.
    rejected: int = 0
    rejected_by: dict[str, int] = _NONE
    #: Rounds of the cycle.
    spins: int = 0
    #: How often a limit on time ended the service of a submitter.
    timed_out: int = 0
    #: Requests that were judged anew, and slots that were judged for all.
    judged_requests: int = 0
    judged_slots: int = 0
    #: Ads and matches that the pool's policy kept out.
    findings: int = 0
    #: Concurrency limit to its use.
    limits_in_use: dict[str, float] = _NO_USE
    #: In a pool with a Grid Engine cell: the revision of the cell, its queue instances, and tasks that run.
    cell_revision: int = 0
    queue_instances: int = 0
    tasks: int = 0


class KnobSource(Struct):
    """An expression of the pool's policy, as it was asked, and where it was set."""

    name: str
    text: str
    #: "" where it was not configured.
    place: str


class SlotsOfCause(Struct):
    """Slots by what kept them from a job."""

    cause: str
    count: int
    #: Some of them.
    slots: list[str]
    #: User to number of these slots, where they are in use, the largest first.
    holders: dict[str, int]


class Served(Struct):
    """How a submitter fared."""

    submitter: str
    #: Effective priority, the lower the better.
    priority: float
    #: Weight that it had before the cycle, and what the cycle gave.
    used: float
    got: float
    #: Weight that is its due of the pool, or of its group's quota; None if it was not visited for its share.
    share: float | None
    #: Jobs that it offered, and those that are left.
    wanted: int
    left: int
    group: str


class GroupUse(Struct):
    """The quota of a submitter's group: weights."""

    name: str
    quota: float
    #: What this cycle lets it have.
    allocated: float
    used: float
    #: Whether it takes what other groups leave.
    accepts: bool


class LimitUse(Struct):
    """A concurrency limit in the way of a job."""

    name: str
    limit: float
    in_use: float
    #: What one job needs.
    wanted: float


class CeilingUse(Struct):
    """What a user or submitter may use at once: weights."""

    name: str
    limit: float
    in_use: float
    #: A knob, or the command of an administrator.
    set_by: str


class JobInCycle(Struct):
    """What the last cycle made of a job, which stands for all of its autocluster."""

    #: When the cycle was, epoch s, and the matchmaker's distance from UTC, s to the east.
    at: float
    zone_offset_s: int
    #: Why it got nothing; "" if it got slots.
    text: str
    #: Slots in the pool, and their weight.
    slots: int
    weight: float
    causes: list[SlotsOfCause]
    #: The expression that kept the job, or its submitter, out of matchmaking.
    knob: KnobSource | None
    submitter: str
    #: Those who are served before its submitter, itself, and the next.
    served: list[Served]
    #: None without groups.
    group: GroupUse | None
    #: Cause to the knob that may be behind it.
    sources: dict[str, KnobSource | None]
    #: What of its own ad kept it out; "" for nothing.
    out: str = ""
    #: Jobs that its queue offered with it, and those that are left; None where its submitter is kept out.
    jobs: int | None = None
    left: int | None = None
    #: Whether slots were looked at for it.
    visited: bool = False
    #: Slots that it was given.
    given: list[str]
    #: Cause to number of slots, of what is not about verdicts: limits, and who may take a slot from whom.
    besides: dict[str, int]
    limits: list[LimitUse]
    ceilings: list[CeilingUse]
    #: What the smallest slot counts of those that a ceiling refused to a user without other jobs; None for none.
    too_large: float | None = None
    #: Whether a slot counts as a whole, whatever the job requests.
    whole: bool = False


class JobInCell(Struct):
    """What the last scheduling run of a Grid Engine cell made of a job."""

    #: When the run was, epoch s.
    at: float
    #: Of the cell.
    revision: int
    #: Why it waits, a sentence each, as `qstat -j` prints them.
    reasons: list[str]
    #: None if it took no part.
    priority: float | None


class GivenTo(Struct):
    """A match."""

    job: str
    user: str
    #: By what right it was taken from another job; "none" for a slot that was free.
    preempts: str


class RequestsOfCause(Struct):
    """Requests by what became of them on a slot, with the job of one."""

    cause: str
    count: int
    job: str


class SlotInCycle(Struct):
    """What the last cycle made of a slot."""

    at: float
    zone_offset_s: int
    #: Why no job was offered it; "" if it was on offer.
    out: str
    #: The expression that says so.
    knob: KnobSource | None
    given: list[GivenTo]
    requests: list[RequestsOfCause]
    sources: dict[str, KnobSource | None]


__all__ = [
    "CeilingUse", "GivenTo", "GroupUse", "JobInCell", "JobInCycle", "KnobSource", "LimitUse", "RequestsOfCause",
    "Served", "SlotInCycle", "SlotsOfCause",
]  # fmt: skip

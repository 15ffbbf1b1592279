"""Explanations of the last matchmaking cycle, about a job and about a slot.

The matchmaker of a pool gives the first two (`roost.negotiator.cycle_record`), the scheduling run of a Grid Engine cell
the third (`roost.gridengine.pool.cycle`); `roost.explain` takes them apart.
"""

from __future__ import annotations

from typing import Final

from roost.base.structs import Struct

_NONE: Final[dict[str, int]] = {}
_NO_USE: Final[dict[str, float]] = {}


class CycleFigures(Struct):
    """Statistics of a matchmaking cycle; 0 may mean that a figure does not apply to the pool's kind of cycle."""

    #: Slots with ads, slots available to jobs, and cause to number of the unavailable ones.
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
    #: Requests that were judged again, and slots that were judged for all requests.
    judged_requests: int = 0
    judged_slots: int = 0
    #: Ads and matches that the pool's policy kept out.
    findings: int = 0
    #: Concurrency limit to its use.
    limits_in_use: dict[str, float] = _NO_USE
    #: In a pool with a Grid Engine cell: the revision of the cell, its queue instances, and running tasks.
    cell_revision: int = 0
    queue_instances: int = 0
    tasks: int = 0


class KnobSource(Struct):
    """An expression of the pool's policy, as evaluated, and where it was set."""

    name: str
    text: str
    #: "" if it was not configured.
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
    #: Effective priority; lower is better.
    priority: float
    #: Weight in use before the cycle, and weight given in it.
    used: float
    got: float
    #: Its fair share of the pool, or of its group's quota, as weight; None if it was not visited for its share.
    share: float | None
    #: Jobs in its requests, and those left unmatched.
    wanted: int
    left: int
    group: str


class GroupUse(Struct):
    """The quota of a submitter's group: weights."""

    name: str
    quota: float
    #: Allocation in this cycle.
    allocated: float
    used: float
    #: Whether it accepts the surplus of other groups.
    accepts: bool


class LimitUse(Struct):
    """A concurrency limit that blocks a job."""

    name: str
    limit: float
    in_use: float
    #: Amount that one job needs.
    wanted: float


class CeilingUse(Struct):
    """What a user or submitter may use at once: weights."""

    name: str
    limit: float
    in_use: float
    #: A knob, or the command of an administrator.
    set_by: str


class JobInCycle(Struct):
    """The outcome of a job in the last cycle; the job stands for its whole autocluster."""

    #: When the cycle ran, epoch s, and the matchmaker's offset from UTC, s east.
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
    #: The submitters served before its own, its own, and the next one.
    served: list[Served]
    #: None without groups.
    group: GroupUse | None
    #: Cause to the knob that may be responsible.
    sources: dict[str, KnobSource | None]
    #: What in its own ad kept it out; "" for nothing.
    out: str = ""
    #: Jobs in its queue's request, and those left unmatched; None if its submitter is kept out.
    jobs: int | None = None
    left: int | None = None
    #: Slots that it was given.
    given: list[str]
    #: Cause to number of slots, for causes other than verdicts: limits and preemption.
    besides: dict[str, int]
    limits: list[LimitUse]
    ceilings: list[CeilingUse]
    #: The smallest weight of the slots that a ceiling refused to a user without other jobs; None for none.
    too_large: float | None = None
    #: Whether a slot counts as a whole, whatever the job requests.
    whole: bool = False


class JobInCell(Struct):
    """The outcome of a job in the last scheduling run of a Grid Engine cell."""

    #: When the run took place, epoch s.
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
    #: Why it was preempted from another job; "none" for a free slot.
    preempts: str


class RequestsOfCause(Struct):
    """Requests by their outcome on a slot, with one job as an example."""

    cause: str
    count: int
    job: str


class SlotInCycle(Struct):
    """The outcome of a slot in the last cycle."""

    at: float
    zone_offset_s: int
    #: Why it was not available to jobs; "" if it was.
    out: str
    #: The expression responsible.
    knob: KnobSource | None
    given: list[GivenTo]
    requests: list[RequestsOfCause]
    sources: dict[str, KnobSource | None]


__all__ = [
    "CeilingUse", "GivenTo", "GroupUse", "JobInCell", "JobInCycle", "KnobSource", "LimitUse", "RequestsOfCause",
    "Served", "SlotInCycle", "SlotsOfCause",
]  # fmt: skip

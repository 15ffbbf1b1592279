"""The input and output of a matchmaking cycle: slots and idle jobs at one instant, and the plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from roost.base.fast_records import field, record
from roost.classad import ClassAd, FixedWorld
from roost.classad.vector import Table
from roost.model.cycle_answers import JobInCell, JobInCycle, SlotInCycle
from roost.negotiator.pool_policy import Cause, Counted, Finding

if TYPE_CHECKING:
    from roost.negotiator.single_slots import SlotSource


@record
class Request:
    """Idle jobs of one autocluster that follow each other in their submitter's order."""

    autocluster: int
    ad: ClassAd
    count: int
    #: The first of these jobs, such as ``12.0``.
    job: str
    #: The id of the request that submitted it; "" if unknown.
    submission: str = ""


@record
class SubmitterDemand:
    """What one submitter wants from one queue, in the submitter's order."""

    schedd: str
    submitter: str
    requests: tuple[Request, ...]
    #: The submitter's ad.
    ad: ClassAd = field(default_factory=ClassAd)
    #: How many slots its queue may get for all its submitters together; None for no limit.
    room: int | None = None
    #: How often jobs became idle in its queue; None if the queue has not reported all idle jobs.
    arrivals: int | None = None


@record
class Pledge:
    """The cost of a match of an earlier cycle, and to whom it is charged until the slot reports the claim."""

    submitter: str
    #: Of the slot.
    weight: float
    #: The user that the queue vouches for; "" if unknown.
    person: str = ""
    #: Weight that counts for the user's ceilings, if it differs: that of the part of the slot that the job takes.
    part: float | None = None
    #: Concurrency limits that it takes, name and amount.
    licences: tuple[tuple[str, float], ...] = ()
    #: The allocation of the job in a Grid Engine cell (`roost.gridengine.pool.tasks`); None in a pool without one.
    task: ClassAd | None = None


@record
class Snapshot:
    """The pool as a cycle sees it."""

    #: Slot ads by name.
    slots: Table
    #: Name of a slot to the id of the claim that it offers; slots without an entry are not available.
    claims: Mapping[str, str]
    #: Name of a slot to the machine that it is on.
    nodes: Mapping[str, str]
    demands: tuple[SubmitterDemand, ...]
    #: Epoch s.
    now: float
    #: Seconds east of UTC of the matchmaker's zone.
    zone_offset_s: int = 0
    #: Names of the slots that were given away but whose machines have not reported it yet.
    promised: Collection[str] = frozenset()
    #: The costs of these slots.
    pledges: tuple[Pledge, ...] = ()
    #: For each row of `slots`, a number that exceeds all earlier ones when the row has changed; None if unknown.
    versions: np.ndarray | None = None
    #: The slots, if a `SingleSlots` tries them one by one; `slots` is then empty.
    slot_source: SlotSource | None = None

    @property
    def world(self) -> FixedWorld:
        """The world in which expressions are evaluated."""
        return FixedWorld(instant=self.now, offset=self.zone_offset_s)


@record
class Part:
    """A further slot of a job that gets several, all or none."""

    slot: str
    node: str
    claim_id: str
    #: Its cost, and its part of the allocation in a Grid Engine cell.
    pledge: Pledge


@record
class Match:
    """A slot for a job."""

    schedd: str
    submitter: str
    autocluster: int
    #: The first job of the request. The queue decides which of its jobs gets the slot.
    job: str
    #: Jobs of the request.
    among: int = 1
    #: The id of the request that submitted that job; "" if it is not known.
    submission: str = ""
    slot: str
    node: str
    claim_id: str
    #: "none", "rank" or "prio".
    preempts: str = "none"
    #: The user who loses the slot; "" for none.
    holder: str = ""
    #: Its cost.
    pledge: Pledge | None = None
    #: The slot's ad if it differs from the collector's: the state of a shrinking slot before the match.
    slot_ad: ClassAd | None = None
    #: Further slots of a parallel job, which starts once it has all of them.
    parts: tuple[Part, ...] = ()

    @property
    def slots(self) -> tuple[Match | Part, ...]:
        """All slots of the match."""
        return (self, *self.parts)


@record
class Rejection:
    """Why jobs of an autocluster got no, or no further, slot."""

    #: The text that queues expect.
    text: str
    #: Cause to the number of slots that it ruled out.
    causes: Mapping[str, int] = field(default_factory=dict)


class CycleTrace(Protocol):
    """The record of a cycle for explanations."""

    def about_request(self, schedd: str, submitter: str, autocluster: int) -> JobInCycle | JobInCell | None:
        """Why a request got nothing, or what it got; None if it was not in the cycle."""

    def about_slot(self, slot: str) -> SlotInCycle | None:
        """The outcome of a slot in the cycle; None if it has no answer."""


@record
class Plan:
    """What a cycle decided."""

    matches: tuple[Match, ...] = ()
    #: (queue, autocluster) to why.
    rejected: Mapping[tuple[str, int], Rejection] = field(default_factory=dict)
    #: Figures of the cycle, for the log and for `roost status`.
    record: Mapping[str, Any] = field(default_factory=dict)
    #: What the pool-wide policy discarded, prevented, or could not decide.
    findings: tuple[Finding, ...] = ()
    #: The counts of all findings by cause.
    causes: Mapping[Cause, Counted] = field(default_factory=dict)
    #: Matches for which NEGOTIATOR_PE_AUDIT_EXPR is TRUE.
    noted: tuple[Match, ...] = ()
    #: For explanations; None if there were no slots, or they were tried one by one.
    trail: CycleTrace | None = field(default=None, compare=False, repr=False)

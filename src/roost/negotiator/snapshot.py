"""What a cycle of the matchmaker is about: slots, idle jobs and accounts, as they are at one instant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd, FixedWorld
from roost.classad.vector import Table
from roost.model.cycle_answers import JobInCell, JobInCycle, SlotInCycle
from roost.negotiator.pool_policy import Cause, Counted, Finding

if TYPE_CHECKING:
    from roost.negotiator.single_slots import SlotSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Idle jobs of one autocluster that follow each other in their submitter's order."""

    autocluster: int
    ad: ClassAd
    count: int
    #: The first of them, ``12.0``.
    job: str
    #: The id of the request that submitted it; "" if it is not known.
    submission: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterDemand:
    """What one submitter wants from one queue, in the submitter's order."""

    schedd: str
    submitter: str
    requests: tuple[Request, ...]
    #: The submitter's ad.
    ad: ClassAd = field(default_factory=ClassAd)
    #: How many slots its queue may be given, for all its submitters together; None for no limit.
    room: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pledge:
    """What a match of an earlier cycle costs whom, while the slot does not say so itself."""

    submitter: str
    #: Of the slot.
    weight: float
    #: The user that the queue vouches for; "" where it is not known.
    person: str = ""
    #: Weight that counts for the user's ceilings, if another: of the part that the job takes of a slot.
    part: float | None = None
    #: Concurrency limits that it takes, name and amount.
    licences: tuple[tuple[str, float], ...] = ()
    #: What the job got of a Grid Engine cell (`roost.gridengine.pool.tasks`); None in a pool without one.
    task: ClassAd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The pool as a cycle sees it."""

    #: Slot ads by name.
    slots: Table
    #: Name of a slot to the id of the claim that it offers; slots that are not in it are not to be given away.
    claims: Mapping[str, str]
    #: Name of a slot to the machine that it is on.
    nodes: Mapping[str, str]
    demands: tuple[SubmitterDemand, ...]
    #: Epoch s.
    now: float
    #: Seconds east of UTC of the matchmaker's zone.
    zone_offset_s: int = 0
    #: Names of the slots that have been given away, and whose machines have not reported it yet.
    promised: Collection[str] = frozenset()
    #: What these cost.
    pledges: tuple[Pledge, ...] = ()
    #: For each row of `slots` a number that is higher than all before when the row has changed; None: nothing is known.
    versions: np.ndarray | None = None
    #: The slots if they are asked one by one, by a `SingleSlots`; then there are none in `slots`.
    slot_source: SlotSource | None = None

    @property
    def world(self) -> FixedWorld:
        """What expressions are told of the world."""
        return FixedWorld(instant=self.now, offset=self.zone_offset_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A further slot of a job that gets several, all or none."""

    slot: str
    node: str
    claim_id: str
    #: What it costs, and what the job gets of a Grid Engine cell with it.
    pledge: Pledge


@dataclass(frozen=True, slots=True, kw_only=True)
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
    #: What it costs.
    pledge: Pledge | None = None
    #: The slot's ad if it is another one than the collector's: what was left of it before the match.
    slot_ad: ClassAd | None = None
    #: Further slots of a parallel job, which begins once it has all of them.
    parts: tuple[Part, ...] = ()

    @property
    def slots(self) -> tuple[Match | Part, ...]:
        """All slots of the match."""
        return (self, *self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why jobs of an autocluster got no, or no further, slot."""

    #: The text that queues know.
    text: str
    #: Cause to number of slots that were out of the question for it.
    causes: Mapping[str, int] = field(default_factory=dict)


class CycleTrace(Protocol):
    """What a cycle leaves behind for those who ask why."""

    def about_request(self, schedd: str, submitter: str, autocluster: int) -> JobInCycle | JobInCell | None:
        """Why a request got nothing, or what it got; None if the cycle was not asked for it."""

    def about_slot(self, slot: str) -> SlotInCycle | None:
        """What the cycle made of a slot; None if it has no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a cycle decided."""

    matches: tuple[Match, ...] = ()
    #: (queue, autocluster) to why.
    rejected: Mapping[tuple[str, int], Rejection] = field(default_factory=dict)
    #: Figures of the cycle, for the log and for `roost status`.
    record: Mapping[str, Any] = field(default_factory=dict)
    #: What the pool-wide policy discarded, prevented, or could not decide.
    findings: tuple[Finding, ...] = ()
    #: All of that, counted by cause.
    causes: Mapping[Cause, Counted] = field(default_factory=dict)
    #: Matches for which NEGOTIATOR_PE_AUDIT_EXPR is TRUE.
    noted: tuple[Match, ...] = ()
    #: For those who ask why; None where there were no slots, or they were asked one by one.
    trail: CycleTrace | None = field(default=None, compare=False, repr=False)

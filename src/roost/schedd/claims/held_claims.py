"""The claims that a queue holds or asks for.

A claim is asked for in the name of a job, and then serves one job after another as long as there is one for it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.schedd.identifiers import JobId

#: Signs of life in the time of a lease, and the shortest time between two of them, s.
ALIVES_A_LEASE: Final = 3
ALIVE_S_MIN: Final = 10.0


class Stage(StrEnum):
    """What is going on with a claim."""

    #: The machine has been asked, and has not answered.
    ASKED = "asked"
    #: Held, without a job.
    IDLE = "idle"
    #: A job runs, or is about to.
    RUNNING = "running"
    #: The queue has started again, and does not know yet.
    UNSURE = "unsure"
    #: No longer held.
    OVER = "over"


@dataclass(slots=True, kw_only=True)
class HeldClaim:
    """A claim of this queue."""

    id: str
    node: str
    slot: str
    submitter: str
    #: The slot's ad as the matchmaker or the machine sent it; None after a new start.
    slot_ad: ClassAd | None
    #: That ad as the matchmaker sent it: of a partitionable slot, the whole.
    offered: ClassAd | None = None
    #: ConcurrencyLimits of the job that it was matched for: what the matchmaker has counted for it.
    limits: str = ""
    stage: Stage = Stage.ASKED
    #: The job that it was asked for, that runs, or is about to; None for none.
    job: JobId | None = None
    run: str = ""
    #: When the machine was first asked for it, epoch s.
    wanted_at: float = 0.0
    #: When the machine was last asked for it, epoch s.
    asked_at: float = 0.0
    #: How often it was asked.
    askings: int = 0
    #: When the machine was last known to hold it, epoch s.
    heard_at: float
    #: Since when it has no job, epoch s; None while it has one.
    idle_since: float | None = None
    #: What its job got of a Grid Engine cell; None for nothing.
    task: ClassAd | None = None
    #: It is to be given back after its present job.
    unwanted: bool = False
    #: The machine has said something of the run.
    confirmed: bool = False
    #: Number of the last question to machines before the run was ordered.
    asked: int = 0
    #: How often the run was ordered.
    orders: int = 0
    #: Longest time between two signs of life, s: falls with the leases of its jobs, and never rises.
    alive_s: float = 300.0
    #: Whether a command wants the job of the present run suspended; None while no command has said anything.
    still: bool | None = None
    #: When the machine last heard a sign of life or an order that counts as one, epoch s.
    alive_at: float = 0.0

    #: The claims of the parallel job that it is one of; None for a job with one claim.
    gang: Gang | None = field(default=None, repr=False)

    @property
    def is_part(self) -> bool:
        """Whether the job runs on another claim, and this one is for further tasks of it."""
        return self.gang is not None and self.gang.master is not self

    def keep_within(self, lease_s: int) -> None:
        """Send signs of life often enough for a job with that lease; 0 or less for no lease."""
        if lease_s > 0:
            self.alive_s = min(self.alive_s, max(ALIVE_S_MIN, float(lease_s // ALIVES_A_LEASE)))


@dataclass(slots=True, kw_only=True)
class Gang:
    """The claims of one parallel job: all of them, or none (`gangs`)."""

    job: JobId
    #: The claim that the job runs on.
    master: HeldClaim
    #: All claims that are not over, with that of the master.
    claims: list[HeldClaim]
    #: Why the run is to end, since a claim is over; "" while none is.
    broken: str = ""

    @property
    def is_granted(self) -> bool:
        """Whether machines have granted all claims."""
        return all(claim.stage is not Stage.ASKED for claim in self.claims)

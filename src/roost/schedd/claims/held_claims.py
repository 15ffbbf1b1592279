"""The claims that a queue holds or requests.

A claim is requested for a job, and then serves one job after another while there is one for it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.schedd.identifiers import JobId

#: Keepalives per lease, and the minimum interval between two of them, s.
ALIVES_A_LEASE: Final = 3
ALIVE_S_MIN: Final = 10.0


class Stage(StrEnum):
    """The stage of a claim."""

    #: Requested from the machine, without an answer so far.
    ASKED = "asked"
    #: Held, without a job.
    IDLE = "idle"
    #: A job runs, or is about to.
    RUNNING = "running"
    #: The queue has restarted, and does not know yet.
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
    #: Autocluster of the jobs that it was matched for; 0 after a restart.
    autocluster: int = 0
    #: The slot's ad as the negotiator or the machine sent it; None after a restart.
    slot_ad: ClassAd | None
    #: That ad as the negotiator sent it: for a partitionable slot, the whole slot.
    offered: ClassAd | None = None
    #: ConcurrencyLimits of the job that it was matched for, as counted by the negotiator.
    limits: str = ""
    stage: Stage = Stage.ASKED
    #: The job for which it was requested, that runs, or is about to; None for none.
    job: JobId | None = None
    run: str = ""
    #: When it was first requested from the machine, epoch s.
    wanted_at: float = 0.0
    #: When it was last requested from the machine, epoch s.
    asked_at: float = 0.0
    #: Number of requests.
    askings: int = 0
    #: When the machine was last known to hold it, epoch s.
    heard_at: float
    #: Since when it has no job, epoch s; None while it has one.
    idle_since: float | None = None
    #: What its job was granted in a Grid Engine cell; None for nothing.
    task: ClassAd | None = None
    #: It is released after its current job.
    unwanted: bool = False
    #: The machine has reported about the run.
    confirmed: bool = False
    #: Number of the last question to machines when the run was ordered.
    asked: int = 0
    #: How often the run was ordered.
    orders: int = 0
    #: Maximum interval between two keepalives, s: decreases with the leases of its jobs, and never grows.
    alive_s: float = 300.0
    #: Whether a command wants the job of the current run suspended; None if there is no command, or once it is carried
    #: out.
    still: bool | None = None
    #: Whether a command was the last to suspend the job of the current run; False after a restart, until the machine
    #: reports.
    by_command: bool = False
    #: When the machine last received a keepalive or an order that counts as one, epoch s.
    alive_at: float = 0.0

    #: The claims of its parallel job; None for a job with one claim.
    gang: Gang | None = field(default=None, repr=False)

    @property
    def is_part(self) -> bool:
        """Whether the job runs on another claim, and this one is for further tasks of it."""
        return self.gang is not None and self.gang.master is not self

    def keep_within(self, lease_s: int) -> None:
        """Send keepalives often enough for a job with that lease; 0 or less for no lease."""
        if lease_s > 0:
            self.alive_s = min(self.alive_s, max(ALIVE_S_MIN, float(lease_s // ALIVES_A_LEASE)))


@dataclass(slots=True, kw_only=True)
class Gang:
    """The claims of one parallel job: all of them, or none (`gangs`)."""

    job: JobId
    #: The claim on which the job runs.
    master: HeldClaim
    #: All claims that are not over, with that of the master.
    claims: list[HeldClaim]
    #: Why the run must end because a claim is over; "" while none is.
    broken: str = ""

    @property
    def is_granted(self) -> bool:
        """Whether machines have granted all claims."""
        return all(claim.stage is not Stage.ASKED for claim in self.claims)

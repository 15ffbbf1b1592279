"""What a simulated queue keeps: its jobs, each in one place, and the claims it holds or has asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from roost.model.identifiers import ClaimId
from roost.sim.host import Machine
from roost.sim.workload import Job

#: Time after which an unanswered request is given up, s.
REPLY_S: Final = 150.0


class Place(StrEnum):
    """Where a job is."""

    COMING = "coming"
    IDLE = "idle"
    CLAIMING = "claiming"
    RUNNING = "running"
    COMPLETED = "completed"
    HELD = "held"
    REMOVED = "removed"


@dataclass(slots=True, kw_only=True)
class Entry:
    """A job in the queue."""

    job: Job
    #: Of those that are submitted at the same time, the first goes first.
    number: int = 0
    place: Place = Place.COMING
    #: Work that need not be done again, s.
    done_s: float = 0.0
    starts: int = 0
    evictions: int = 0
    #: Evictions by the starter's own policy.
    thrown_out: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    claim: Held | None = None
    #: Where it goes when its run ends before it is complete: IDLE, or what somebody ordered.
    then: Place = Place.IDLE

    @property
    def cluster(self) -> int:
        """The number before the dot of its name."""
        return int(self.job.name.partition(".")[0])


class Held:
    """A claim that the queue has, or has asked for."""

    __slots__ = (
        "arrived_at", "arrives_at", "beat_at", "claim_id", "deactivated", "entry", "granted", "lease_s", "machine",
        "open", "patience_s", "seen_at", "step",
    )  # fmt: skip

    def __init__(self, machine: Machine, claim_id: ClaimId, entry: Entry, now: float) -> None:
        self.machine = machine
        self.claim_id = claim_id
        self.entry: Entry | None = entry
        lease = entry.job.ad.eval("JobLeaseDuration")
        self.lease_s = float(lease) if isinstance(lease, int) and lease > 0 else 1800.0
        self.granted = False
        self.open = True
        #: Its job has been told to end, and the claim goes on.
        self.deactivated = False
        #: When something was heard from it last.
        self.seen_at = now
        #: Number of the request that an answer is expected to.
        self.step = 0
        #: How long an answer is waited for, s.
        self.patience_s = REPLY_S
        #: When its next sign of life is due, where they are not sent (`signs_of_life`); None where they are.
        self.beat_at: float | None = None
        #: When the last one arrives, and when the one before did; None where there was none.
        self.arrives_at: float | None = None
        self.arrived_at: float | None = None

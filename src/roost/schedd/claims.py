"""The claims that a queue holds or asks for.

A claim is asked for in the name of a job, and then serves one job after another as long as there is one for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from roost.classad import ClassAd
from roost.schedd.identifiers import JobId


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
    stage: Stage = Stage.ASKED
    #: The job that it was asked for, that runs, or is about to; None for none.
    job: JobId | None = None
    run: str = ""
    #: When the machine was last asked for it, epoch s.
    asked_at: float = 0.0
    #: How often it was asked.
    askings: int = 0
    #: When the machine was last known to hold it, epoch s.
    heard_at: float
    #: Since when it has no job, epoch s; None while it has one.
    idle_since: float | None = None
    #: It is to be given back after its present job.
    unwanted: bool = False
    #: The machine has said something of the run.
    confirmed: bool = False
    #: Number of the last question to machines before the run was ordered.
    asked: int = 0

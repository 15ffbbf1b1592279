"""What a queue knows about a job that has not started, to explain why."""

from __future__ import annotations

from roost.base.structs import Struct


class Pause(Struct):
    """A cluster requests no slots for a while because its jobs fail."""

    #: Epoch s.
    until: float
    misses: int


class LocalPolicy(Struct):
    """The expression that says whether one more job may run on the queue's own machine."""

    knob: str
    text: str


class Full(Struct):
    """A limit of the queue, because of which it requests no slots now."""

    knob: str
    most: int


class ClaimStanding(Struct):
    """The claim that a job has."""

    slot: str
    stage: str
    #: Epoch s.
    heard_at: float


class JobStanding(Struct):
    """What the queue knows about a job that has not started."""

    autocluster: int
    #: The matchmaker's last rejection; "" for none.
    rejection: str
    schedd: str
    submitter: str
    pause: Pause | None = None
    #: The max_materialize limit of its cluster, if it is reached.
    at_once: int | None = None
    #: Clusters that must leave the queue before the job may start.
    waits_for: tuple[int, ...] = ()
    local: LocalPolicy | None = None
    full: Full | None = None
    claim: ClaimStanding | None = None


__all__ = ["ClaimStanding", "Full", "JobStanding", "LocalPolicy", "Pause"]

"""What a queue knows of a job that has not started, for those who ask why it has not."""

from __future__ import annotations

from roost.base.structs import Struct


class Pause(Struct):
    """A cluster asks for no slot for a while, since its jobs end badly."""

    #: Epoch s.
    until: float
    misses: int


class LocalPolicy(Struct):
    """The expression that says whether one more job may run on the queue's own machine."""

    knob: str
    text: str


class Full(Struct):
    """A limit of the queue, by which it asks for no slot now."""

    knob: str
    most: int


class Claim(Struct):
    """The claim that a job has."""

    slot: str
    stage: str
    #: Epoch s.
    heard_at: float


class Standing(Struct):
    """What the queue knows of a job that has not started."""

    autocluster: int
    #: What the matchmaker said last; "" for nothing.
    rejection: str
    schedd: str
    submitter: str
    pause: Pause | None = None
    #: Where that many jobs of its cluster are in the queue, and no more may be.
    at_once: int | None = None
    #: Clusters that have to leave before the job may start.
    waits_for: tuple[int, ...] = ()
    local: LocalPolicy | None = None
    full: Full | None = None
    claim: Claim | None = None


__all__ = ["Claim", "Full", "LocalPolicy", "Pause", "Standing"]

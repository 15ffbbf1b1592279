"""A transition of a slot as its machine records it: what happened, to whose job, and the expression that decided."""

from __future__ import annotations

from roost.base.structs import Struct


class ClauseSeen(Struct):
    """A clause of an expression that decided."""

    clause: str
    value: str
    #: What made it so, such as ``KeyboardIdle is 0``.
    because: tuple[str, ...]


class ProgramEnd(Struct):
    """How a program ended by itself: one of both is null."""

    code: int | None
    signal: int | None


class SlotTransition(Struct):
    """A transition of a slot, or of its starter; what is empty was not known, or does not apply."""

    #: Epoch s.
    at: float
    slot: str
    #: State and activity, such as ``Claimed/Busy``; of a starter its state.
    from_: str
    to: str
    #: In the table of transitions, such as 14 or 12a; of a starter ``starter 4``.
    number: str
    #: `roost.model.reasons.Reason`.
    reason: str
    #: What ended a run, of those that have more to say than the reason.
    cause: str = ""
    #: The starter's own transition, not the slot's.
    starter: bool = False
    job: str = ""
    #: The program of a fetched job, which has no name in a queue.
    fetched: str = ""
    user: str = ""
    #: Of the job's program, where it ended by itself.
    exit: ProgramEnd | None = None
    #: What of a Grid Engine cell suspends the job, a sentence each.
    cell: tuple[str, ...] = ()
    #: The id of the request that led to it: the order to end the run, otherwise the submission.
    request: str = ""
    #: The id of the request that submitted the job.
    submission: str = ""
    #: The expression that decided, its value, and where it was set.
    expression: str = ""
    value: str = ""
    place: str = ""
    #: The clauses that made the value.
    why: tuple[ClauseSeen, ...] = ()
    #: What would change the value, all else being as it is.
    otherwise: tuple[str, ...] = ()


__all__ = ["ClauseSeen", "ProgramEnd", "SlotTransition"]

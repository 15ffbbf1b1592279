"""A transition of a slot as its machine records it: what happened, to whose job, and the expression that decided."""

from __future__ import annotations

from roost.base.structs import Struct


class ClauseSeen(Struct):
    """A clause of a deciding expression."""

    clause: str
    value: str
    #: The values that decided it, such as ``KeyboardIdle is 0``.
    because: tuple[str, ...]


class ProgramEnd(Struct):
    """How a program exited by itself: one of the two is null."""

    code: int | None
    signal: int | None


class SlotTransition(Struct):
    """A transition of a slot, or of its starter; empty fields are unknown or do not apply."""

    #: Epoch s.
    at: float
    slot: str
    #: State and activity, such as ``Claimed/Busy``; of a starter its state.
    from_: str
    to: str
    #: Number in the table of transitions, such as 14 or 12a; for a starter, ``starter 4``.
    number: str
    #: `roost.model.reasons.Reason`.
    reason: str
    #: Why a run ended, if there is more detail than the reason.
    cause: str = ""
    #: Whether it is the starter's transition rather than the slot's.
    starter: bool = False
    job: str = ""
    #: The program of a fetched job, which has no name in a queue.
    fetched: str = ""
    user: str = ""
    #: How the job's program ended, if it exited by itself.
    exit: ProgramEnd | None = None
    #: What suspends the job in a Grid Engine cell, in sentences.
    cell: tuple[str, ...] = ()
    #: The id of the request that led to it: the order to end the run, otherwise the submission.
    request: str = ""
    #: The id of the request that submitted the job.
    submission: str = ""
    #: The expression that decided, its value, and where it was set.
    expression: str = ""
    value: str = ""
    place: str = ""
    #: The clauses that decided the value.
    why: tuple[ClauseSeen, ...] = ()
    #: What would change the value, all else being equal.
    otherwise: tuple[str, ...] = ()


__all__ = ["ClauseSeen", "ProgramEnd", "SlotTransition"]

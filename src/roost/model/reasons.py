"""Typed reasons: why a slot changed, why a request was refused, why a job had to leave.

A reason is created where the decision is made, and only rendered elsewhere. The numbers of `VacateReason` are
HTCondor's, as in jobs' ads and logs.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final


class Reason(StrEnum):
    """Why a slot went from one state and activity to another."""

    OWNER_ABSENT = "owner absent"
    OWNER_PRESENT = "owner present"
    BENCHMARKS_DUE = "benchmarks due"
    BENCHMARKS_DONE = "benchmarks done"
    MATCH = "match"
    MATCH_TIMEOUT = "match timeout"
    START_FALSE = "START false"
    CLAIM_ACCEPTED = "claim accepted"
    CLAIM_REFUSED = "claim refused"
    CLAIM_RELEASED = "claim released"
    CLAIM_MOVED = "claim moved to a dynamic slot"
    ACTIVATION = "activation"
    FETCHED_WORK = "fetched work"
    NO_MORE_WORK = "no more fetched work"
    JOB_ENDED = "job ended"
    FINAL_UPDATE = "final update of the starter"
    SUSPENSION = "SUSPEND true"
    SUSPENSION_ORDERED = "suspension ordered"
    CONTINUATION = "CONTINUE true"
    CONTINUATION_ORDERED = "continuation ordered"
    CELL_SUSPENSION = "suspended by the cell"
    CELL_CONTINUATION = "no longer suspended by the cell"
    PREEMPTION = "PREEMPT true"
    BETTER_MATCH = "better match"
    CAUSE_GONE = "cause of retirement gone"
    SUCCESSOR = "next claim takes over"
    EVICTION_ORDERED = "eviction ordered"
    RETIREMENT_OVER = "retirement over"
    WORKLIFE_OVER = "work life of the claim over"
    KILL = "KILL true"
    VACATE_TIME_OVER = "vacate time over"
    HARD_KILL_ORDERED = "hard kill ordered"
    STARTER_GONE = "starter gone"
    BACKFILL_WANTED = "START_BACKFILL true"
    BACKFILL_UNWANTED = "EVICT_BACKFILL true"
    BACKFILL_RUNNING = "backfill client running"
    BACKFILL_ENDED = "backfill client ended"
    BACKFILL_DISPLACED = "backfill displaced"
    DRAINING = "draining"
    ALL_SLOTS_DRAINED = "all slots drained"
    DRAIN_OVER = "drain over"
    LEAVING = "slot leaving"


class Refusal(StrEnum):
    """Why a request was refused."""

    UNKNOWN_CLAIM = "no claim of this slot has that id"
    WRONG_STATE = "the slot is not in a state for that"
    PREEMPTING = "the slot is getting rid of a claim"
    SHUTTING_DOWN = "the daemon is shutting down"
    DRAINING = "the machine is being drained"
    ALREADY_DRAINING = "Draining already in progress"
    DRAIN_CHECK_FAILED = "the check expression is not TRUE for every slot"
    NO_SUCH_DRAIN = "No matching draining request id"
    REQUIREMENTS = "the slot's requirements do not accept the job"
    RANK_TOO_LOW = "the slot ranks the job lower than the present one"
    WITHDRAWN = "the request was withdrawn"
    OUTBID = "another claim took its place"
    CLAIM_ENDED = "the claim is being ended"
    DELETED = "the slot has been deleted"
    LEAVING = "the slot is leaving: the machine is laid out again"


class Leaving(StrEnum):
    """Why a slot is deleted once its job is gone; the texts are SlotLeavingReason."""

    SURPLUS = "the configuration has fewer slots of its type"
    CHANGED = "the configuration gives the slot other resources"


class VacateReason(IntEnum):
    """VacateReasonCode of a job's ad, each with its text."""

    CLAIM_DEACTIVATED = 1009
    VACATE_COMMAND = 1010
    PREEMPT_EXPRESSION = 1011
    SHUTDOWN = 1013
    DRAINING = 1014
    RELEASE_COMMAND = 1017
    BETTER_RANK = 1018
    BETTER_USER_PRIORITY = 1019
    #: The code of a failed reconnection, which the queue will see when it looks for its job.
    LEASE_EXPIRED = 1008
    #: Roost's addition.
    SLOT_BROKEN = 1099

    @property
    def text(self) -> str:
        """The text for the code."""
        return _TEXTS[self]


_TEXTS: Final[dict[VacateReason, str]] = {
    VacateReason.CLAIM_DEACTIVATED: "Claim deactivated",
    VacateReason.VACATE_COMMAND: "Claim vacated by the administrator",
    VacateReason.PREEMPT_EXPRESSION: "PREEMPT expression evaluated to True",
    VacateReason.SHUTDOWN: "Startd was shutdown",
    VacateReason.DRAINING: "Startd was draining",
    VacateReason.RELEASE_COMMAND: "Schedd released the claim",
    VacateReason.BETTER_RANK: "Preempted for a higher Ranked job",
    VacateReason.BETTER_USER_PRIORITY: "Preempted for a Priority user",
    VacateReason.LEASE_EXPIRED: "Claim lease expired",
    VacateReason.SLOT_BROKEN: "The slot was closed after its prolog or epilog failed",
}

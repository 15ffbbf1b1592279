"""The conditions of the transition table: one function a guard.

A guard says whether it holds and which evaluations it asked for; it changes nothing. If an expression is neither TRUE
nor FALSE, the guard uses the default of the catalogue (`roost.policy.catalogue`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.model.claims import ClaimKind
from roost.model.slots import SlotKind
from roost.policy.decision import Decision, truth_of
from roost.startd import retirement
from roost.startd.claim_life import worklife
from roost.startd.slot_state import Destination
from roost.startd.transitions import Guard
from roost.startd.work import Work
from roost.tables.finder import NO, YES, Verdict

#: Makes a verdict faster than its class does.
_verdict: Final = tuple.__new__


def _is(decision: Decision) -> Verdict:
    return _verdict(Verdict, (truth_of(decision.value) is True, (decision,)))


def _is_not(decision: Decision) -> Verdict:
    return _verdict(Verdict, (truth_of(decision.value) is not True, (decision,)))


def owner_present(work: Work) -> Verdict:
    """IS_OWNER, evaluated with the claim's job if there is one."""
    return _is(work.inputs.decide("IsOwner", work.state.claim.job_ad))


def owner_absent(work: Work) -> Verdict:
    """IS_OWNER is not TRUE. UNDEFINED leaves the slot to the pool, as FALSE does."""
    return _is_not(work.inputs.decide("IsOwner"))


def start_locally_false(work: Work) -> Verdict:
    """START without a job is FALSE, not merely undefined."""
    decision = work.inputs.decide("START")
    return Verdict(decision.truth is False, (decision,))


def run_benchmarks(work: Work) -> Verdict:
    """RunBenchmarks. A slot that has just left Benchmarking skips the evaluation that follows."""
    if work.taken and work.taken[-1].number == "4":
        return NO
    return _is(work.inputs.decide("RunBenchmarks"))


def start_backfill(work: Work) -> Verdict:
    """START_BACKFILL, if a backfill system is configured and the slot is not shutting down."""
    if not work.policy.backfill or work.state.shutdown is not None or work.state.leaving is not None:
        return NO
    return _is(work.inputs.decide("START_BACKFILL"))


def evict_backfill(work: Work) -> Verdict:
    """EVICT_BACKFILL."""
    return _is(work.inputs.decide("EVICT_BACKFILL"))


def draining(work: Work) -> Verdict:
    """The machine is draining. Does not hold for a dynamic slot, which is deleted instead."""
    return YES if work.state.draining is not None and work.state.kind is not SlotKind.DYNAMIC else NO


def retirement_over(work: Work) -> Verdict:
    """The claim must end, and no time is left before its eviction begins.

    PREEMPT is evaluated again because what follows depends on whether it is the cause. The granted time decides, unless
    no time is granted.
    """
    if not work.state.in_retirement or not retirement.is_over(work.inputs):
        return NO
    activation = work.state.claim.activation
    if activation is None:
        return YES
    preempt = work.inputs.with_job("PREEMPT")
    if retirement.is_denied(work.inputs):
        return Verdict(True, (preempt,))
    return Verdict(True, (preempt, work.inputs.decide("MaxJobRetirementTime", activation.job_ad)))


def preempt_is_cause(work: Work) -> bool:
    """Whether the running job has to leave because of PREEMPT."""
    if work.state.claim.activation is None:
        return False
    return work.state.eviction.preempt_seen or work.inputs.with_job("PREEMPT").truth is True


def preempt_hard(work: Work) -> Verdict:
    """WANT_VACATE counts only if PREEMPT is the cause; UNDEFINED counts as TRUE."""
    if not preempt_is_cause(work):
        return NO
    decision = work.inputs.with_job("WANT_VACATE")
    return Verdict(decision.truth is False, (decision,))


def may_unretire(work: Work) -> Verdict:
    """No cause is left that would make the slot retire again."""
    return YES if not work.state.in_retirement else NO


def continue_(work: Work) -> Verdict:
    """CONTINUE, for a job that neither a command nor a cell suspends; those must resume it themselves."""
    activation = work.state.claim.activation
    if activation is None or activation.held_still or work.state.suspenders.causes:
        return NO
    return _is(work.inputs.with_job("CONTINUE"))


def cell_suspends(work: Work) -> Verdict:
    """The cell suspends the job. A job that is being ended is no longer suspended."""
    activation = work.state.claim.activation
    if activation is None or not work.state.suspenders.causes or activation.ended:
        return NO
    return YES if activation.soft_killed_at is None and activation.hard_killed_at is None else NO


def cell_lets_go_on(work: Work) -> Verdict:
    """The cell no longer suspends the job, and nothing else does."""
    activation, suspenders = work.state.claim.activation, work.state.suspenders
    return (
        YES
        if activation is not None and suspenders.alone and not suspenders.causes and not activation.held_still
        else NO
    )


def successor_accepted(work: Work) -> Verdict:
    """START is not FALSE for the job of the waiting claim."""
    waiting = work.state.waiting
    if waiting is None or work.state.shutdown is not None:
        return NO
    decision = work.inputs.decide("START", waiting.job_ad)
    return Verdict(decision.truth is not False, (decision,))


def worklife_over(work: Work) -> Verdict:
    """The claim has reached its maximum lifetime."""
    holds, decision = worklife(work.inputs)
    return NO if decision is None else Verdict(holds, (decision,))


def drain_grace_over(work: Work) -> Verdict:
    """The claim has had its time to get a first job; a young claim may still be waiting for it."""
    granted_at = work.state.claim.granted_at
    if work.state.draining is None or granted_at is None:
        return NO
    return YES if work.now - granted_at >= work.policy.drain_activation_grace_s else NO


def to_claimed(work: Work) -> Verdict:
    """The destination is Claimed and the request still exists; it may be withdrawn while the backfill client is being
    killed.
    """
    return YES if work.state.destination is Destination.CLAIMED and work.state.claim.request is not None else NO


def to_owner(work: Work) -> Verdict:
    """The destination is Owner, or was a claim whose request is gone."""
    if work.state.destination is Destination.CLAIMED:
        return YES if work.state.claim.request is None else NO
    return YES if work.state.destination is Destination.OWNER else NO


def _passed(at: float | None, now: float) -> Verdict:
    return YES if at is not None and at <= now else NO


GUARDS: Final[Mapping[Guard, Callable[[Work], Verdict]]] = {
    Guard.OWNER_PRESENT: owner_present,
    Guard.OWNER_ABSENT: owner_absent,
    Guard.START_LOCALLY_FALSE: start_locally_false,
    Guard.RUN_BENCHMARKS: run_benchmarks,
    Guard.START_BACKFILL: start_backfill,
    Guard.EVICT_BACKFILL: evict_backfill,
    Guard.DRAINING: draining,
    Guard.NOT_DRAINING: lambda work: YES if work.state.draining is None else NO,
    Guard.ALL_DRAINED: lambda work: YES if work.state.machine.all_drained else NO,
    Guard.NO_STARTER: lambda work: YES if work.state.claim.activation is None else NO,
    Guard.RETIREMENT_OVER: retirement_over,
    Guard.IN_RETIREMENT: lambda work: YES if work.state.in_retirement else NO,
    Guard.MAY_UNRETIRE: may_unretire,
    Guard.WANT_SUSPEND: lambda work: _is(work.inputs.with_job("WANT_SUSPEND")),
    Guard.NOT_WANT_SUSPEND: lambda work: _is_not(work.inputs.with_job("WANT_SUSPEND")),
    Guard.SUSPEND: lambda work: _is(work.inputs.with_job("SUSPEND")),
    Guard.CONTINUE: continue_,
    Guard.CELL_SUSPENDS: cell_suspends,
    Guard.CELL_LETS_GO_ON: cell_lets_go_on,
    Guard.PREEMPT: lambda work: _is(work.inputs.with_job("PREEMPT")),
    Guard.NOT_PREEMPT_SEEN: lambda work: YES if not work.state.eviction.preempt_seen else NO,
    Guard.HARD: lambda work: YES if work.state.eviction.hard else NO,
    Guard.PREEMPT_HARD: preempt_hard,
    Guard.KILL: lambda work: _is(work.inputs.with_job("KILL")),
    Guard.EVICTION_REMEMBERED: lambda work: YES if work.state.eviction.irrevocable else NO,
    Guard.SUCCESSOR_WAITING: lambda work: YES if work.state.waiting is not None else NO,
    Guard.SUCCESSOR_ACCEPTED: successor_accepted,
    Guard.LEAVING: lambda work: YES if work.state.leaving is not None else NO,
    Guard.WORKLIFE_OVER: worklife_over,
    Guard.DRAIN_GRACE_OVER: drain_grace_over,
    Guard.FETCHED_JOB_WAITING: lambda work: (
        YES if work.state.claim.job_waiting and work.state.claim.kind is ClaimKind.FETCHED else NO
    ),
    Guard.MATCH_EXPIRED: lambda work: _passed(work.state.match_until, work.now),
    Guard.VACATE_EXPIRED: lambda work: _passed(work.state.vacate_until, work.now),
    Guard.BACKFILL_RUNNING: lambda work: YES if work.state.machine.backfill_running else NO,
    Guard.TO_OWNER: to_owner,
    Guard.TO_MATCHED: lambda work: YES if work.state.destination is Destination.MATCHED else NO,
    Guard.TO_CLAIMED: to_claimed,
    Guard.HEADING_AWAY: lambda work: YES if work.state.destination is not None else NO,
}

"""The effects of taking a row of the transition table: one function per entry.

An entry changes the slot's data and emits effects. It never changes state or activity, and never decides whether a row
is taken. The functions run in the new state, in the order in which the row names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.base.fast_records import replace
from roost.classad import unparse
from roost.model.claims import Activation, Claim, ClaimKind
from roost.model.codes import HoldCode
from roost.model.effects import (
    ActivateStarter,
    CancelBenchmarks,
    ContinueJob,
    EvictFetched,
    HardKill,
    KillBackfill,
    Notice,
    RunBenchmarks,
    SendClaimReply,
    SoftKill,
    StartBackfill,
    SuspendJob,
    TellSchedd,
    WarnOfExpression,
)
from roost.model.reasons import Reason, Refusal, VacateReason
from roost.startd.guards import preempt_is_cause
from roost.startd.policy_inputs import whole
from roost.startd.retirement import lease_s, pledge_s, vacate_time_s
from roost.startd.slot_state import Destination, Eviction, SlotState, Suspenders
from roost.startd.states import Activity
from roost.startd.transitions import Entry, On
from roost.startd.work import Work

#: JobUniverse of a virtual machine.
VM_UNIVERSE: Final = 13


def fresh_claim(work: Work) -> Claim:
    """A claim without a request."""
    claim_id, ids = work.state.ids.take()
    work.update(ids=ids)
    return Claim(id=claim_id)


def refuse_claim(work: Work, claim: Claim | None, refusal: Refusal) -> None:
    """Refuse the request of a queue whose claim was never granted."""
    if claim is not None and claim.request is not None and claim.granted_at is None and claim.request.reply_to:
        work.order(SendClaimReply(reply_to=claim.request.reply_to, accepted=False, refusal=refusal))


def with_lease(work: Work, claim: Claim) -> Claim:
    """A claim with a lease that begins now, by the JobLeaseDuration of its job."""
    if claim.request is None or claim.kind is ClaimKind.FETCHED:
        return claim
    asked = claim.request.job_ad.eval("JobLeaseDuration")
    seconds = lease_s(asked, claim.request.alive_interval_s, work.policy.alives_missed_max)
    return replace(claim, lease_s=seconds, lease_until=work.now + seconds)


# -- claims ------------------------------------------------------------------------------------------------


def renew_claim(work: Work) -> None:
    """Refuse waiting requests, forget everything about the claim, and make a fresh one."""
    state = work.state
    down = Refusal.SHUTTING_DOWN if state.shutdown is not None else None
    refuse_claim(work, state.claim, down or Refusal.CLAIM_ENDED)
    # A waiting claim fails here only because START is FALSE for its job.
    refuse_claim(work, state.preempting, down or Refusal.REQUIREMENTS)
    claim = fresh_claim(work)
    work.update(claim=claim, **_NO_CLAIM)


_NO_CLAIM: Final = {
    "preempting": None,
    "pre_preempting": None,
    "eviction": Eviction(),
    "suspenders": Suspenders(),
    "destination": None,
    "match_until": None,
    "vacate_until": None,
    "kill_again_at": None,
}


def grant_claim(work: Work) -> None:
    """Grant the claim to the requester."""
    _install(work, work.state.claim)


def succeed(work: Work) -> None:
    """Grant the slot to the claim that waited."""
    waiting = work.state.waiting
    assert waiting is not None
    _install(work, waiting)


def _install(work: Work, claim: Claim) -> None:
    request = claim.request
    assert request is not None
    rank = work.inputs.rank(request.job_ad)
    claim = replace(
        with_lease(work, claim),
        granted_at=work.now,
        rank=rank,
        matched=False,
        displaces_for=None,
        job_waiting=request.kind is ClaimKind.FETCHED,
    )
    preempting = fresh_claim(work)
    work.update(**{**_NO_CLAIM, "claim": claim, "preempting": preempting})
    if request.reply_to:
        work.order(SendClaimReply(reply_to=request.reply_to, accepted=True))


def end_claim(work: Work) -> None:
    """Notify the holder that the claim is over, unless it ended the claim itself or is presumed dead."""
    claim, eviction = work.state.claim, work.state.eviction
    request = claim.request
    assert request is not None
    if request.kind is ClaimKind.FETCHED:
        if claim.carries_job:
            work.order(EvictFetched(job_ad=request.job_ad, claim_id=claim.id))
        return
    if not eviction.untold:
        cause = cause_of(work.state) if claim.carries_job else None
        reason = Reason.STARTER_GONE if eviction.reason is None else eviction.reason
        work.order(TellSchedd(schedd=request.schedd, claim_id=claim.id, reason=reason, cause=cause))


def cause_of(state: SlotState) -> VacateReason | None:
    """The cause that a departure has for the job; None if the job is not forced to leave."""
    if state.eviction.cause is not None:
        return state.eviction.cause
    if state.draining is not None:
        return VacateReason.DRAINING
    return None if state.waiting is None else state.waiting.displaces_for


def start_match_timer(work: Work) -> None:
    """Start MATCH_TIMEOUT."""
    work.update(match_until=work.now + work.policy.match_timeout_s)


def stop_match_timer(work: Work) -> None:
    """Stop the match timer: the match was used or has failed."""
    work.update(match_until=None)


# -- jobs --------------------------------------------------------------------------------------------------


def start_job(work: Work) -> None:
    """Start the job. The vacate time is pledged now, by the current policy."""
    claim = work.state.claim
    request = claim.request
    assert request is not None
    job = request.job_ad
    activation = Activation(
        job_ad=job,
        started_at=work.now,
        vacate_pledge_s=pledge_s(work.inputs, job),
        universe=whole(job.eval("JobUniverse"), 5),
        running_since=work.now,
        accepted_while_draining=work.state.draining is not None,
    )
    claim = replace(
        with_lease(work, claim),
        rank=work.inputs.rank(job),
        activation=activation,
        jobs_begun=claim.jobs_begun + 1,
        job_waiting=False,
        carries_job=True,
    )
    work.update(claim=claim, eviction=Eviction())
    work.order(ActivateStarter(claim_id=claim.id, kind=request.kind, job_ad=job))


def drop_job(work: Work) -> None:
    """Forget the finished job; the claim continues, unless it is that of a fetched job that could not be started.

    No work is fetched during the pause that follows, so other claims may use the slot.
    """
    work.update_claim(carries_job=False)
    work.update(eviction=Eviction())
    if work.state.claim.kind is ClaimKind.FETCHED and work.state.fetching.failures:
        work.raised.add(On.NO_WORK)


def suspend_job(work: Work) -> None:
    """Suspend the job and its run-time clock."""
    activation = work.state.claim.activation
    assert activation is not None
    work.update_activation(run_s=activation.run_time_s(work.now), running_since=None, suspended_since=work.now)
    work.order(SuspendJob())


def suspend_by_command(work: Work) -> None:
    """Suspend the job by command; CONTINUE is ignored from now on."""
    suspend_by_cell(work)
    work.update_activation(held_still=True)


def suspend_by_cell(work: Work) -> None:
    """Suspend the job for the cell. It continues when the cell resumes it, unless a command or the machine's policy
    suspends it meanwhile.
    """
    suspend_job(work)
    work.update(suspenders=replace(work.state.suspenders, alone=True))


def continue_job(work: Work) -> None:
    """Continue the job and its run-time clock."""
    activation = work.state.claim.activation
    assert activation is not None
    work.update_activation(
        suspended_s=activation.suspended_time_s(work.now),
        suspended_since=None,
        running_since=work.now,
        held_still=False,
    )
    if work.state.suspenders.alone:
        work.update(suspenders=replace(work.state.suspenders, alone=False))
    work.order(ContinueJob())


def preempted(work: Work) -> None:
    """Record PREEMPT as the cause unless there already is one."""
    cause = work.state.eviction.cause or VacateReason.PREEMPT_EXPRESSION
    work.update_eviction(preempt_seen=True, irrevocable=True, cause=cause)


def unretire(work: Work) -> None:
    """Cancel the retirement: nothing requires the end of the claim any more."""
    work.update(eviction=Eviction())


def soft_kill(work: Work) -> None:
    """End the job softly. A job that is already being ended keeps the time it was given."""
    activation = work.state.claim.activation
    assert activation is not None
    if activation.soft_killed_at is not None or activation.hard_killed_at is not None:
        return
    until = vacate_end(work)
    _warn_of_vacating(work)
    work.order(SoftKill(notice=notice_for(work)))
    work.update_activation(soft_killed_at=work.now)
    work.update(vacate_until=until)


def vacate_end(work: Work) -> float:
    """When the vacate time of a job that is ended softly now expires: at the latest at the deadline of a drain."""
    until = work.now + vacate_time_s(work.inputs)
    draining = work.state.draining
    if draining is None or draining.deadline_at is None:
        return until
    return min(until, max(work.now, draining.deadline_at))


def hard_kill(work: Work) -> None:
    """Order the hard kill once; the timer runs until the starter is gone. The lease no longer counts."""
    activation = work.state.claim.activation
    assert activation is not None
    if activation.hard_killed_at is None:
        work.order(HardKill(notice=notice_for(work)))
        work.update_activation(hard_killed_at=work.now)
    work.update(vacate_until=None, kill_again_at=work.now + killing_timeout_s(work))
    if work.state.activity is Activity.KILLING:
        work.update_claim(lease_until=None)


def killing_timeout_s(work: Work) -> float:
    """How long a starter may take to kill its job."""
    activation = work.state.claim.activation
    if activation is not None and activation.universe == VM_UNIVERSE:
        return max(work.policy.vm_killing_timeout_s, work.policy.killing_timeout_s)
    return work.policy.killing_timeout_s


def _warn_of_vacating(work: Work) -> None:
    if preempt_is_cause(work) and (decision := work.inputs.with_job("WANT_VACATE")).truth is None:
        work.order(
            WarnOfExpression(expression=decision.name, text="neither TRUE nor FALSE; the job gets its vacate time")
        )


def notice_for(work: Work, otherwise: VacateReason = VacateReason.CLAIM_DEACTIVATED) -> Notice:
    """The notice to the job: hold it if PREEMPT is the cause and WANT_HOLD is TRUE."""
    if preempt_is_cause(work):
        held = _hold(work)
        if held is not None:
            return held
        reason = work.state.eviction.cause or VacateReason.PREEMPT_EXPRESSION
    else:
        reason = cause_of(work.state) or otherwise
    return Notice(code=reason, text=reason.text)


def _hold(work: Work) -> Notice | None:
    job = work.state.claim.job_ad
    wanted = work.inputs.decide("WANT_HOLD", job)
    if wanted.truth is not True:
        return None
    text = work.inputs.decide("WANT_HOLD_REASON", job).value
    if not isinstance(text, str) or not text:
        assert wanted.expression is not None
        text = f"The startd put this job on hold: WANT_HOLD is TRUE: {unparse(wanted.expression.tree)}"
    subcode = whole(work.inputs.decide("WANT_HOLD_SUBCODE", job).value)
    return Notice(code=HoldCode.STARTD_HELD_JOB, subcode=subcode, text=text, hold=True)


# -- the machine's own work ------------------------------------------------------------------------------


def head_for_owner(work: Work) -> None:
    """Head for Owner: backfill has to leave, and no claim takes its place."""
    refuse_claim(work, work.state.claim, Refusal.CLAIM_ENDED)
    work.update_claim(request=None)
    work.update(destination=Destination.OWNER, match_until=None)


def start_backfill(work: Work) -> None:
    """Start the backfill client. One client serves all slots of the machine."""
    if not work.state.machine.backfill_running:
        work.order(StartBackfill())


ENTRIES: Final[Mapping[Entry, Callable[[Work], None]]] = {
    Entry.RENEW_CLAIM: renew_claim,
    Entry.START_MATCH_TIMER: start_match_timer,
    Entry.STOP_MATCH_TIMER: stop_match_timer,
    Entry.GRANT_CLAIM: grant_claim,
    Entry.START_JOB: start_job,
    Entry.DROP_JOB: drop_job,
    Entry.SUSPEND_JOB: suspend_job,
    Entry.SUSPEND_BY_COMMAND: suspend_by_command,
    Entry.SUSPEND_BY_CELL: suspend_by_cell,
    Entry.CONTINUE_JOB: continue_job,
    Entry.PREEMPTED: preempted,
    Entry.UNRETIRE: unretire,
    Entry.SOFT_KILL: soft_kill,
    Entry.HARD_KILL: hard_kill,
    Entry.END_CLAIM: end_claim,
    Entry.SUCCEED: succeed,
    Entry.RUN_BENCHMARKS: lambda work: work.order(RunBenchmarks()),
    Entry.STOP_BENCHMARKS: lambda work: work.order(CancelBenchmarks()),
    Entry.START_BACKFILL: start_backfill,
    Entry.KILL_BACKFILL: lambda work: work.order(KillBackfill()),
    Entry.HEAD_FOR_OWNER: head_for_owner,
    Entry.ARRIVE: lambda work: work.update(destination=None),
}

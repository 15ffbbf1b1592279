"""Handlers of activations, orders about the running job, and events of its starter.

Each function handles one event: it changes data, emits effects and raises triggers, and returns whether the event had
any effect. The table decides state and activity.
"""

from __future__ import annotations

from roost.base.fast_records import replace
from roost.model.claims import ClaimKind
from roost.model.effects import (
    CheckpointJob,
    CountBadput,
    HardKill,
    KillFamily,
    SendActivationReply,
    SendDeactivationReply,
    SoftKill,
)
from roost.model.events import (
    ActivationRequested,
    CheckpointRequested,
    ContinueRequested,
    DeactivationRequested,
    JobExited,
    JobUpdated,
    StarterEvicted,
    StarterExited,
    StarterUnreachable,
    SuspendersChanged,
    SuspendRequested,
)
from roost.model.identifiers import ClaimId
from roost.model.reasons import Refusal
from roost.startd.claim_life import takes_more
from roost.startd.claiming import drain_refuses
from roost.startd.entries import killing_timeout_s, notice_for, vacate_end
from roost.startd.own_work import note_start
from roost.startd.states import BUSY, CLAIMED, SUSPENDED, State
from roost.startd.transitions import On
from roost.startd.work import Work


def _is_holder(work: Work, claim_id: ClaimId) -> bool:
    claim = work.state.claim
    return claim.id.matches(claim_id) and claim.kind is ClaimKind.SCHEDD


def activation_requested(work: Work, event: ActivationRequested) -> bool:
    """Start a job for the holder, if the current policy accepts it, whatever the claim was granted for."""
    refusal = _activation_refused(work, event)
    if refusal is not None:
        work.refuse(refusal)
        return True
    request = work.state.claim.request
    assert request is not None
    work.update_claim(request=replace(request, job_ad=event.job_ad))
    work.raised.add(On.ACTIVATED)
    if event.reply_to:
        work.order(SendActivationReply(reply_to=event.reply_to, accepted=True))
    return True


def _activation_refused(work: Work, event: ActivationRequested) -> Refusal | None:
    if not _is_holder(work, event.claim_id):
        return Refusal.UNKNOWN_CLAIM
    if work.state.shutdown is not None:
        return Refusal.SHUTTING_DOWN
    if work.state.leaving is not None:
        return Refusal.LEAVING
    claim = work.state.claim
    waited_s = 0.0 if claim.jobs_begun or claim.granted_at is None else work.now - claim.granted_at
    if drain_refuses(work, event.job_ad, waited_s=waited_s):
        return Refusal.DRAINING
    accepted, _ = work.inputs.accepts(event.job_ad)
    return None if accepted else Refusal.REQUIREMENTS


def deactivation_requested(work: Work, event: DeactivationRequested) -> bool:
    """End the job and keep the claim; the answer says whether the claim accepts another job."""
    if not _is_holder(work, event.claim_id):
        work.refuse(Refusal.UNKNOWN_CLAIM)
        return True
    if work.state.state is State.CLAIMED and work.state.claim.activation is not None:
        order_hard_kill(work) if event.forcible else _order_soft_kill(work)
    elif event.forcible:
        work.raised.add(On.KILL_ORDER)
    if event.reply_to:
        work.order(SendDeactivationReply(reply_to=event.reply_to, start=takes_more(work.inputs)))
    return True


def _order_soft_kill(work: Work) -> None:
    """Kill the job softly and keep the claim. Has no effect while a soft kill is pending."""
    activation = work.state.claim.activation
    assert activation is not None
    if activation.soft_killed_at is not None or activation.hard_killed_at is not None:
        return
    until = vacate_end(work)
    work.order(SoftKill(notice=notice_for(work)))
    work.update_activation(soft_killed_at=work.now)
    work.update(vacate_until=until)


def order_hard_kill(work: Work) -> None:
    """Kill the job hard and keep the claim."""
    activation = work.state.claim.activation
    assert activation is not None
    if activation.hard_killed_at is not None:
        return
    work.order(HardKill(notice=notice_for(work)))
    work.update_activation(hard_killed_at=work.now)
    work.update(vacate_until=None, kill_again_at=work.now + killing_timeout_s(work))


def suspend_requested(work: Work, event: SuspendRequested) -> bool:
    """Suspend the job until the command to continue, including a job that the policy has already suspended."""
    activation = work.state.claim.activation
    if not _is_holder(work, event.claim_id) or activation is None or activation.held_still:
        return False
    if work.state.pair == SUSPENDED:
        work.update_activation(held_still=True)
    else:
        work.raised.add(On.SUSPEND_ORDER)
    return True


def continue_requested(work: Work, event: ContinueRequested) -> bool:
    """Continue a job that was suspended by command; it stays suspended while the policy or a cell suspends it."""
    activation = work.state.claim.activation
    if not _is_holder(work, event.claim_id) or activation is None or not activation.held_still:
        return False
    if work.state.suspenders.causes or not work.state.suspenders.alone:
        work.update_activation(held_still=False)
    else:
        work.raised.add(On.CONTINUE_ORDER)
    return True


def suspenders_changed(work: Work, event: SuspendersChanged) -> bool:
    """Update what in the cell suspends the job; the table acts on it. An event about another claim, or without a
    change, has no effect.
    """
    before = work.state.suspenders
    if work.state.claim.id.public != event.claim or before.causes == event.suspenders:
        return False
    work.update(suspenders=replace(before, causes=dict(event.suspenders)))
    return True


def checkpoint_requested(work: Work, event: CheckpointRequested) -> bool:
    """Order a checkpoint. The state does not change: the daemon cannot know when the job has saved it."""
    order_checkpoint(work)
    return True


def order_checkpoint(work: Work) -> None:
    """LastPeriodicCheckpoint is the time of the order."""
    work.update_activation(checkpointed_at=work.now)
    work.order(CheckpointJob())


# -- news of the starter --------------------------------------------------------------------------------


def job_updated(work: Work, event: JobUpdated) -> bool:
    """Update the copy of the job's ad that the policy sees."""
    activation = work.state.claim.activation
    if activation is None:
        return False
    job = activation.job_ad.copy()
    job.update(event.attributes)
    work.update_activation(job_ad=job)
    return True


def job_exited(work: Work, event: JobExited) -> bool:
    """Note the job's end, and wait for the starter. Whether the claim must end is checked when the starter is gone."""
    activation = work.state.claim.activation
    if activation is None or activation.ended:
        return False
    work.update_activation(ended=True)
    if work.state.claim.kind is ClaimKind.FETCHED and (event.started or work.state.state is State.CLAIMED):
        note_start(work, started=event.started)
    work.raised.add(On.FINAL_UPDATE)
    return True


def starter_evicted(work: Work, event: StarterEvicted) -> bool:
    """Note that the starter ends the job by its own expressions: shown in the ad, without effect on the claim."""
    activation = work.state.claim.activation
    if activation is None or activation.starter_state == event.job_state:
        return False
    work.update_activation(starter_state=event.job_state)
    return True


def starter_exited(work: Work, event: StarterExited) -> bool:
    """Note the starter's end, and add the job's time to the claim's totals."""
    claim = work.state.claim
    activation = claim.activation
    if activation is None:
        return False
    run_s = activation.run_time_s(work.now)
    if work.state.state is State.PREEMPTING and work.state.draining is not None:
        work.order(CountBadput(run_s=run_s))
    work.update_claim(
        activation=None,
        run_s=claim.run_s + run_s,
        suspended_s=claim.suspended_s + activation.suspended_time_s(work.now),
        carries_job=claim.carries_job and event.spawned,
    )
    work.update(vacate_until=None, kill_again_at=None)
    if not event.spawned and claim.kind is ClaimKind.FETCHED and work.state.pair in (BUSY, CLAIMED):
        note_start(work, started=False)
        work.raised.add(On.NO_WORK)
    return True


def starter_unreachable(work: Work, event: StarterUnreachable) -> bool:
    """Signal the job's processes directly, because the starter cannot be reached."""
    if work.state.claim.activation is None:
        return False
    work.update_activation(hard_killed_at=work.now)
    work.update(vacate_until=None, kill_again_at=work.now + killing_timeout_s(work))
    work.order(KillFamily())
    return True

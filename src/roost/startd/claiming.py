"""Handlers of matches, claim requests, releases and keepalives.

Each function handles one event: it changes data, emits effects and raises triggers, and returns whether the event had
any effect. The table decides state and activity.
"""

from __future__ import annotations

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model.claims import Claim, ClaimKind, ClaimRequest
from roost.model.effects import SendAliveReply, SendClaimReply, SplitSlot
from roost.model.events import AliveReceived, ClaimMoved, ClaimReleased, ClaimRequested, DrainSchedule, MatchReceived
from roost.model.reasons import Refusal, VacateReason
from roost.model.slots import SlotKind
from roost.startd.attributes import is_offered
from roost.startd.entries import fresh_claim, refuse_claim, renew_claim
from roost.startd.retirement import drain_leaves_s, vacate_time_of_s
from roost.startd.slot_state import Destination
from roost.startd.states import State
from roost.startd.transitions import On
from roost.startd.work import Work


def match_received(work: Work, event: MatchReceived) -> bool:
    """Accept a match only for the id that the slot has given out, and only while the slot is on offer."""
    state = work.state
    if not is_offered(state):
        return False
    if state.state is State.CLAIMED:
        return _better_match_promised(work, event)
    if not state.claim.id.matches(event.claim_id) or state.destination is not None:
        return False
    if state.state is State.BACKFILL:
        until = work.now + work.policy.match_timeout_s
        work.update(destination=Destination.MATCHED, match_until=until)
    work.update_claim(matched=True)
    work.raised.add(On.MATCHED)
    return True


def _better_match_promised(work: Work, event: MatchReceived) -> bool:
    """Note a better match. The running job is not affected until the claim is requested; until then the slot is not on
    offer.
    """
    preempting = work.state.preempting
    if preempting is None or preempting.request is not None or not preempting.id.matches(event.claim_id):
        return False
    until = work.now + work.policy.match_timeout_s
    work.update(preempting=replace(preempting, matched=True), match_until=until)
    return True


def claim_requested(work: Work, event: ClaimRequested) -> bool:
    """Handle a queue's request for the slot, either now or after its current holder.

    Queues repeat requests that are not answered yet, so a repeated request is recognised in every state: a request that
    waits for the running job to leave keeps waiting while the job is evicted. A slot in Preempting accepts no new
    request.
    """
    if _asked_before(work, event.request):
        return True
    if work.state.state is State.PREEMPTING:
        refusal: Refusal | None = Refusal.PREEMPTING
    elif work.state.state is State.CLAIMED:
        refusal = _queue_up(work, event)
    else:
        refusal = _ask_for_free_slot(work, event)
    if refusal is not None:
        work.refuse(refusal)
    return True


def _asked_before(work: Work, request: ClaimRequest) -> bool:
    """Whether the same request came before. It is answered again, unless the answer is still pending."""
    for claim in (work.state.claim, work.state.preempting):
        if claim is None or claim.request is None or not request.reply_to:
            continue
        if claim.request.reply_to == request.reply_to:
            if claim.granted_at is not None:
                work.order(SendClaimReply(reply_to=request.reply_to, accepted=True))
            return True
    return False


def _ask_for_free_slot(work: Work, event: ClaimRequested) -> Refusal | None:
    state = work.state
    refusal = _unwilling(work, event.request)
    if not state.claim.id.matches(event.claim_id):
        return Refusal.UNKNOWN_CLAIM
    if state.claim.request is not None:
        return Refusal.WRONG_STATE
    if refusal is not None:
        work.raised.add(On.CLAIM_REFUSED)
        return refusal
    if state.kind is SlotKind.PARTITIONABLE:
        work.order(SplitSlot(claim_id=event.claim_id, request=event.request))
        return None
    take_request(work, event.request)
    return None


def take_request(work: Work, request: ClaimRequest) -> None:
    """Accept a request for the free slot: the table grants it, after backfill has ended if there is any."""
    work.update_claim(request=request)
    if work.state.state is State.BACKFILL:
        work.update(destination=Destination.CLAIMED, match_until=None)
    work.raised.add(On.CLAIMED)


def _unwilling(work: Work, request: ClaimRequest) -> Refusal | None:
    """Why the slot accepts no jobs at all, or not this one; None if it accepts it."""
    state = work.state
    if state.shutdown is not None:
        return Refusal.SHUTTING_DOWN
    if state.leaving is not None:
        return Refusal.LEAVING
    if drain_refuses(work, request.job_ad):
        return Refusal.DRAINING
    accepted, _ = work.inputs.accepts(request.job_ad)
    return None if accepted else Refusal.REQUIREMENTS


def drain_refuses(work: Work, job: ClassAd, *, waited_s: float = 0.0) -> bool:
    """Whether a drain excludes a job: the drain accepts none, or the job would have to leave as soon as it began.

    Before the last original job of the machine has to leave, there must be time for MAX_DRAINING_ACTIVATION_DELAY, of
    which the job's claim has used `waited_s`, and then for the job's vacate time.
    """
    draining = work.state.draining
    if draining is None:
        return False
    if draining.start is None or draining.originals_gone or draining.schedule is not DrainSchedule.GRACEFUL:
        return True
    delay_s = max(0.0, work.policy.drain_activation_grace_s - waited_s)
    return drain_leaves_s(work.inputs) < vacate_time_of_s(work.inputs, job) + delay_s


def _queue_up(work: Work, event: ClaimRequested) -> Refusal | None:
    """Queue a claim that would preempt: by the machine's RANK, or by the negotiator's decision if ranks are equal."""
    state = work.state
    waiting = state.waiting
    seat = state.preempting if waiting is None else state.pre_preempting
    if seat is None or not seat.id.matches(event.claim_id):
        return Refusal.WRONG_STATE if state.claim.id.matches(event.claim_id) else Refusal.UNKNOWN_CLAIM
    refusal = _unwilling(work, event.request)
    if refusal is not None:
        return refusal
    rank = work.inputs.rank(event.request.job_ad)
    if rank < state.claim.rank or (waiting is not None and rank < waiting.rank):
        return Refusal.RANK_TOO_LOW
    let_wait(work, seat, event.request, rank)
    return None


def let_wait(work: Work, seat: Claim, request: ClaimRequest, rank: float) -> None:
    """Keep a request that waits for the running job to leave; it replaces an earlier one."""
    refuse_claim(work, work.state.waiting, Refusal.OUTBID)
    better = rank > work.state.claim.rank
    displaces = VacateReason.BETTER_RANK if better else VacateReason.BETTER_USER_PRIORITY
    claim = replace(seat, request=request, rank=rank, displaces_for=displaces, matched=False)
    pre_preempting = fresh_claim(work)
    work.update(preempting=claim, pre_preempting=pre_preempting, match_until=None)
    work.evaluating = True


def claim_released(work: Work, event: ClaimReleased) -> bool:
    """Handle a release by the holder, or a withdrawal by the requester."""
    state = work.state
    if state.waiting is not None and state.waiting.id.matches(event.claim_id):
        refuse_claim(work, state.waiting, Refusal.WITHDRAWN)
        work.update(preempting=state.pre_preempting, pre_preempting=None)
        work.evaluating = True
        return True
    if not state.claim.id.matches(event.claim_id):
        return False
    if state.state is State.BACKFILL:
        if state.claim.request is None:
            return False
        refuse_claim(work, state.claim, Refusal.WITHDRAWN)
        work.update_claim(request=None)
    elif state.state is State.MATCHED:
        work.raised.add(On.RELEASED)
    elif state.state is State.PREEMPTING:
        if state.eviction.untold:
            return False
        work.update_eviction(untold=True)
    else:
        kill_claim(work, VacateReason.RELEASE_COMMAND, untold=True)
    return True


def kill_claim(work: Work, cause: VacateReason, *, untold: bool = False) -> None:
    """End the claim at once."""
    known = work.state.eviction.cause or cause
    work.update_eviction(cause=known, irrevocable=True, hard=True, untold=untold or work.state.eviction.untold)
    work.raised.add(On.KILL_ORDER)


def retire_claim(work: Work, cause: VacateReason, *, no_retirement: bool = False) -> None:
    """End the claim as soon as its job's retirement is over; this cannot be undone."""
    eviction = work.state.eviction
    work.update_eviction(
        cause=eviction.cause or cause,
        irrevocable=True,
        no_retirement=no_retirement or eviction.no_retirement,
    )
    work.raised.add(On.RETIRE_ORDER)
    work.evaluating = True


def claim_moved(work: Work, event: ClaimMoved) -> bool:
    """Note that a dynamic slot has taken the claim; the next claim gets another id."""
    state = work.state
    if state.kind is not SlotKind.PARTITIONABLE or not state.claim.id.matches(event.claim_id):
        return False
    if state.state is State.MATCHED:
        work.raised.add(On.MOVED)
    elif state.state is State.BACKFILL:
        # The eviction that was to make room for the match has lost its purpose.
        destination = None if state.destination is None else Destination.OWNER
        work.update(claim=fresh_claim(work), destination=destination, match_until=None)
    else:
        renew_claim(work)
    return True


def alive_received(work: Work, event: AliveReceived) -> bool:
    """Renew the lease."""
    claim = work.state.claim
    known = claim.id.matches(event.claim_id) and claim.kind is ClaimKind.SCHEDD
    if not known:
        work.refuse(Refusal.UNKNOWN_CLAIM)
        return True
    if claim.lease_s is not None:
        work.update_claim(lease_until=work.now + claim.lease_s)
    if event.reply_to:
        work.order(SendAliveReply(reply_to=event.reply_to, known=True))
    return True

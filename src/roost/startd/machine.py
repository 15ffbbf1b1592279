"""The state machine of a slot: one event in; the new slot, effects and transitions out.

`step` is a function of its arguments. The behaviour is described with the table (`transitions`); `receptions` says
which event is handled in which state, and `policy_inputs` how expressions are evaluated. This module puts them together
and holds the rules that no table can express.

Invariants, checked after every step that changes something (`validation`): the pair is legal, only rows of the table
were taken, each from where the one before led to, and the slot's data fit its pair.

It does not coordinate the slots of a machine (`draining` has what they share), lay slots out, or carry out effects.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.fast_records import record, replace
from roost.classad.ad import MISSING
from roost.model.effects import (
    CancelTimer,
    DeleteSlot,
    Effect,
    PublishAd,
    SendActivationReply,
    SendAliveReply,
    SendClaimReply,
    SendDeactivationReply,
    SetTimer,
    WarnOfExpression,
)
from roost.model.events import ActivationRequested, AliveReceived, ClaimRequested, DeactivationRequested, Event
from roost.model.reasons import Reason, Refusal
from roost.model.slots import SlotKind
from roost.policy.decision import Decision
from roost.startd.attributes import is_offered
from roost.startd.entries import ENTRIES, cause_of, preempted, start_backfill
from roost.startd.guards import GUARDS
from roost.startd.jobs import order_checkpoint
from roost.startd.own_work import try_fetch
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.receptions import RECEPTIONS
from roost.startd.retirement import is_over
from roost.startd.slot_state import SlotState
from roost.startd.states import BACKFILL, BUSY, PAIRS, RETIRING, SUSPENDED, State
from roost.startd.transitions import CHAIN_MAX, EVALUATED_AT_ONCE, ROWS, On, Transition
from roost.startd.validation import check
from roost.startd.work import TIMERS, Taken, Work, deadlines
from roost.tables.finder import row_finder


class Outcome(StrEnum):
    """What became of an event."""

    HANDLED = "handled"
    #: The event had no effect on the slot. Nothing has changed.
    IGNORED = "ignored"
    #: The event requested something that was refused. The sender is answered.
    REFUSED = "refused"


@record
class SlotStep:
    """The result of one event."""

    state: SlotState
    #: To be carried out in this order.
    effects: tuple[Effect, ...] = ()
    #: In the order in which they happened.
    transitions: tuple[Taken, ...] = ()
    outcome: Outcome = Outcome.HANDLED
    #: Why the event was refused; None if it was not.
    refusal: Refusal | None = None


def step(state: SlotState, event: Event, now: float, policy: SlotPolicy) -> SlotStep:
    """Handle `event` at `now` (epoch s). An AssertionError is a bug in this room; nothing else is raised."""
    reception = RECEPTIONS[type(event)]
    if state.deleted:
        return _unmoved(state, event, Refusal.DELETED if reception.refusal is not None else None)
    pair = state.pair
    if pair not in reception.handled_in:
        return _unmoved(state, event, reception.refusal_in(pair))
    work = Work(state, policy, now)
    if not reception.handler(work, event):
        assert work.state is state, f"{type(event).__name__} was ignored and changed the slot"
        return SlotStep(state=state, effects=tuple(work.effects), outcome=Outcome.IGNORED)
    if work.refusal is not None:
        work.effects += _refusal_of(event, work.refusal)
    settle(work)
    if work.state is not state:
        check(state, work.state, work.taken)
    return SlotStep(
        state=work.state,
        effects=(*work.effects, *_consequences(work)),
        transitions=tuple(work.taken),
        outcome=Outcome.HANDLED if work.refusal is None else Outcome.REFUSED,
        refusal=work.refusal,
    )


def _unmoved(state: SlotState, event: Event, refusal: Refusal | None) -> SlotStep:
    if refusal is None:
        return SlotStep(state=state, outcome=Outcome.IGNORED)
    return SlotStep(state=state, effects=_refusal_of(event, refusal), outcome=Outcome.REFUSED, refusal=refusal)


def _refusal_of(event: Event, refusal: Refusal) -> tuple[Effect, ...]:
    """The answer to a refused request, where it has a sender."""
    match event:
        case ClaimRequested(request=request) if request.reply_to:
            return (SendClaimReply(reply_to=request.reply_to, accepted=False, refusal=refusal),)
        case ActivationRequested(reply_to=reply_to) if reply_to:
            return (SendActivationReply(reply_to=reply_to, accepted=False, refusal=refusal),)
        case DeactivationRequested(reply_to=reply_to) if reply_to:
            return (SendDeactivationReply(reply_to=reply_to, start=False),)
        case AliveReceived(reply_to=reply_to) if reply_to:
            return (SendAliveReply(reply_to=reply_to, known=False),)
    return ()


# -- the table, executed -------------------------------------------------------------------------------


def settle(work: Work) -> None:
    """Take rows until none applies."""
    pair = work.state.pair
    for _ in range(CHAIN_MAX):
        if delete_when_free(work):
            return
        if work.evaluating:
            note_preemption(work)
            note_owner(work)
        found = _first_row(work, pair, work.raised, work.evaluating)
        if found is None:
            if work.evaluating:
                periodic(work)
            return
        take(work, *found)
        # Only a row can lead to another row: see `validation.check`.
        pair = work.taken[-1].target
    raise AssertionError(f"{work.state.name}: no end of transitions: {[row.number for row in work.taken]}")


_first_row: Final = row_finder(ROWS, GUARDS, always=On.COUPLED, evaluating=On.POLL)

_PLACES: Final = {pair: place for place, pair in enumerate(PAIRS)}


#: Reasons that say that a claim had to end, but not why.
_ORDERED: Final = (Reason.EVICTION_ORDERED, Reason.HARD_KILL_ORDERED)


def take(work: Work, row: Transition, decisions: tuple[Decision, ...]) -> None:
    """Go from the row's source to its target, and do what it names."""
    state, now = work.state, work.now
    target = row.target
    new_state = target.state is not state.state
    stay_s = max(0.0, now - state.entered_activity_at)
    here = _PLACES[row.source]
    spent_s = state.spent_s
    eviction = state.eviction
    if new_state and target.state is State.PREEMPTING:
        eviction = replace(eviction, reason=row.reason)
    work.state = replace(
        state,
        state=target.state,
        activity=target.activity,
        entered_state_at=now if new_state else state.entered_state_at,
        entered_activity_at=now,
        spent_s=(*spent_s[:here], spent_s[here] + stay_s, *spent_s[here + 1 :]),
        eviction=eviction,
    )
    work.raised.clear()
    work.evaluating = target in EVALUATED_AT_ONCE
    work.taken.append(
        Taken(
            number=row.number,
            letter=row.letter,
            source=row.source,
            target=target,
            reason=row.reason,
            at=now,
            decisions=decisions,
            cause=cause_of(work.state) if row.reason in _ORDERED else None,
        )
    )
    for entry in row.entry:
        ENTRIES[entry](work)


# -- rules that do not fit the table ---------------------------------------------------------------------


def delete_when_free(work: Work) -> bool:
    """Delete an unclaimed dynamic slot, unless a hook that fetches work for it is still running."""
    state = work.state
    if state.kind is not SlotKind.DYNAMIC:
        return False
    if state.state not in (State.OWNER, State.UNCLAIMED) or state.fetching.running:
        return False
    if work.raised - {On.CLAIM_REFUSED}:
        return False
    work.update(deleted=True)
    work.order(DeleteSlot())
    return True


def note_preemption(work: Work) -> None:
    """Note that PREEMPT turned TRUE while the slot retires for another reason; the retirement can no longer be called
    off.

    It is evaluated only until retirement is over, because PREEMPT is then evaluated in any case.
    """
    state = work.state
    if state.claim.activation is None or state.pair != RETIRING or state.eviction.preempt_seen:
        return
    if state.in_retirement and is_over(work.inputs):
        return
    if work.inputs.with_job("WANT_SUSPEND").truth is not True and work.inputs.with_job("PREEMPT").truth is True:
        preempted(work)


def note_owner(work: Work) -> None:
    """Note whether the machine's policy also suspends a job that the cell or a command suspends."""
    suspenders, activation = work.state.suspenders, work.state.claim.activation
    if work.state.pair != SUSPENDED or activation is None or not (suspenders.causes or activation.held_still):
        return
    if suspenders.alone:
        wanted = work.inputs.with_job("WANT_SUSPEND").truth is True
        alone = not (wanted and work.inputs.with_job("SUSPEND").truth is True)
    else:
        alone = work.inputs.with_job("CONTINUE").truth is True
    if alone is not suspenders.alone:
        work.update(suspenders=replace(suspenders, alone=alone))


def periodic(work: Work) -> None:
    """Do the periodic work of a poll: save the job's state, start the backfill client, fetch work."""
    state = work.state
    pair = state.pair
    if pair in (BUSY, RETIRING) and _may_checkpoint(work):
        decision = work.inputs.decide_for_job("PERIODIC_CHECKPOINT", state.claim.job_ad)
        if decision.truth is True:
            order_checkpoint(work)
    if pair == BACKFILL:
        start_backfill(work)
    if state.state is State.OWNER:
        _warn_of_owner(work)
    try_fetch(work)


_CANCELS: Final = {timer: CancelTimer(timer=timer) for timer in TIMERS}
_PUBLISH: Final = PublishAd()
#: A slot that is gone has no timers.
NO_DEADLINES: Final = (None,) * len(TIMERS)

#: Universes whose jobs can save their state at any time: standard, and virtual machines.
_CHECKPOINTING: Final = (1, 13)


def _may_checkpoint(work: Work) -> bool:
    activation = work.state.claim.activation
    if activation is None or activation.soft_killed_at is not None:
        return False
    asks = activation.job_ad.cell("wantcheckpointsignal") is not MISSING
    return activation.universe in _CHECKPOINTING or asks


def _warn_of_owner(work: Work) -> None:
    decision = work.inputs.decide("IsOwner")
    if decision.truth is None:
        work.order(
            WarnOfExpression(expression=decision.name, text="neither TRUE nor FALSE; the slot is treated as free")
        )


# -- what follows from the change ------------------------------------------------------------------------


def _consequences(work: Work) -> list[Effect]:
    """Set timers for changed deadlines, and publish a new ad if the pool would see a difference."""
    before, after = work.start, work.state
    effects: list[Effect] = []
    due, now_due = deadlines(before), NO_DEADLINES if after.deleted else deadlines(after)
    if due != now_due:
        for timer, old, new in zip(TIMERS, due, now_due, strict=True):
            if old != new:
                effects.append(_CANCELS[timer] if new is None else SetTimer(timer=timer, at=new))
    if work.taken or is_offered(before) != is_offered(after) or _shown_differently(before, after):
        effects.append(_PUBLISH)
    return effects


def _shown_differently(before: SlotState, after: SlotState) -> bool:
    """Whether something changed that the pool must see at once although state and activity are the same."""
    old, new = before.claim.activation, after.claim.activation
    if before.offered != after.offered:
        # A queue that gets the old ad would request the slot without success, and a partitionable slot has shrunk.
        return True
    if before.leaving is not after.leaving or before.suspenders is not after.suspenders:
        return True
    return (before.draining != after.draining and (before.draining is None) != (after.draining is None)) or (
        old is not None
        and new is not None
        and (old.starter_state != new.starter_state or old.held_still is not new.held_still)
    )


__all__ = ["Outcome", "SlotStep", "Taken", "settle", "step"]

"""Handlers of the administrator's commands: vacate, shutdown, drain.

Each function handles one event: it changes data, emits effects and raises triggers, and returns whether the event had
any effect. The table decides state and activity.
"""

from __future__ import annotations

from roost.base.records import replace
from roost.model.effects import DeleteSlot
from roost.model.events import (
    DrainCancelled,
    DrainOriginalsGone,
    DrainRequested,
    DrainSchedule,
    ShutdownKind,
    ShutdownRequested,
    SlotBroken,
    SlotLeaves,
    SlotMended,
    SlotRemoved,
    SlotStays,
    VacateRequested,
)
from roost.model.reasons import Refusal, VacateReason
from roost.startd.claiming import kill_claim, retire_claim
from roost.startd.entries import head_for_owner, renew_claim
from roost.startd.retirement import remaining_s
from roost.startd.slot_state import SlotDraining
from roost.startd.states import CLAIMED, VACATING, State
from roost.startd.transitions import On
from roost.startd.work import Work


def vacate_requested(work: Work, event: VacateRequested) -> bool:
    """End the claim; an unclaimed slot returns to its owner."""
    return _clear(work, VacateReason.VACATE_COMMAND, fast=event.fast)


def _clear(work: Work, cause: VacateReason, *, fast: bool, no_retirement: bool = False) -> bool:
    """Remove whatever runs in the slot. Return whether there was anything to remove."""
    match work.state.state:
        case State.MATCHED:
            work.raised.add(On.CLEAR_ORDER)
        case State.CLAIMED if fast:
            kill_claim(work, cause)
        case State.CLAIMED:
            retire_claim(work, cause, no_retirement=no_retirement)
        case State.PREEMPTING if fast and work.state.pair == VACATING:
            kill_claim(work, cause)
        case State.BACKFILL:
            head_for_owner(work)
        case _:
            return False
    return True


def slot_broken(work: Work, event: SlotBroken) -> bool:
    """Accept no jobs until the slot is repaired; end its claim."""
    work.update(broken=event.text)
    _clear(work, VacateReason.SLOT_BROKEN, fast=False)
    return True


def slot_mended(work: Work, event: SlotMended) -> bool:
    """Accept jobs again."""
    if work.state.broken is None:
        return False
    work.update(broken=None)
    work.evaluating = True
    return True


def slot_leaves(work: Work, event: SlotLeaves) -> bool:
    """Accept no more jobs. The current job runs to its end; a claim without a job ends at once."""
    if work.state.leaving is event.reason:
        return False
    work.update(leaving=event.reason)
    match work.state.state:
        case State.MATCHED:
            work.raised.add(On.CLEAR_ORDER)
        case State.BACKFILL:
            head_for_owner(work)
        case State.CLAIMED if work.state.pair == CLAIMED:
            work.evaluating = True
        case _:
            pass
    return True


def slot_stays(work: Work, event: SlotStays) -> bool:
    """Accept jobs again."""
    if work.state.leaving is None:
        return False
    work.update(leaving=None)
    work.evaluating = True
    return True


def slot_removed(work: Work, event: SlotRemoved) -> bool:
    """Remove a leaving slot that is free; no other slot is removed. Its totals belong to the machine."""
    if work.state.leaving is None:
        return False
    work.update(deleted=True)
    work.order(DeleteSlot())
    return True


def shutdown_requested(work: Work, event: ShutdownRequested) -> bool:
    """Accept nothing new. A faster shutdown replaces a slower one."""
    if work.state.shutdown is not None and event.kind <= work.state.shutdown:
        return False
    work.update(shutdown=event.kind)
    _clear(work, VacateReason.SHUTDOWN, fast=event.kind is ShutdownKind.FAST)
    return True


def drain_requested(work: Work, event: DrainRequested) -> bool:
    """Start draining the slot; whether the machine may be drained was decided for all its slots together."""
    if work.state.draining is not None:
        work.refuse(Refusal.ALREADY_DRAINING)
        return True
    graceful = event.schedule is DrainSchedule.GRACEFUL
    draining = SlotDraining(
        request_id=event.request_id,
        schedule=event.schedule,
        start=event.start,
        reason=event.reason,
        shared_until=work.now + (event.drain_remaining_s if graceful else 0.0),
        had_retirement=remaining_s(work.inputs) > 0,
        deadline_at=event.deadline_at,
    )
    until = work.state.vacate_until
    if until is not None and event.deadline_at is not None:
        until = min(until, max(work.now, event.deadline_at))
    work.update(draining=draining, vacate_until=until)
    if work.state.state is State.CLAIMED and graceful:
        _retire_for_now(work)
    elif work.state.state is not State.MATCHED:
        fast = event.schedule is DrainSchedule.FAST
        _clear(work, VacateReason.DRAINING, fast=fast, no_retirement=True)
    return True


def _retire_for_now(work: Work) -> None:
    """Retire the claim; the end of the drain may still call it off. The evaluation gives a claim without a job some
    time.
    """
    if work.state.pair != CLAIMED:
        work.raised.add(On.RETIRE_ORDER)
    work.evaluating = True


def drain_originals_gone(work: Work, event: DrainOriginalsGone) -> bool:
    """End the jobs that began during the drain, with their vacate time, because the original jobs are gone."""
    draining = work.state.draining
    if draining is None or draining.originals_gone:
        return False
    work.update(draining=replace(draining, originals_gone=True))
    if work.state.state is State.CLAIMED:
        retire_claim(work, VacateReason.DRAINING, no_retirement=True)
    elif work.state.state is State.DRAINED:
        renew_claim(work)
    return True


def drain_cancelled(work: Work, event: DrainCancelled) -> bool:
    """Continue a claim that retired only because of the drain; any other order to leave stands."""
    if work.state.draining is None:
        return False
    work.update(draining=None)
    work.evaluating = True
    return True

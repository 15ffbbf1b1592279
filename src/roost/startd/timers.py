"""Handlers of polls and timers, and when the machine has to be polled often.

A timer is a reminder of a deadline in the slot's state. A timer that fires early is set again, a late or lost one is
made up for at the next poll, and one without a deadline is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.base.records import replace
from roost.model.effects import KillFamily, SetTimer
from roost.model.events import Polled, Timer, TimerFired
from roost.model.reasons import VacateReason
from roost.model.slots import SlotKind
from roost.startd.attributes import sensed
from roost.startd.claiming import kill_claim
from roost.startd.entries import fresh_claim, killing_timeout_s
from roost.startd.jobs import order_hard_kill
from roost.startd.own_work import try_fetch
from roost.startd.slot_state import Destination, SlotState
from roost.startd.states import State
from roost.startd.transitions import On
from roost.startd.work import TIMERS, Work, deadline, deadlines


def polled(work: Work, event: Polled) -> bool:
    """Update the slot's ad, act on deadlines that passed, and evaluate the policy."""
    draining = work.state.draining
    if draining is not None and event.machine.drain_remaining_s is not None:
        draining = replace(draining, shared_until=work.now + event.machine.drain_remaining_s)
    work.update(ad=sensed(event.ad), machine=event.machine, draining=draining)
    now = work.now
    for at in deadlines(work.state):
        if at is not None and at <= now:
            _run_out_all(work)
            break
    work.evaluating = True
    return True


def _run_out_all(work: Work) -> None:
    for timer in TIMERS:
        # A deadline that passes may move or end later ones.
        at = deadline(work.state, timer)
        if at is not None and at <= work.now:
            _run_out(work, timer)


def timer_fired(work: Work, event: TimerFired) -> bool:
    """Handle a timer: a deadline may have passed."""
    at = deadline(work.state, event.timer)
    if at is None:
        return False
    if at > work.now:
        work.order(SetTimer(timer=event.timer, at=at))
        return False
    _run_out(work, event.timer)
    return True


def _run_out(work: Work, timer: Timer) -> None:
    match timer:
        case Timer.MATCH:
            _match_late(work)
        case Timer.LEASE:
            kill_claim(work, VacateReason.LEASE_EXPIRED, untold=True)
        case Timer.VACATE:
            harden(work)
        case Timer.KILLING:
            repeat_killing(work)
        case Timer.FETCH:
            work.update(fetching=replace(work.state.fetching, retry_at=None))
            try_fetch(work)


def _match_late(work: Work) -> None:
    """Withdraw a match: the queue that was promised the slot has not requested it."""
    if work.state.state is State.CLAIMED:
        claim = fresh_claim(work)
        work.update(preempting=claim, match_until=None)
    elif work.state.state is State.BACKFILL:
        work.update(destination=Destination.OWNER, match_until=None)
    else:
        work.raised.add(On.MATCH_LATE)


def harden(work: Work) -> None:
    """Handle the end of the vacate time: by a row of the table for a claim that ends, here for a deactivated job."""
    if work.state.state is State.PREEMPTING:
        work.raised.add(On.VACATE_LATE)
    elif work.state.claim.activation is not None:
        order_hard_kill(work)


def repeat_killing(work: Work) -> None:
    """Repeat the hard kill: a starter that still runs has failed to kill its job, so everything below it is killed
    again.
    """
    if work.state.claim.activation is None:
        work.update(kill_again_at=None)
        return
    work.order(KillFamily())
    work.update(kill_again_at=work.now + killing_timeout_s(work))


#: Maximum interval between polls of an idle machine, s: a returning owner should not wait for UPDATE_INTERVAL before
#: jobs are kept away.
IDLE_LOOK_S: Final = 60


def idle_interval_s(polling_s: int, update_s: int) -> int:
    """The interval between polls of a machine for which `polling_needed` does not hold."""
    return max(polling_s, min(update_s, IDLE_LOOK_S))


def polling_needed(slots: Iterable[SlotState]) -> bool:
    """Whether some slot has to be polled every POLLING_INTERVAL rather than every UPDATE_INTERVAL.

    Load caused by the machine's own work is another reason; that is known from the sensors.
    """
    return any(
        slot.kind is not SlotKind.PARTITIONABLE
        and slot.state in (State.CLAIMED, State.PREEMPTING, State.BACKFILL)
        and not slot.deleted
        for slot in slots
    )

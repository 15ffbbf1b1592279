"""What a poll and the timers do to a slot, and when the machine has to be looked at often.

A timer is a reminder of a deadline that the slot's state holds. One that comes early is set again, one that comes late
or was lost is made good at the next poll, one whose deadline is gone means nothing.
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
    """The slot's ad is as new as can be, deadlines that passed are made good, and the policy is evaluated."""
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
        # One that runs out may move or end those after it.
        at = deadline(work.state, timer)
        if at is not None and at <= work.now:
            _run_out(work, timer)


def timer_fired(work: Work, event: TimerFired) -> bool:
    """A deadline may have been reached."""
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
    """The queue that was promised the slot has not requested it."""
    if work.state.state is State.CLAIMED:
        claim = fresh_claim(work)
        work.update(preempting=claim, match_until=None)
    elif work.state.state is State.BACKFILL:
        work.update(destination=Destination.OWNER, match_until=None)
    else:
        work.raised.add(On.MATCH_LATE)


def harden(work: Work) -> None:
    """The vacate time is over: for a claim that ends by a row of the table, for a deactivated job here."""
    if work.state.state is State.PREEMPTING:
        work.raised.add(On.VACATE_LATE)
    elif work.state.claim.activation is not None:
        order_hard_kill(work)


def repeat_killing(work: Work) -> None:
    """A starter that still lives cannot kill its job: everything below it is killed, again and again."""
    if work.state.claim.activation is None:
        work.update(kill_again_at=None)
        return
    work.order(KillFamily())
    work.update(kill_again_at=work.now + killing_timeout_s(work))


#: How often a machine that is not in use looks at its policy at least, s: an owner who is back is not to wait for
#: UPDATE_INTERVAL before jobs are kept away.
IDLE_LOOK_S: Final = 60


def idle_interval_s(polling_s: int, update_s: int) -> int:
    """Time between two looks at a machine where `polling_needed` does not hold."""
    return max(polling_s, min(update_s, IDLE_LOOK_S))


def polling_needed(slots: Iterable[SlotState]) -> bool:
    """Whether some slot has to be looked at every POLLING_INTERVAL rather than every UPDATE_INTERVAL.

    Load that the machine's own work causes is another reason; that is known from the sensors.
    """
    return any(
        slot.kind is not SlotKind.PARTITIONABLE
        and slot.state in (State.CLAIMED, State.PREEMPTING, State.BACKFILL)
        and not slot.deleted
        for slot in slots
    )

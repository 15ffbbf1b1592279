"""Draining a whole machine: the state that its slots share during a drain.

Each slot makes its own transitions (`machine.step`); this module decides what all of them are sent. It checks a request
against every slot, computes the time until the last original job must leave, and detects when those jobs are gone and
when the machine is empty. The order of use:

1. `request`: gives the event for every slot, or the refusal.
2. At each pass over the machine: `facts` for the polls of all slots, then `progress` on the slots as they are after it;
   its events go to every slot, its order to the daemon.
3. `cancel`: gives the event for every slot, or the refusal.

An *original* job is one that ran when the drain began. While there is one, the machine may take others, if the drain
has a START expression; they go with the last original.

A drain may have a deadline: retirement and vacate time of every job are cut so that the hard kill falls on it at the
latest.

It does not choose the machines to drain (`defrag`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.classad import Expr, evaluate
from roost.model.events import DrainCancelled, DrainOriginalsGone, DrainRequested, DrainSchedule, Event, MachineFacts
from roost.model.reasons import Refusal
from roost.model.slots import SlotKind
from roost.policy.decision import StepWorld, truth_of
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.retirement import remaining_s, vacate_time_s
from roost.startd.slot_state import SlotState
from roost.startd.states import DRAINED, State


class OnCompletion(IntEnum):
    """What happens to the machine once it is empty; the numbers are those of the protocol."""

    NOTHING = 0
    RESUME = 1
    EXIT = 2
    RESTART = 3
    RECONFIGURE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOrder:
    """A request to drain a machine."""

    schedule: DrainSchedule = DrainSchedule.GRACEFUL
    on_completion: OnCompletion = OnCompletion.NOTHING
    #: Must be TRUE for every slot; None for no condition.
    check: Expr | None = None
    #: START while draining; None for DEFAULT_DRAINING_START_EXPR.
    start: Expr | None = None
    #: The reason; the name of the requester if it gives none.
    reason: str = ""
    #: When the last job must be gone, by a hard kill if necessary, epoch s; None for no deadline.
    deadline_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineDraining:
    """The drain of a machine between two passes."""

    #: The drain in progress; None while the machine is not draining.
    order: DrainOrder | None = None
    #: Number of the current or last drain.
    number: int = 0
    #: LastDrainStartTime, LastDrainStopTime, epoch s; 0 before the first.
    started_at: int = 0
    stopped_at: int = 0
    #: When the machine was found empty, epoch s; None before.
    emptied_at: float | None = None
    #: The slots have been notified that the original jobs are gone.
    originals_gone: bool = False
    #: TotalMachineDrainingBadput and TotalMachineDrainingUnclaimedTime, core s.
    badput_core_s: float = 0.0
    unclaimed_core_s: float = 0.0
    #: Up to when the latter has been counted, epoch s; None while it is not counted.
    counted_until: float | None = None

    @property
    def request_id(self) -> str:
        """DrainingRequestId."""
        return str(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """The result of a request, a cancellation or a pass."""

    draining: MachineDraining
    #: Events for every slot, in this order.
    events: tuple[Event, ...] = ()
    refusal: Refusal | None = None
    #: What the daemon must do with itself: EXIT, RESTART or RECONFIGURE; None for nothing.
    daemon: OnCompletion | None = None


def request(
    draining: MachineDraining,
    order: DrainOrder,
    slots: Sequence[SlotState],
    policies: Mapping[str, SlotPolicy],
    now: float,
) -> Drain:
    """Begin a drain. `policies` has the policy of each slot by the slot's name."""
    if draining.order is not None:
        return Drain(draining=draining, refusal=Refusal.ALREADY_DRAINING)
    if order.check is not None:
        shared = expectations(slots, policies, now)
        if not all(_passes(order.check, Inputs(slot, policies[slot.name], now), shared) for slot in slots):
            return Drain(draining=draining, refusal=Refusal.DRAIN_CHECK_FAILED)
    if order.start is None:
        # The same for every slot, because the machine as a whole is drained.
        order = replace(order, start=next((each.draining_start for each in policies.values()), None))
    draining = replace(
        draining,
        order=order,
        number=draining.number + 1,
        started_at=int(now),
        emptied_at=None,
        originals_gone=False,
        counted_until=now,
    )
    event = DrainRequested(
        request_id=draining.request_id,
        schedule=order.schedule,
        start=order.start,
        reason=order.reason,
        drain_remaining_s=_longest_s(slots, policies, now),
        deadline_at=order.deadline_at,
    )
    return Drain(draining=draining, events=(event,))


def _passes(check: Expr, inputs: Inputs, shared: Mapping[str, Any]) -> bool:
    my = inputs.my.copy()
    for name, value in shared.items():
        my.put(name, value)
    world = StepWorld(inputs.policy, inputs.state.name, inputs.now)
    value = evaluate(check, my, None, world)
    return isinstance(value, bool) and truth_of(value) is True


def cancel(draining: MachineDraining, request_id: str, now: float) -> Drain:
    """End the drain with that id; "" means any drain in progress."""
    if draining.order is None and not request_id:
        return Drain(draining=draining)
    if draining.order is None or request_id not in ("", draining.request_id):
        return Drain(draining=draining, refusal=Refusal.NO_SUCH_DRAIN)
    return Drain(draining=_stopped(draining, now), events=(DrainCancelled(),))


def _stopped(draining: MachineDraining, now: float) -> MachineDraining:
    return replace(draining, order=None, stopped_at=int(now), emptied_at=None, originals_gone=False, counted_until=None)


def facts(
    draining: MachineDraining,
    slots: Sequence[SlotState],
    policies: Mapping[str, SlotPolicy],
    now: float,
    *,
    backfill_running: bool = False,
) -> MachineFacts:
    """The facts that every slot receives with the poll of a pass."""
    remaining = None if draining.order is None else _longest_s(slots, policies, now)
    return MachineFacts(drain_remaining_s=remaining, all_drained=is_empty(slots), backfill_running=backfill_running)


def is_empty(slots: Iterable[SlotState]) -> bool:
    """Whether every slot of the machine is Drained; a dynamic slot never is, it has to be gone."""
    present = [slot for slot in slots if not slot.deleted]
    return bool(present) and all(slot.state is State.DRAINED and slot.kind is not SlotKind.DYNAMIC for slot in present)


def _is_original(slot: SlotState) -> bool:
    activation = slot.claim.activation
    return activation is not None and not activation.accepted_while_draining


def _longest_s(slots: Iterable[SlotState], policies: Mapping[str, SlotPolicy], now: float) -> float:
    """Time until the last original job must leave, s."""
    waits = [remaining_s(Inputs(slot, policies[slot.name], now)) for slot in slots if _is_original(slot)]
    return max(waits, default=0.0)


def progress(draining: MachineDraining, slots: Sequence[SlotState], now: float) -> Drain:
    """The events and the order that follow from the slots after a pass."""
    order = draining.order
    if order is None:
        return Drain(draining=draining)
    if draining.emptied_at is None and all(slot.pair == DRAINED for slot in slots if not slot.deleted):
        return _completed(replace(draining, emptied_at=now), order, now)
    if order.start is not None and not draining.originals_gone and not any(map(_is_original, slots)):
        return Drain(draining=replace(draining, originals_gone=True), events=(DrainOriginalsGone(),))
    return Drain(draining=draining)


def _completed(draining: MachineDraining, order: DrainOrder, now: float) -> Drain:
    match order.on_completion:
        case OnCompletion.NOTHING:
            return Drain(draining=draining)
        case OnCompletion.RESUME:
            return Drain(draining=_stopped(draining, now), events=(DrainCancelled(),))
        case OnCompletion.EXIT | OnCompletion.RESTART | OnCompletion.RECONFIGURE:
            return Drain(draining=draining, daemon=order.on_completion)


def count_badput(draining: MachineDraining, run_s: float, cores: float) -> MachineDraining:
    """The effect `CountBadput` for a lost job, with the cores of its slot."""
    return replace(draining, badput_core_s=draining.badput_core_s + run_s * cores)


def count_unclaimed(
    draining: MachineDraining, slots: Iterable[SlotState], cores: Mapping[str, float], now: float
) -> MachineDraining:
    """Count the time that cores stood empty because of the drain since the last count: cores of slots that are
    Unclaimed or Drained.

    Call it before states change, before a drain ends, and at each pass. `cores` has the cores of each slot by its name;
    for a partitionable slot, those that no dynamic slot has.
    """
    since = draining.counted_until
    if draining.order is None or since is None or now <= since:
        return draining
    empty = sum(cores.get(slot.name, 0.0) for slot in slots if slot.state in _EMPTY and not slot.deleted)
    counted = draining.unclaimed_core_s + (now - since) * empty
    return replace(draining, unclaimed_core_s=counted, counted_until=now)


_EMPTY: Final = (State.UNCLAIMED, State.DRAINED)


# -- what a drain would cost -----------------------------------------------------------------------------

#: Names of the attributes that `expectations` computes.
_COMPLETION: Final = "ExpectedMachine{}DrainingCompletion"
_BADPUT: Final = "ExpectedMachine{}DrainingBadput"


def expectations(slots: Iterable[SlotState], policies: Mapping[str, SlotPolicy], now: float) -> dict[str, int]:
    """What draining the machine now would lose (core s) and when it would finish (epoch s), gracefully and quickly.

    Every job is assumed to use all the time it has, and to lose all its work so far.
    """
    graceful_s = quick_s = graceful_badput = quick_badput = 0.0
    for slot in slots:
        activation = slot.claim.activation
        if activation is None:
            continue
        inputs = Inputs(slot, policies[slot.name], now)
        cores = float(inputs.whole("Cpus", otherwise=1))
        vacate_s = vacate_time_s(inputs)
        retirement_s = min(remaining_s(inputs), _FOREVER_S)
        run_s = activation.run_time_s(now)
        graceful_s = max(graceful_s, retirement_s, vacate_s)
        quick_s = max(quick_s, vacate_s)
        graceful_badput += cores * (run_s + max(retirement_s, vacate_s))
        quick_badput += cores * (run_s + vacate_s)
    return {
        _COMPLETION.format("Graceful"): int(now + graceful_s),
        _COMPLETION.format("Quick"): int(now + quick_s),
        _BADPUT.format("Graceful"): int(graceful_badput),
        _BADPUT.format("Quick"): int(quick_badput),
    }


#: Stands for the unlimited retirement of a peaceful shutdown, s.
_FOREVER_S: Final = 100 * 365 * 86400.0


def attributes(
    draining: MachineDraining, slots: Sequence[SlotState], policies: Mapping[str, SlotPolicy], now: float
) -> dict[str, Any]:
    """The attributes that drains of the machine add to the ad of every slot."""
    since = now if draining.emptied_at is None else draining.emptied_at
    found: dict[str, Any] = dict(expectations(slots, policies, since))
    found["TotalMachineDrainingBadput"] = int(draining.badput_core_s)
    found["TotalMachineDrainingUnclaimedTime"] = int(draining.unclaimed_core_s)
    if draining.started_at:
        found["LastDrainStartTime"] = draining.started_at
    if draining.stopped_at:
        found["LastDrainStopTime"] = draining.stopped_at
    return found


__all__ = [
    "Drain",
    "DrainOrder",
    "MachineDraining",
    "OnCompletion",
    "attributes",
    "cancel",
    "count_badput",
    "count_unclaimed",
    "expectations",
    "facts",
    "is_empty",
    "progress",
    "request",
]

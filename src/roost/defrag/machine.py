"""The daemon: one event in, the new state and effects out.

Theory of operation. At each DEFRAG_INTERVAL it queries the pool's slots; the reply starts a *round*:

1. Machines that arrived since the last round are counted, and so are whole machines and those that it is draining.
2. Its drains are cancelled if DEFRAG_CANCEL_REQUIREMENTS is TRUE for the machine: usually one that is whole before its
   drain is over.
3. Nothing more happens if the rate is 0, or if DEFRAG_MAX_WHOLE_MACHINES are whole, or if
   DEFRAG_MAX_CONCURRENT_DRAINING machines are draining.
4. Of the machines that are not draining, are not whole and meet DEFRAG_REQUIREMENTS, those with the highest DEFRAG_RANK
   are asked to drain: as many as the rate allows and the limit leaves room for. Equal ranks are shuffled.

Ads may be as old as the update interval of a machine. A machine that was asked to drain counts as draining, and is not
asked again, until an ad arrives that is newer than the request. A drain is requested on the condition that the machine
is still roughly as in its ad: the drain may end up to 20 minutes later and cost up to a quarter plus 20 minutes more.

A machine that refuses no longer counts; the next best one is not asked instead until the next round.

What it does not do: choose between slots of a machine, or wake sleeping machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr, parse_expression
from roost.defrag.figures import average_costs, daemon_ad
from roost.defrag.policy import DefragPolicy
from roost.defrag.state import (
    DefragEffect,
    DefragEvent,
    DefragState,
    DefragTimer,
    DefragTimerFired,
    DrainAnswered,
    PoolNotSeen,
    PoolSeen,
    PublishDefragAd,
    QueryPool,
    RequestCancellation,
    RequestDrain,
    SetDefragTimer,
)
from roost.defrag.view import MachineView, machines_of, number_of
from roost.model.events import DrainSchedule

#: How much later a drain may end than in the machine's ad, s, and how much more it may cost: a factor, and core s.
SLACK_S: Final = 1200
BADPUT_FACTOR: Final = 1.25
BADPUT_SLACK_CORE_S: Final = 1200

#: First slots report the draining costs of their machines; partitionable ones may be drained.
WANTED: Final = parse_expression("PartitionableSlot =?= true || (SlotID == 1 && DynamicSlot =!= true)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragStep:
    """The result of one event."""

    state: DefragState
    #: To be carried out in this order.
    effects: tuple[DefragEffect, ...] = ()
    #: The machines of the round, to explain it; empty for another event.
    seen: tuple[MachineView, ...] = field(default=(), repr=False)


def begin(state: DefragState, now: float, policy: DefragPolicy, host: str) -> DefragStep:
    """The daemon starts, with a new or a restored state. An overdue round runs at once."""
    last = state.last_round_at
    first_at = now if last is None else max(now, last + policy.interval_s)
    effects: list[DefragEffect] = [
        SetDefragTimer(timer=DefragTimer.ROUND, at=first_at),
        SetDefragTimer(timer=DefragTimer.UPDATE, at=now + policy.update_interval_s),
        PublishDefragAd(ad=daemon_ad(state.figures, policy.name, host, now)),
    ]
    return DefragStep(state=replace(state, asking=False), effects=tuple(effects))


def step(state: DefragState, event: DefragEvent, now: float, policy: DefragPolicy, host: str) -> DefragStep:
    """Process `event` at `now` (epoch s)."""
    match event:
        case DefragTimerFired(timer=DefragTimer.ROUND):
            again = SetDefragTimer(timer=DefragTimer.ROUND, at=now + policy.interval_s)
            return DefragStep(state=replace(state, asking=True), effects=(again, QueryPool(constraint=WANTED)))
        case DefragTimerFired(timer=DefragTimer.UPDATE):
            again = SetDefragTimer(timer=DefragTimer.UPDATE, at=now + policy.update_interval_s)
            ad = daemon_ad(state.figures, policy.name, host, now)
            return DefragStep(state=state, effects=(again, PublishDefragAd(ad=ad)))
        case PoolSeen() if state.asking:
            return _round(state, event, now, policy)
        case PoolNotSeen():
            # The allowance of the round is lost, but not that of its hour and its day.
            return DefragStep(state=replace(state, asking=False))
        case DrainAnswered():
            return DefragStep(state=_answered(state, event))
    return DefragStep(state=state)


def _answered(state: DefragState, event: DrainAnswered) -> DefragState:
    figures = state.figures
    if event.refusal:
        begun = {machine: at for machine, at in state.begun.items() if machine != event.machine}
        draining = tuple(name for name in state.draining if name != event.machine)
        figures = replace(figures, drain_failures=figures.drain_failures + 1)
        return replace(state, begun=begun, draining=draining, figures=figures)
    return replace(state, figures=replace(figures, drain_successes=figures.drain_successes + 1))


# -- a round -----------------------------------------------------------------------------------------------


def _round(state: DefragState, event: PoolSeen, now: float, policy: DefragPolicy) -> DefragStep:
    machines = machines_of(event.ads, policy, now)
    begun = _still_begun(state.begun, machines)
    ours = tuple(one.name for one in machines if one.ours)
    whole = [one.name for one in machines if one.whole]
    draining = {*ours, *begun}
    arrivals = sum(1 for name in whole if name in state.draining)
    badput, unclaimed = average_costs(event.ads)
    figures = replace(
        state.figures.seen(len(draining), len(whole)).arrived(arrivals, now),
        avg_draining_badput=badput,
        avg_draining_unclaimed=unclaimed,
    )
    cancelled = [one for one in machines if one.ours and one.holds("DEFRAG_CANCEL_REQUIREMENTS")]
    chosen = _chosen(machines, begun, _room(state, now, policy, len(whole), len(draining)), policy, event.chance)
    effects: list[DefragEffect] = [
        RequestCancellation(machine=one.name, address=_address(one), request_id=one.request_id) for one in cancelled
    ]
    effects += [_request(one, policy) for one in chosen]
    after = DefragState(
        last_round_at=now,
        begun={**begun, **{one.name: now for one in chosen}},
        # A machine arrives only once, though its drain may remain visible for a while.
        draining=tuple(sorted((draining - {*whole}) | {one.name for one in chosen})),
        figures=figures,
    )
    return DefragStep(state=after, effects=tuple(effects), seen=machines)


def _still_begun(begun: Mapping[str, float], machines: Sequence[MachineView]) -> dict[str, float]:
    """Requested drains that no ad can show yet."""
    heard = {one.name: one.heard_at for one in machines}
    return {name: at for name, at in begun.items() if name in heard and heard[name] <= at}


def _room(state: DefragState, now: float, policy: DefragPolicy, whole: int, draining: int) -> int:
    """How many drains the round may start."""
    if policy.max_whole is not None and whole >= policy.max_whole:
        return 0
    allowed = policy.rate.allowance(state.last_round_at, now)
    return allowed if policy.max_draining is None else max(0, min(allowed, policy.max_draining - draining))


def _chosen(
    machines: Sequence[MachineView], begun: Mapping[str, float], room: int, policy: DefragPolicy, chance: int
) -> list[MachineView]:
    candidates = [
        one
        for one in machines
        if not one.draining
        and not one.whole
        and one.name not in begun
        and (policy.requirements is None or one.holds("DEFRAG_REQUIREMENTS"))
    ]

    def order(one: MachineView) -> tuple[float, bytes, str]:
        shuffled = blake2b(f"{chance}|{one.name}".encode(), digest_size=8).digest()
        return -one.rank, shuffled, one.name

    return sorted(candidates, key=order)[:room]


def _address(machine: MachineView) -> str:
    value = machine.slots[0].eval("MyAddress")
    return value if isinstance(value, str) else ""


def _request(machine: MachineView, policy: DefragPolicy) -> RequestDrain:
    return RequestDrain(
        machine=machine.name,
        address=_address(machine),
        schedule=policy.schedule,
        check=check_expression(machine.slots[0], policy.schedule),
        start=policy.draining_start,
        reason=policy.reason,
    )


def check_expression(ad: ClassAd, schedule: DrainSchedule) -> Expr | None:
    """The condition under which a machine may drain, from what its ad says of the costs; None if it does not say."""
    how = "Graceful" if schedule is DrainSchedule.GRACEFUL else "Quick"
    completion, badput = f"ExpectedMachine{how}DrainingCompletion", f"ExpectedMachine{how}DrainingBadput"
    at, lost = number_of(ad, completion), number_of(ad, badput)
    if at is None or lost is None:
        return None
    latest, most = int(at) + SLACK_S, int(lost * BADPUT_FACTOR) + BADPUT_SLACK_CORE_S
    return parse_expression(f"{completion} <= {latest} && {badput} <= {most}")

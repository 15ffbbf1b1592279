"""A slot after the death of its daemon: what happened meanwhile, and which orders have to be given again.

The state is the one that was last written (`persisted`). Between it and the present moment three things may have
happened: orders were given and not carried out, results of orders came and were not heard, and time passed. So `resume`
tells the slot what has gone with the daemon or by itself, gives orders again that do no harm when they come twice, and
sets all timers. What passed with time is then made good by the next poll.

The starter's orders are told again because a starter ignores what it was told before. Benchmarks, backfill client and
hooks are children of the daemon and are taken to be gone with it.

What it does not do: find out what is still there. The caller finds that out, and says so.
"""

from __future__ import annotations

from roost.model.effects import CancelTimer, ContinueJob, Effect, HardKill, PublishAd, SetTimer, SoftKill, SuspendJob
from roost.model.events import BackfillExited, BackfillStarted, BenchmarksFinished, FetchedWorkOffered, StarterExited
from roost.startd.entries import notice_for
from roost.startd.machine import Step, step
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_state import SlotState
from roost.startd.states import BENCHMARKING, SUSPENDED, State
from roost.startd.work import TIMERS, Work, deadlines


def resume(
    state: SlotState, now: float, policy: SlotPolicy, *, starter_alive: bool, backfill_running: bool = False
) -> Step:
    """The slot as it is now, and what is to be ordered. `starter_alive`: the starter of its job is still there."""
    found = Step(state=state)
    if state.deleted:
        return found
    if state.claim.activation is not None and not starter_alive:
        found = _then(found, step(state, StarterExited(), now, policy))
    if found.state.pair == BENCHMARKING:
        found = _then(found, step(found.state, BenchmarksFinished(), now, policy))
    if found.state.fetching.running:
        found = _then(found, step(found.state, FetchedWorkOffered(), now, policy))
    if found.state.state is State.BACKFILL:
        news = BackfillStarted() if backfill_running else BackfillExited()
        found = _then(found, step(found.state, news, now, policy))
    effects = _without_timers(found.effects)
    if not found.state.deleted:
        effects += [*_orders(found.state, now, policy), *_timers(found.state), PublishAd()]
    return Step(state=found.state, effects=tuple(effects), transitions=found.transitions, outcome=found.outcome)


def _then(before: Step, after: Step) -> Step:
    return Step(
        state=after.state,
        effects=(*before.effects, *after.effects),
        transitions=(*before.transitions, *after.transitions),
    )


def _without_timers(effects: tuple[Effect, ...]) -> list[Effect]:
    """All timers are set at the end, by what the slot is then."""
    return [effect for effect in effects if not isinstance(effect, SetTimer | CancelTimer | PublishAd)]


def _orders(state: SlotState, now: float, policy: SlotPolicy) -> list[Effect]:
    """What the starter was told last, once more."""
    activation = state.claim.activation
    if activation is None or activation.ended:
        return []
    orders: list[Effect] = []
    if state.state is State.CLAIMED:
        orders.append(SuspendJob() if state.pair == SUSPENDED else ContinueJob())
    notice = notice_for(Work(state, policy, now))
    if activation.hard_killed_at is not None:
        orders.append(HardKill(notice=notice))
    elif activation.soft_killed_at is not None:
        orders.append(SoftKill(notice=notice))
    return orders


def _timers(state: SlotState) -> list[Effect]:
    return [SetTimer(timer=timer, at=at) for timer, at in zip(TIMERS, deadlines(state), strict=True) if at is not None]

"""Resuming a slot after its daemon was restarted: what happened meanwhile, and which effects must be repeated.

The state is the one last written (`persisted`). Since then, effects may not have been carried out, results may have
been missed, and time has passed. `resume` therefore tells the slot what ended with the daemon or by itself, repeats
effects that are harmless when they happen twice, and sets all timers. The next poll makes up for the time that passed.

Orders to the starter are repeated because a starter ignores an order it already has. Benchmarks, backfill client and
hooks are children of the daemon and are presumed to have ended with it.

It does not find out what still runs. The caller does, and passes it in.
"""

from __future__ import annotations

from roost.model.effects import CancelTimer, ContinueJob, Effect, HardKill, PublishAd, SetTimer, SoftKill, SuspendJob
from roost.model.events import BackfillExited, BackfillStarted, BenchmarksFinished, FetchedWorkOffered, StarterExited
from roost.startd.entries import notice_for
from roost.startd.machine import SlotStep, step
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_state import SlotState
from roost.startd.states import BENCHMARKING, SUSPENDED, State
from roost.startd.work import TIMERS, Work, deadlines


def resume(
    state: SlotState, now: float, policy: SlotPolicy, *, starter_alive: bool, backfill_running: bool = False
) -> SlotStep:
    """Return the slot as it is now, and its effects. `starter_alive`: the starter of its job still runs."""
    found = SlotStep(state=state)
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
    return SlotStep(state=found.state, effects=tuple(effects), transitions=found.transitions, outcome=found.outcome)


def _then(before: SlotStep, after: SlotStep) -> SlotStep:
    return SlotStep(
        state=after.state,
        effects=(*before.effects, *after.effects),
        transitions=(*before.transitions, *after.transitions),
    )


def _without_timers(effects: tuple[Effect, ...]) -> list[Effect]:
    """The slot without timers: all timers are set at the end, from its final state."""
    return [effect for effect in effects if not isinstance(effect, SetTimer | CancelTimer | PublishAd)]


def _orders(state: SlotState, now: float, policy: SlotPolicy) -> list[Effect]:
    """Repeat the last order to the starter."""
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

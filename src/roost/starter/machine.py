"""The state machine of a starter: one event in; the new starter, effects and transitions out.

`begin` makes a starter and `step` advances it. Both are functions of their arguments. The behaviour is described with
the table (`transitions`); `receptions` says which event is handled in which state. This module puts them together.

Invariants, checked after every step that changes something (`validation`): the pair is legal, only rows of the table
were taken, and the starter's data fit its pair. Over a whole run: one report of its end, no order after `Quit`, and
every `StartJob` is followed by the job's end or by `KillProcesses`.

It does not run anything, keep files, or wait for the queue to read the report.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.fast_records import record, replace
from roost.classad import UNDEFINED, unparse_value
from roost.model.one_run import without_earlier_run
from roost.model.starter import Doing, StarterTimer
from roost.model.starter_effects import CancelStarterTimer, MakeSandbox, SetStarterTimer, StarterEffect, Warn
from roost.model.starter_events import StarterEvent
from roost.policy.decision import Decision
from roost.starter.entries import ENTRIES
from roost.starter.guards import GUARDS
from roost.starter.hooks import SCHEDULER, hook_keyword
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.receptions import RECEPTIONS
from roost.starter.starter_state import Launch, StarterState
from roost.starter.states import EVALUATED
from roost.starter.transitions import CHAIN_MAX, ROWS, On, Transition
from roost.starter.validation import check
from roost.starter.work import StarterTaken, Work, times
from roost.tables.finder import row_finder


class Outcome(StrEnum):
    """What became of an event."""

    HANDLED = "handled"
    #: The event was late or a duplicate. Nothing has changed.
    IGNORED = "ignored"


class ImpossibleEvent(ValueError):
    """The result of work that the starter has not ordered. Nothing has changed."""


@record
class StarterStep:
    """The result of one event."""

    state: StarterState
    #: To be carried out in this order.
    effects: tuple[StarterEffect, ...] = ()
    #: In the order in which they happened.
    transitions: tuple[StarterTaken, ...] = ()
    outcome: Outcome = Outcome.HANDLED


def begin(launch: Launch, now: float, policy: StarterPolicy) -> StarterStep:
    """Return a new starter at `now` (epoch s), and its first effects."""
    wanted = launch.job_ad.cell("hookkeyword")
    keyword = hook_keyword(
        forced=policy.hook_keyword_forced,
        wanted=wanted if isinstance(wanted, str) else None,
        fallback=policy.hook_keyword_default,
        known=policy.hooks,
    )
    if launch.from_queue and launch.job_ad.cell("jobuniverse") == SCHEDULER:
        keyword = ""
    job_ad = without_earlier_run(launch.job_ad)
    state = StarterState(launch=launch, job_ad=job_ad, hook_keyword=keyword, entered_state_at=now, doing=Doing.SANDBOX)
    return StarterStep(state=state, effects=(MakeSandbox(),))


def step(state: StarterState, event: StarterEvent, now: float, policy: StarterPolicy) -> StarterStep:
    """Handle `event` at `now` (epoch s). Raises ImpossibleEvent; any other exception is a bug in Roost."""
    reception = RECEPTIONS[type(event)]
    pair = state.pair
    if pair in reception.impossible_in:
        raise ImpossibleEvent(f"{type(event).__name__} in {pair}: nothing that could lead to it was ordered")
    if pair not in reception.handled_in:
        return StarterStep(state=state, outcome=Outcome.IGNORED)
    work = Work(state, policy, now)
    if not reception.handler(work, event):
        assert work.state is state, f"{type(event).__name__} was ignored and changed the starter"
        return StarterStep(state=state, effects=tuple(work.effects), outcome=Outcome.IGNORED)
    settle(work)
    arm_poll(work)
    warn_of_values(work)
    check(state, work.state, work.taken)
    return StarterStep(
        state=work.state,
        effects=(*work.effects, *_timers(state, work.state)),
        transitions=tuple(work.taken),
    )


# -- the table, executed -----------------------------------------------------------------------------------


def settle(work: Work) -> None:
    """Take rows until none applies."""
    pair = work.state.pair
    for _ in range(CHAIN_MAX):
        found = _first_row(work, pair, work.raised, work.evaluating)
        if found is None:
            return
        take(work, *found)
        # Only a row can lead to another row: see `validation.check`.
        pair = work.taken[-1].target
    raise AssertionError(f"no end of transitions: {[row.number for row in work.taken]}")


_first_row: Final = row_finder(ROWS, GUARDS, always=On.COUPLED, evaluating=On.POLL)


def take(work: Work, row: Transition, decisions: tuple[Decision, ...]) -> None:
    """Go from the row's source to its target, and do what it names."""
    state, target = work.state, row.target
    entered_at = state.entered_state_at if target.state is state.state else work.now
    work.state = replace(state, state=target.state, stage=target.stage, entered_state_at=entered_at)
    work.raised.clear()
    work.evaluating = target.state in EVALUATED
    work.taken.append(
        StarterTaken(
            number=row.number,
            source=row.source,
            target=target,
            reason=row.reason,
            at=work.now,
            decisions=decisions,
        )
    )
    for entry in row.entry:
        ENTRIES[entry](work)


# -- rules that do not fit the table -----------------------------------------------------------------------


def arm_poll(work: Work) -> None:
    """Poll while the expression that counts in this state can change its value; a constant was evaluated on entry."""
    poll_at = work.state.deadlines.poll_at
    if not work.policy.watched(work.state):
        if poll_at is not None:
            work.schedule(poll_at=None)
    elif poll_at is None or poll_at <= work.now:
        work.schedule(poll_at=work.now + work.policy.polling_interval_s)


def warn_of_values(work: Work) -> None:
    """Warn once about an expression whose value is neither TRUE nor FALSE. UNDEFINED is not reported before the first
    sample, which resolves it.
    """
    for name, decision in work.asked.items():
        if decision.truth is None and decision.value is not UNDEFINED and name not in work.state.warned:
            meaning = "TRUE" if decision.holds else "FALSE"
            work.order(Warn(about=name, text=f"its value is {unparse_value(decision.value)}, treated as {meaning}"))
            work.update(warned=(*work.state.warned, name))


_TIMERS: Final = tuple(StarterTimer)
_CANCELS: Final = {timer: CancelStarterTimer(timer=timer) for timer in _TIMERS}


def _timers(before: StarterState, after: StarterState) -> list[StarterEffect]:
    effects: list[StarterEffect] = []
    if before.deadlines is after.deadlines:
        return effects
    was, will_be = times(before.deadlines), times(after.deadlines)
    for timer, old, new in zip(_TIMERS, was, will_be, strict=True):
        if old != new:
            effects.append(_CANCELS[timer] if new is None else SetStarterTimer(timer=timer, at=new))
    return effects


__all__ = ["ImpossibleEvent", "Outcome", "StarterStep", "StarterTaken", "begin", "settle", "step"]

"""The conditions of the transition table: one function a guard.

A guard says whether it holds and which evaluations it asked for; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.classad.syntax import Literal
from roost.model.starter import HookPoint, OrderedBy
from roost.starter.checkpoints import migrates_when_suspended
from roost.starter.deferral import is_deferred, missed
from roost.starter.entries import hook_program, time_left
from roost.starter.policy_inputs import EVICT, EXEMPT_UNIVERSES, KILL, WANT_VACATE
from roost.starter.transfer_plan import is_checkpoint
from roost.starter.transitions import Guard
from roost.starter.work import Work
from roost.tables.finder import NO, YES, Verdict


def _expression(work: Work, name: str, wanted: bool = True) -> Verdict:
    if work.state.universe in EXEMPT_UNIVERSES:
        return NO
    tree = work.policy.expressions[name].tree
    if isinstance(tree, Literal) and tree.value is (not wanted):
        # A constant of the opposite value decides nothing and appears in no record, so the ads are not built for it.
        return NO
    decision = work.decide(name)
    return Verdict(decision.holds is wanted, (decision,))


def checkpoint_exit(work: Work) -> Verdict:
    """The program ended with SuccessCheckpointExitCode, and there is time to transfer the checkpoint."""
    end = work.state.end
    return YES if end is not None and not work.state.hard and is_checkpoint(work.state.job_ad, end) else NO


def vacate_expired(work: Work) -> Verdict:
    """The vacate time is over; it never is if there is no limit."""
    until = work.state.deadlines.vacate_until
    return YES if until is not None and until <= work.now else NO


def vacate_hook(work: Work) -> Verdict:
    """A hook must run before the soft signal."""
    return YES if hook_program(work, HookPoint.VACATE) is not None else NO


def failure_hook(work: Work) -> Verdict:
    """The starter could not begin the run, it was not ordered to stop, and a hook reports that."""
    state = work.state
    cause = state.cause
    failed = cause is not None and cause.by is OrderedBy.STARTER and state.started_at is None
    return YES if failed and time_left(work) and hook_program(work, HookPoint.FAILURE) is not None else NO


GUARDS: Final[Mapping[Guard, Callable[[Work], Verdict]]] = {
    Guard.WORK_DONE: lambda work: YES if work.state.doing is None else NO,
    Guard.SUSPEND_WANTED: lambda work: YES if work.state.suspend_wanted else NO,
    Guard.MIGRATES: lambda work: YES if migrates_when_suspended(work.state) else NO,
    Guard.STAYS: lambda work: NO if migrates_when_suspended(work.state) else YES,
    Guard.UNDEFERRED: lambda work: YES if not is_deferred(work.state.job_ad) else NO,
    Guard.IN_TIME: lambda work: YES if missed(work) is None else NO,
    Guard.TOO_LATE: lambda work: YES if missed(work) is not None else NO,
    Guard.CHECKPOINT_EXIT: checkpoint_exit,
    Guard.EVICT: lambda work: _expression(work, EVICT),
    Guard.WANT_VACATE: lambda work: _expression(work, WANT_VACATE),
    Guard.NOT_WANT_VACATE: lambda work: _expression(work, WANT_VACATE, False),
    Guard.KILL: lambda work: _expression(work, KILL),
    Guard.VACATE_EXPIRED: vacate_expired,
    Guard.VACATE_HOOK: vacate_hook,
    Guard.NO_VACATE_HOOK: lambda work: YES if not vacate_hook(work).holds else NO,
    Guard.FAILURE_HOOK: failure_hook,
    Guard.NO_FAILURE_HOOK: lambda work: YES if not failure_hook(work).holds else NO,
}

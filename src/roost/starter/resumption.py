"""Resuming a starter after a restart: which effects must be repeated.

The state is the one last written (`persisted`). Work in progress is started again because its result is unknown, so a
transfer, a hook or a prolog may run twice. The job itself outlives its starter, together with its shepherd, which keeps
the job's end until it is asked for. The start of the job is therefore repeated only if it was not observed, with the
same number, and the daemon that carries it out knows whether that start happened. All processes are stopped, resumed or
killed again as the state requires.

A method of the queue instance that had ended is not run again; one whose end was not observed is.

The signal of a soft kill is not sent twice, because many programs take a second one as an order to give up at once. If
the first was lost, the vacate timer ends the job.

A report that may have been sent is sent again, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.model.starter import Doing, HookPoint, Method
from roost.model.starter_effects import (
    ContinueProcesses,
    KillProcesses,
    MakeSandbox,
    Quit,
    SetStarterTimer,
    StarterEffect,
    StartJob,
    SuspendProcesses,
)
from roost.starter.deferral import defer_again
from roost.starter.entries import (
    order_vacate_hook,
    prepare_by_hook,
    remove_sandbox,
    report_exit,
    run_epilog,
    run_exit_hook,
    run_failure_hook,
    run_prolog,
    transfer_checkpoint,
    transfer_input,
    transfer_output,
)
from roost.starter.machine import StarterStep, arm_poll, settle
from roost.starter.methods import method_of, methods_again
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_state import StarterState
from roost.starter.states import Stage, State
from roost.starter.validation import check
from roost.starter.work import Work, deadlines


def resume(state: StarterState, now: float, policy: StarterPolicy) -> StarterStep:
    """Return the resumed starter and its effects. What has happened to the job meanwhile arrives as later events."""
    work = Work(state, policy, now)
    if state.doing is not None:
        if state.run and not state.process:
            # What the job left behind may not have been killed yet.
            work.order(KillProcesses())
        work.update(doing=None)
        _AGAIN[state.stage](work)
        settle(work)
        if state.process:
            work.order(ContinueProcesses())
    elif state.state is State.DONE:
        work.order(Quit())
    else:
        _go_on_with_job(work)
    arm_poll(work)
    check(state, work.state, work.taken)
    timers = [SetStarterTimer(timer=timer, at=at) for timer, at in deadlines(work.state.deadlines) if at is not None]
    return StarterStep(state=work.state, effects=(*work.effects, *timers), transitions=tuple(work.taken))


def _go_on_with_job(work: Work) -> None:
    state = work.state
    if state.process and state.pid is None:
        work.order(StartJob(run=state.run, job_ad=state.job_ad))
    order: StarterEffect | None = None
    context = state.launch.context
    match state.state:
        case State.SUSPENDED if state.process and not (state.terminating or state.notice):
            order = None if method_of(context, Method.SUSPEND) else SuspendProcesses()
        case State.RUNNING | State.VACATING if state.process and not method_of(context, Method.RESUME):
            order = ContinueProcesses()
        case State.KILLING:
            order = KillProcesses()
    if order is not None:
        work.order(order)
    methods_again(work)


def _make_sandbox(work: Work) -> None:
    work.order(MakeSandbox())
    work.update(doing=Doing.SANDBOX)


def _clean_up(work: Work) -> None:
    report_exit(work)
    remove_sandbox(work)


#: The function that restarts the work of each stage.
_AGAIN: Final[Mapping[Stage, Callable[[Work], None]]] = {
    Stage.SANDBOX: _make_sandbox,
    Stage.EARLY_HOOK: lambda work: prepare_by_hook(work, HookPoint.PREPARE_EARLY),
    Stage.INPUT: transfer_input,
    Stage.HOOK: lambda work: prepare_by_hook(work, HookPoint.PREPARE),
    Stage.PROLOG: run_prolog,
    Stage.DEFERRAL: defer_again,
    Stage.CHECKPOINT: transfer_checkpoint,
    Stage.EPILOG: run_epilog,
    Stage.VACATE_HOOK: order_vacate_hook,
    Stage.FAILURE_HOOK: run_failure_hook,
    Stage.EXIT_HOOK: run_exit_hook,
    Stage.OUTPUT: transfer_output,
    Stage.CLEANUP: _clean_up,
}

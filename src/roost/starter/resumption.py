"""A starter after its own death: which orders have to be given again.

The state is the one that was last written (`persisted`). Work that the starter waited for begins again, since its
result is unknown: a transfer, a hook or a prolog may so happen twice. The job itself outlives its starter, with the
process that watches it, which keeps its end until it is asked; so the start of the job is ordered again only where it
was not seen, under the same number, and the daemon that carries it out knows whether that start happened. All processes
are stopped, resumed or killed again as the state requires.

A method of the queue instance that had ended is not run again; one whose end was not seen is.

The signal that ends a job softly is not sent twice, for many programs take the second as an order to give up at once.
Where the first was lost the vacate timer brings the job to an end.

A report that may have been sent is sent again; it is the same one.
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
    SetTimer,
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
from roost.starter.machine import Step, arm_poll, settle
from roost.starter.methods import method_of, methods_again
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_state import StarterState
from roost.starter.states import Stage, State
from roost.starter.validation import check
from roost.starter.work import Work, deadlines


def resume(state: StarterState, now: float, policy: StarterPolicy) -> Step:
    """The starter as it goes on, and its orders. What has become of the job meanwhile is told to it afterwards."""
    work = Work(state, policy, now)
    if state.doing is not None:
        if state.run and not state.process:
            # Whatever the job left behind may not have been killed.
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
    timers = [SetTimer(timer=timer, at=at) for timer, at in deadlines(work.state.deadlines) if at is not None]
    return Step(state=work.state, effects=(*work.effects, *timers), transitions=tuple(work.taken))


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


#: Stage to what begins its work again.
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

"""Checkpointing interfaces of a Grid Engine cell: what a job of `qsub -ckpt` is asked for, and when it migrates.

=======================  ==================================  ==========================================================
interface                a checkpoint is                     to migrate
=======================  ==================================  ==========================================================
userdefined,             `signal` to all processes           the job is ended, as its queue instance ends jobs
transparent
application-level,       `ckpt_command`                      `migr_command`, which has to end the job; without one the
hibernator, cpr                                              job is ended
=======================  ==================================  ==========================================================

Checkpoints are made each interval. A job that would be suspended, with x in `when`, migrates instead; so does one whose
machine is taken away by its policy, its owner or an administrator, with s. However the program ends then, the job waits
again. One that does not end within the vacate time of the machine is killed. `clean_command` is run after a job that
does not come again. Exit statuses mean nothing, as in Grid Engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.model.starter import Cause, Ending, Method, OrderedBy, StarterVacate
from roost.model.starter_effects import SignalJob
from roost.starter.endings import weightier
from roost.starter.methods import begin_termination, method_of, run_method

if TYPE_CHECKING:
    from roost.model.queue_context import CheckpointContext
    from roost.model.starter_events import MethodEnded
    from roost.starter.starter_state import StarterState
    from roost.starter.work import Work

_MIGRATES: Final = Cause(
    ending=Ending.EVICT,
    code=StarterVacate.JOB_SHOULD_REQUEUE,
    subcode=0,
    text="The job migrates instead of being suspended",
    by=OrderedBy.STARTER,
)


def interface_of(state: StarterState) -> CheckpointContext | None:
    """The checkpointing interface of a job; None for a job without one."""
    context = state.launch.context
    return None if context is None else context.checkpoint


def begin_checkpoints(work: Work) -> None:
    """The program runs: the first interval begins."""
    interface = interface_of(work.state)
    if interface is not None and interface.interval_s is not None:
        work.schedule(checkpoint_at=work.now + interface.interval_s)


def checkpoint_due(work: Work) -> None:
    """An interval is over. A job that stands still, or has to go, is not asked."""
    state, interface = work.state, interface_of(work.state)
    work.schedule(checkpoint_at=None)
    if interface is None or not state.process:
        return
    begin_checkpoints(work)
    if state.frozen or state.terminating:
        return
    if not interface.has_commands:
        if interface.signal:
            work.order(SignalJob(signal=interface.signal, all=True))
    elif interface.command and Method.CHECKPOINT not in state.methods:
        run_method(work, Method.CHECKPOINT, interface.command)


def note_saved(work: Work, event: MethodEnded) -> bool:
    """Whether a command of the interface has ended, so that the job counts as saved."""
    saved = event.method in (Method.CHECKPOINT, Method.MIGRATE)
    if saved:
        work.update(saved_pid=work.state.pid)
    return saved


def migrates_when_suspended(state: StarterState) -> bool:
    """Whether a job that is to stand still migrates."""
    interface = interface_of(state)
    return interface is not None and "x" in interface.when and not state.terminating


def migrates_when_evicted(state: StarterState) -> bool:
    """Whether a job that has to leave its machine is sent away by its checkpointing interface."""
    interface, cause = interface_of(state), state.cause
    return interface is not None and "s" in interface.when and cause is not None and cause.ending is Ending.EVICT


def migrate(work: Work) -> None:
    """Send the job away."""
    if work.state.migrating:
        return
    work.update(migrating=True, cause=weightier(work.state.cause, _MIGRATES))
    interface = interface_of(work.state)
    command = method_of(work.state.launch.context, Method.MIGRATE)
    if interface is not None and interface.has_commands and command:
        # It may end the job before its own end is seen.
        work.update(saved_pid=work.state.pid)
        run_method(work, Method.MIGRATE, command)
    else:
        begin_termination(work)

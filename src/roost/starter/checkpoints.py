"""Checkpointing interfaces of a Grid Engine cell: how a job of `qsub -ckpt` is checkpointed, and when it migrates.

=======================  ==================================  ==========================================================
interface                a checkpoint is                     to migrate
=======================  ==================================  ==========================================================
userdefined,             `signal` to all processes           the job is ended, as its queue instance ends jobs
transparent
application-level,       `ckpt_command`                      `migr_command`, which has to end the job; without one the
hibernator, cpr                                              job is ended
=======================  ==================================  ==========================================================

Checkpoints are taken at each interval. With x in `when`, a job migrates instead of being suspended. With s in `when`,
it migrates when the machine's policy, its owner or an administrator evicts it. However the program then ends, the job
is requeued. A job that does not end within the machine's vacate time is killed. `clean_command` runs after a job that
will not run again. Exit statuses are ignored, as in Grid Engine.
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
    """Return the checkpointing interface of a job; None for a job without one."""
    context = state.launch.context
    return None if context is None else context.checkpoint


def begin_checkpoints(work: Work) -> None:
    """Start the first interval once the program runs."""
    interface = interface_of(work.state)
    if interface is not None and interface.interval_s is not None:
        work.schedule(checkpoint_at=work.now + interface.interval_s)


def checkpoint_due(work: Work) -> None:
    """Request a checkpoint at the end of an interval, unless the job is suspended or has to leave."""
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
    """Record whether a command of the interface has ended, so that the job counts as checkpointed."""
    saved = event.method in (Method.CHECKPOINT, Method.MIGRATE)
    if saved:
        work.update(saved_pid=work.state.pid)
    return saved


def migrates_when_suspended(state: StarterState) -> bool:
    """Return whether a job migrates when it would be suspended."""
    interface = interface_of(state)
    return interface is not None and "x" in interface.when and not state.terminating


def migrates_when_evicted(state: StarterState) -> bool:
    """Return whether a job migrates through its checkpointing interface when it is evicted."""
    interface, cause = interface_of(state), state.cause
    return interface is not None and "s" in interface.when and cause is not None and cause.ending is Ending.EVICT


def migrate(work: Work) -> None:
    """Start the migration of the job."""
    if work.state.migrating:
        return
    work.update(migrating=True, cause=weightier(work.state.cause, _MIGRATES))
    interface = interface_of(work.state)
    command = method_of(work.state.launch.context, Method.MIGRATE)
    if interface is not None and interface.has_commands and command:
        # The command may end the job before the starter sees the command's own end.
        work.update(saved_pid=work.state.pid)
        run_method(work, Method.MIGRATE, command)
    else:
        begin_termination(work)

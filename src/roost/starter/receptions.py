"""Which events are handled in which pairs of state and stage, as a table; and the functions that handle them.

Each kind of event has the pairs in which it is handled, and those in which it is impossible because it would be the
result of work that was not ordered yet. In any other pair it is late, and ignored. A handler may still find that an
event has no effect: it belongs to an earlier start of the job, or to a timer that was set again since.

Handlers record what an event means and raise triggers; they change neither state nor stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.model import starter_events as ev
from roost.model.codes import SUBCODE_MEMORY
from roost.model.starter import Output, StarterHold, StarterTimer, StarterVacate, Usage
from roost.model.starter_effects import SignalJob, Warn
from roost.starter import states as at
from roost.starter.checkpoints import begin_checkpoints, checkpoint_due, note_saved
from roost.starter.endings import weightier
from roost.starter.entries import count_checkpoint, shorten_vacate_hook, stop_clock
from roost.starter.failed import application_cause
from roost.starter.limits import begin_limits, enforce_limit, look_at_limits, tell_soft_limit
from roost.starter.methods import method_due, method_ended, unusable_method
from roost.starter.signals import DEFAULT, signal_named
from roost.starter.starter_state import ProgramEnd
from roost.starter.states import EVALUATED, PAIRS, WITH_PROCESS, Pair, State
from roost.starter.surroundings import (
    fail,
    held,
    hook_ended,
    hook_late,
    hook_not_run,
    input_failed,
    requeued,
    sandbox_failed,
    script_ended,
    work_done,
)
from roost.starter.timers import repeat_killing, report_usage, timer_is_due
from roost.starter.transfer_plan import output_due
from roost.starter.transitions import On
from roost.starter.vacate_time import vacate_limit_s
from roost.starter.work import Work

Handler = Callable[[Work, Any], bool]

#: The fraction of KILLING_TIMEOUT after which a starter that was ordered to kill hard stops working for its job, so
#: that its report is sent before the startd kills the starter itself.
FINISH_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """How one kind of event is handled."""

    handler: Handler
    handled_in: frozenset[Pair]
    #: Pairs in which it is impossible.
    impossible_in: frozenset[Pair] = frozenset()


# -- orders --------------------------------------------------------------------------------------------------


def suspend_ordered(work: Work, event: ev.SuspendOrdered) -> bool:
    """Suspend the job. Before the program runs, the order is only remembered."""
    work.update(suspend_wanted=True)
    work.fire(On.SUSPEND_ORDER)
    return True


def continue_ordered(work: Work, event: ev.ContinueOrdered) -> bool:
    """Continue the job, or forget a remembered order to suspend it."""
    work.update(suspend_wanted=False)
    work.fire(On.CONTINUE_ORDER)
    return True


def soft_kill_ordered(work: Work, event: ev.SoftKillOrdered) -> bool:
    """Kill the job softly. A job that is already leaving gets no second signal, but its cause may be escalated and its
    time shortened.
    """
    state = work.state
    work.update(cause=weightier(state.cause, event.cause))
    work.retirement_s = event.retirement_s
    if state.state is State.VACATING:
        limit, until = vacate_limit_s(work), state.deadlines.vacate_until
        if limit is not None and (until is None or work.now + limit < until):
            work.schedule(vacate_until=work.now + limit)
            shorten_vacate_hook(work, limit)
    work.fire(On.SOFT_ORDER)
    return True


def hard_kill_ordered(work: Work, event: ev.HardKillOrdered) -> bool:
    """Kill the job hard. The slot waits, so all work that remains for the job gets a time limit.

    A job that ended by itself is evicted after all if its output has not been transferred yet.
    """
    state = work.state
    if state.state is not State.FINISHING or _loses_output(work):
        work.update(cause=weightier(state.cause, event.cause))
    if not state.hard:
        limit = work.policy.killing_s(state.universe) * FINISH_SHARE
        work.update(hard=True)
        work.schedule(finish_until=work.now + limit)
    work.fire(On.HARD_ORDER)
    return True


def _loses_output(work: Work) -> bool:
    return work.state.cause is None and output_due(work.state) is Output.DELIVERED


def checkpoint_ordered(work: Work, event: ev.CheckpointOrdered) -> bool:
    """Ask for a checkpoint, if the job sets WantCheckpointSignal."""
    if work.inputs.of_job("WantCheckpointSignal") is not True:
        return False
    signal = next(
        (found for name in ("CheckpointSig", "KillSig") if (found := signal_named(work.inputs.of_job(name) or ""))),
        DEFAULT,
    )
    work.order(SignalJob(signal=signal, saves=True))
    return True


def reconfigured(work: Work, event: ev.Reconfigured) -> bool:
    """Evaluate the policy again: the expressions may have changed."""
    work.fire(On.POLL)
    return True


# -- the job -------------------------------------------------------------------------------------------------


def sandbox_made(work: Work, event: ev.SandboxMade) -> bool:
    """Go on once the sandbox exists. A queue instance with invalid methods starts no job."""
    unusable = unusable_method(work.state.launch.context)
    if not unusable:
        return work_done(work, event)
    work.update(queue_error=unusable)
    return fail(work, requeued(StarterVacate.JOB_NOT_STARTED, f"The job could not be started: {unusable}"))


def job_started(work: Work, event: ev.JobStarted) -> bool:
    """Note that the program runs. Usage reports begin with the first start."""
    state = work.state
    if event.run != state.run or not state.process or state.pid is not None:
        return False
    work.update(pid=event.pid, running_since=work.now)
    if state.started_at is None:
        work.update(started_at=work.now)
        # A queue that was told that the job waits for its start time hears at once that it runs.
        waited = state.deadlines.deferred_until is not None
        work.schedule(update_at=work.now + (0 if waited else work.policy.initial_update_s), deferred_until=None)
        begin_limits(work)
    begin_checkpoints(work)
    work.fire(On.STARTED)
    return True


def job_not_started(work: Work, event: ev.JobNotStarted) -> bool:
    """Put the job on hold, or requeue it if the machine is at fault."""
    if event.run != work.state.run or not work.state.process:
        return False
    text = f"The job could not be started: {event.text}"
    if event.code is None:
        cause = requeued(StarterVacate.JOB_NOT_STARTED, text)
    else:
        cause = held(event.code, event.errno, text)
    cause = weightier(work.state.cause, cause)
    work.update(process=False, cause=cause, queue_error=event.text if event.by_queue else "")
    work.fire(On.NOT_STARTED)
    return True


def job_ended(work: Work, event: ev.JobEnded) -> bool:
    """Note the job's end. It is not the job's own end if it was not observed, or if the machine lacked something it
    should have, or memory.
    """
    if event.run != work.state.run or not work.state.process:
        return False
    if work.state.started_at is None:
        work.update(started_at=work.now)
    stop_clock(work)
    end = ProgramEnd(
        code=event.exit_code, signal=event.signal, core_dumped=event.core_dumped, resources=event.resources
    )
    work.update(process=False, pid=None, end=end)
    if event.exit_code is None and event.signal is None:
        lost = requeued(StarterVacate.STARTER_ERROR, "The end of the job was not seen")
        work.update(cause=weightier(work.state.cause, lost))
    elif event.missing:
        failed = requeued(StarterVacate.SCRATCH_DIRECTORY, f"The job failed, and {event.missing}")
        work.update(cause=weightier(work.state.cause, failed))
    said = application_cause(work.state)
    if said is not None:
        work.update(cause=weightier(work.state.cause, said))
    if event.out_of_memory:
        starved = held(StarterHold.OUT_OF_RESOURCES, SUBCODE_MEMORY, event.out_of_memory)
        work.update(cause=weightier(work.state.cause, starved))
    work.fire(On.ENDED)
    return True


def method_over(work: Work, event: ev.MethodEnded) -> bool:
    """Note the end of a method. One that has saved the job is reported to the queue at once."""
    if not method_ended(work, event):
        return False
    if note_saved(work, event):
        count_checkpoint(work)
    return True


def soft_kill_failed(work: Work, event: ev.SoftKillFailed) -> bool:
    """Kill the job hard, because the soft signal could not be delivered."""
    if event.run != work.state.run:
        return False
    work.fire(On.SIGNAL_FAILED)
    return True


def usage_sampled(work: Work, event: ev.UsageSampled) -> bool:
    """Record a sample. Sizes are maxima; all other values are current."""
    if event.run != work.state.run or not work.state.process:
        return False
    before, usage = work.state.usage, event.usage
    if before is not None:
        usage = replace(
            usage,
            image_size_kib=max(before.image_size_kib, usage.image_size_kib),
            resident_kib=max(before.resident_kib, usage.resident_kib),
            io_bytes=max(before.io_bytes, usage.io_bytes),
            disk_usage_kib=before.disk_usage_kib if usage.disk_usage_kib is None else usage.disk_usage_kib,
        )
    if work.state.launch.context is not None:
        work.update(memory_used=work.state.memory_used + _memory_used(before, event.usage, usage))
    work.update(usage=usage)
    look_at_limits(work)
    if work.state.state in EVALUATED:
        work.fire(On.POLL)
    return True


def _memory_used(before: Usage | None, sample: Usage, largest: Usage) -> float:
    """Virtual memory times CPU time since the last sample, GiB s; the final sample has no processes."""
    cpu_s = sample.user_cpu_s + sample.system_cpu_s
    if before is not None:
        cpu_s -= before.user_cpu_s + before.system_cpu_s
    size_kib = sample.image_size_kib if sample.process_count else largest.image_size_kib
    return max(0.0, cpu_s) * size_kib / _KIB_OF_GIB


def checkpoint_transferred(work: Work, event: ev.CheckpointTransferred) -> bool:
    """Count the checkpoint as saved."""
    if event.run != work.state.run:
        return False
    count_checkpoint(work)
    return work_done(work, event)


def checkpoint_failed(work: Work, event: ev.CheckpointFailed) -> bool:
    """Put the job on hold. A job that was being evicted instead goes back to its last checkpoint."""
    if event.run != work.state.run:
        return False
    if work.state.cause is not None:
        work.order(Warn(about="SuccessCheckpointExitCode", text=f"the state was not saved: {event.text}"))
        work.update(doing=None)
        work.fire(On.FAILED)
        return True
    return fail(work, held(event.code, event.subcode, event.text))


# -- timers ----------------------------------------------------------------------------------------------------


def timer_fired(work: Work, event: ev.StarterTimerFired) -> bool:
    """Handle a timer, unless it was set again or cancelled since."""
    if not timer_is_due(work, event.timer):
        return False
    match event.timer:
        case StarterTimer.POLL:
            work.fire(On.POLL)
        case StarterTimer.UPDATE:
            report_usage(work)
        case StarterTimer.VACATE:
            work.fire(On.VACATE_LATE)
        case StarterTimer.KILLING:
            repeat_killing(work)
        case StarterTimer.HOOK:
            return hook_late(work)
        case StarterTimer.DEFERRAL:
            if work.state.pair != at.DEFERRED:
                return False
            return work_done(work, event)
        case StarterTimer.SOFT_LIMIT:
            tell_soft_limit(work, "s_rt")
        case StarterTimer.HARD_LIMIT:
            enforce_limit(work, work.state.limit or "h_rt")
        case StarterTimer.METHOD:
            method_due(work)
        case StarterTimer.CHECKPOINT:
            checkpoint_due(work)
        case StarterTimer.FINISH:
            if work.state.pair not in (at.EPILOG, at.FAILURE_HOOK, at.EXIT_HOOK):
                return False
            work.fire(On.FINISH_LATE)
    return True


# -- finishing -------------------------------------------------------------------------------------------------


def output_transferred(work: Work, event: ev.OutputTransferred) -> bool:
    """Note that the output is where `output_due` said."""
    work.update(output=output_due(work.state))
    return work_done(work, event)


def output_failed(work: Work, event: ev.OutputFailed) -> bool:
    """Put a job that ended by itself on hold; for any other job, only work is lost, which is reported to its user."""
    cause = work.state.cause
    if cause is None:
        work.update(cause=held(event.code, event.subcode, event.text))
    else:
        work.update(cause=replace(cause, text=f"{cause.text}; its files could not be saved: {event.text}"))
        work.order(Warn(about="TransferOutput", text=f"output was not saved: {event.text}"))
    work.update(output=Output.FAILED)
    return work_done(work, event)


def sandbox_removed(work: Work, event: ev.SandboxRemoved) -> bool:
    """Note the removal of the sandbox. What could not be removed is reported to the machine's administrator."""
    if event.text:
        work.order(Warn(about="EXECUTE", text=f"the scratch directory is still there: {event.text}"))
    return work_done(work, event)


# -- the table -----------------------------------------------------------------------------------------------------


def _in(*wanted: State | Pair) -> frozenset[Pair]:
    return frozenset(pair for pair in PAIRS if pair in wanted or pair.state in wanted)


def _before(first: Pair) -> frozenset[Pair]:
    return frozenset(PAIRS[: PAIRS.index(first)])


def _result(handler: Handler, *pairs: Pair) -> Reception:
    """The reception of a result of work that is ordered on entering the first of the pairs."""
    return Reception(handler=handler, handled_in=frozenset(pairs), impossible_in=_before(pairs[0]))


_KIB_OF_GIB: Final = 2**20
_SAVING: Final = (at.CHECKPOINTING, at.SUSPENDED_CHECKPOINTING, at.VACATING_CHECKPOINTING)
_WITH_PROCESS: Final = tuple(pair for pair in PAIRS if pair in WITH_PROCESS)
_HOOKS: Final = (at.EARLY_HOOK, at.HOOK, at.VACATE_HOOK, at.FAILURE_HOOK, at.EXIT_HOOK)
_UNDER_WAY: Final = frozenset(PAIRS) - {at.CLEANUP, at.DONE}

RECEPTIONS: Final[Mapping[type[ev.StarterEvent], Reception]] = {
    ev.SuspendOrdered: Reception(handler=suspend_ordered, handled_in=_in(State.PREPARING, State.RUNNING)),
    ev.ContinueOrdered: Reception(handler=continue_ordered, handled_in=_in(State.PREPARING, State.SUSPENDED)),
    ev.SoftKillOrdered: Reception(handler=soft_kill_ordered, handled_in=_UNDER_WAY - _in(State.FINISHING)),
    ev.HardKillOrdered: Reception(handler=hard_kill_ordered, handled_in=_UNDER_WAY),
    ev.CheckpointOrdered: Reception(handler=checkpoint_ordered, handled_in=_in(at.RUNNING)),
    ev.Reconfigured: Reception(handler=reconfigured, handled_in=_in(*EVALUATED)),
    ev.SandboxMade: _result(sandbox_made, at.SANDBOX),
    ev.SandboxFailed: _result(sandbox_failed, at.SANDBOX),
    ev.HookEnded: _result(hook_ended, *_HOOKS),
    ev.HookNotRun: _result(hook_not_run, *_HOOKS, *_WITH_PROCESS),
    ev.ScriptEnded: _result(script_ended, at.PROLOG, at.EPILOG),
    ev.MethodEnded: _result(method_over, *_WITH_PROCESS),
    ev.InputTransferred: _result(work_done, at.INPUT),
    ev.InputFailed: _result(input_failed, at.INPUT),
    ev.JobStarted: _result(job_started, at.START, at.VACATING, at.KILLING),
    ev.JobNotStarted: _result(job_not_started, at.START, at.VACATING, at.KILLING),
    ev.JobEnded: _result(job_ended, *_WITH_PROCESS),
    ev.SoftKillFailed: Reception(
        handler=soft_kill_failed, handled_in=_in(at.VACATING), impossible_in=_before(at.START)
    ),
    ev.UsageSampled: _result(usage_sampled, *_WITH_PROCESS),
    ev.CheckpointTransferred: Reception(
        handler=checkpoint_transferred, handled_in=frozenset(_SAVING), impossible_in=_before(at.START)
    ),
    ev.CheckpointFailed: Reception(
        handler=checkpoint_failed, handled_in=frozenset(_SAVING), impossible_in=_before(at.START)
    ),
    ev.OutputTransferred: _result(output_transferred, at.OUTPUT),
    ev.OutputFailed: _result(output_failed, at.OUTPUT),
    ev.SandboxRemoved: _result(sandbox_removed, at.CLEANUP),
    ev.StarterTimerFired: Reception(handler=timer_fired, handled_in=frozenset(PAIRS) - {at.DONE}),
}

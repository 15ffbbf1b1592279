"""The effects of taking a row of the transition table: one function per entry.

An entry changes the starter's data and emits effects. It never changes state or stage, and never decides whether a row
is taken. The functions run in the new state, in the order in which the row names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from roost.base.fast_records import replace
from roost.classad import ClassAd
from roost.model.starter import Doing, Ending, ExitReport, HookPoint, OrderedBy, Output, ScriptPoint
from roost.model.starter_effects import (
    AbortWork,
    KillProcesses,
    Quit,
    RemoveSandbox,
    ReportCheckpoint,
    ReportEviction,
    ReportExit,
    RunHook,
    RunScript,
    SignalJob,
    StartJob,
    TransferCheckpoint,
    TransferInput,
    TransferOutput,
    Warn,
)
from roost.starter.checkpoints import migrate, migrates_when_evicted
from roost.starter.deferral import defer, note_missed
from roost.starter.endings import EVICTED, weightier
from roost.starter.hooks import HookProgram
from roost.starter.methods import begin_termination, continue_processes, ends_as_its_queue_does, stop_processes
from roost.starter.scripts import queue_script
from roost.starter.signals import DEFAULT, signal_named, soft_kill_attribute
from roost.starter.starter_ad import exit_attributes, update_attributes, vacate_attributes
from roost.starter.starter_state import Deadlines, StarterState
from roost.starter.states import Stage
from roost.starter.transfer_plan import moves_files, output_due
from roost.starter.transitions import Entry
from roost.starter.vacate_time import vacate_limit_s
from roost.starter.work import Work

#: Stages in which the job has no process, so there is nothing to kill when they end.
_WITHOUT_PROCESS: Final = frozenset((Stage.CHECKPOINT, Stage.UNSTARTED))


#: The fraction of the vacate time that the VACATE_JOB hook may take if its own time limit is not configured, and its
#: time limit if the vacate time is unlimited, s.
VACATE_HOOK_SHARE: Final = 0.5
VACATE_HOOK_S: Final = 300.0


def hook_program(work: Work, point: HookPoint) -> HookProgram | None:
    """Return the hook configured for this job; None if there is none."""
    hooks = work.policy.hooks.get(work.state.hook_keyword)
    return None if hooks is None else hooks.get(point)


# -- preparing ---------------------------------------------------------------------------------------------


def prepare_by_hook(work: Work, point: HookPoint) -> None:
    """Run the prepare hook. Does nothing if none is configured."""
    program = hook_program(work, point)
    if program is None:
        return
    work.order(RunHook(point=point, path=program.path, arguments=program.arguments, ad=work.state.job_ad, awaited=True))
    work.update(doing=Doing.HOOK, hooked=True)
    if program.timeout_s is not None:
        work.schedule(hook_until=work.now + program.timeout_s)


def _files_are_moved(work: Work) -> bool:
    state = work.state
    return moves_files(state.job_ad, state.launch.shares, from_queue=state.launch.from_queue)


def transfer_input(work: Work) -> None:
    """Transfer input. Does nothing if both sides see the same files."""
    if _files_are_moved(work):
        work.order(TransferInput(job_ad=work.state.job_ad))
        work.update(doing=Doing.INPUT)


def script_command(work: Work, point: ScriptPoint) -> str:
    """Return the command for a script: that of the job's queue instance, otherwise the slot's prolog or epilog; "" for
    none.
    """
    of_slot = {ScriptPoint.PROLOG: work.policy.prolog, ScriptPoint.EPILOG: work.policy.epilog}
    return queue_script(work.state, point) or of_slot.get(point, "")


#: The scripts of each stage, in order.
SCRIPTS: Final = {
    Stage.PROLOG: (ScriptPoint.PROLOG, ScriptPoint.PE_START),
    Stage.EPILOG: (ScriptPoint.CLEAN, ScriptPoint.PE_STOP, ScriptPoint.EPILOG),
}


def run_prolog(work: Work) -> None:
    """Run the prolog; an epilog is then owed. A rerun prolog prints its output again."""
    if work.state.printed:
        work.update(printed=False)
    run_scripts(work, SCRIPTS[Stage.PROLOG])


def run_scripts(work: Work, points: Iterable[ScriptPoint]) -> None:
    """Run the first of these scripts that exists; its end starts the next (`script_ended`)."""
    for point in points:
        command = script_command(work, point)
        if command and _is_owed(work, point):
            work.order(RunScript(point=point, command=command, job_status=_job_status(work.state, point)))
            work.update(doing=Doing.SCRIPT, script=point)
            if point is ScriptPoint.PROLOG:
                work.update(prolog_begun=True)
            elif point is ScriptPoint.PE_START:
                work.update(environment_begun=True)
            return


def _is_owed(work: Work, point: ScriptPoint) -> bool:
    """Return whether a closing script is owed: its opening script began, even if it failed, or the job started."""
    state = work.state
    match point:
        case ScriptPoint.CLEAN:
            comes_again = state.migrating or ending(work) not in (Ending.EXIT, Ending.REMOVE)
            return bool(state.run) and not comes_again and time_left(work)
        case ScriptPoint.EPILOG:
            return bool(state.prolog_begun or state.environment_begun or state.run) and time_left(work)
        case ScriptPoint.PE_STOP:
            return bool(state.environment_begun or state.run) and time_left(work)
    return True


def _job_status(state: StarterState, point: ScriptPoint) -> int | None:
    end = state.end if point is ScriptPoint.EPILOG else None
    return None if end is None else end.code if end.signal is None else 128 + end.signal


def start_job(work: Work) -> None:
    """Start the job. The run number separates events of this start from those of earlier ones."""
    run = work.state.run + 1
    work.order(StartJob(run=run, job_ad=work.state.job_ad))
    work.update(run=run, process=True, end=None)


# -- suspending and saving ---------------------------------------------------------------------------------


def stop_clock(work: Work) -> None:
    """Stop the run-time clock: the program has ended or is suspended."""
    state = work.state
    if state.running_since is not None:
        work.state = replace(state, run_s=state.run_time_s(work.now), running_since=None)


def suspend(work: Work) -> None:
    """Stop the job's processes and its run-time clock."""
    stop_clock(work)
    work.update(frozen=True)
    stop_processes(work)


def continue_(work: Work) -> None:
    """Resume the job's processes and its run-time clock."""
    work.update(frozen=False, running_since=work.now if work.state.process else None)
    continue_processes(work)


def sweep(work: Work) -> None:
    """Kill what the main process left behind, so that the next process does not meet it."""
    work.update(frozen=False)
    work.order(KillProcesses())


def count_checkpoint(work: Work) -> None:
    """Count the checkpoint and report it to the queue at once: the next start resumes from it."""
    work.update(checkpoints=work.state.checkpoints + 1)
    attributes = update_attributes(work.state, work.now)
    work.order(ReportCheckpoint(checkpoints=work.state.checkpoints, attributes=attributes))


def transfer_checkpoint(work: Work) -> None:
    """Transfer the checkpoint. If no files are transferred, the checkpoint is already in place."""
    if not _files_are_moved(work):
        count_checkpoint(work)
        return
    work.order(TransferCheckpoint(run=work.state.run, job_ad=work.state.job_ad))
    work.update(doing=Doing.CHECKPOINT)


# -- getting rid of the job ------------------------------------------------------------------------------------


def note_eviction(work: Work) -> None:
    """Record the machine's own policy as the cause unless there already is one."""
    work.update(cause=weightier(work.state.cause, EVICTED))


def grant_vacate(work: Work) -> None:
    """Start the vacate timer, and notify a startd that did not order the eviction."""
    limit = vacate_limit_s(work)
    work.schedule(vacate_until=None if limit is None else work.now + limit)
    _tell_startd(work)


def soft_kill(work: Work) -> None:
    """Send the soft signal; first continue a stopped job, which could not receive it."""
    if work.state.frozen and not ends_as_its_queue_does(work.state):
        continue_(work)
    signal(work)
    grant_vacate(work)


def signal(work: Work) -> None:
    """Ask the job to end by its signal, or by its queue instance's method."""
    work.schedule(hook_until=None)
    if migrates_when_evicted(work.state):
        if work.state.frozen:
            continue_(work)
        migrate(work)
    elif ends_as_its_queue_does(work.state):
        begin_termination(work)
        work.update(frozen=False)
    else:
        work.order(SignalJob(signal=_soft_signal(work)))


def migrate_away(work: Work) -> None:
    """Migrate the job instead of suspending it, within the vacate time."""
    migrate(work)
    grant_vacate(work)


def run_vacate_hook(work: Work) -> None:
    """Run the vacate hook, which gets a part of the vacate time; the job gets the rest."""
    if work.state.frozen:
        continue_(work)
    grant_vacate(work)
    order_vacate_hook(work)


def order_vacate_hook(work: Work) -> None:
    """Order the hook that runs before the soft signal. It may be rerun with the time it had left."""
    state, program = work.state, hook_program(work, HookPoint.VACATE)
    times = state.deadlines
    if program is None or state.cause is None:
        return
    left_s = None if times.vacate_until is None else max(0.0, times.vacate_until - work.now)
    ad = with_attributes(state.job_ad, vacate_attributes(state, work.now))
    word = str(state.cause.ending)
    work.order(RunHook(point=HookPoint.VACATE, path=program.path, arguments=word, ad=ad, awaited=True))
    work.update(doing=Doing.HOOK)
    part_s = VACATE_HOOK_S if left_s is None else left_s * VACATE_HOOK_SHARE
    limit_s = part_s if program.timeout_s is None else program.timeout_s
    work.schedule(hook_until=times.hook_until or work.now + limit_s)


def _soft_signal(work: Work) -> str:
    cause = work.state.cause
    assert cause is not None
    name = soft_kill_attribute(work.state.job_ad, cause.ending)
    given = work.inputs.of_job(name)
    if given is None:
        return DEFAULT
    signal = signal_named(given)
    if signal is None:
        work.order(Warn(about=name, text=f"{given} is not a signal; the job is sent {DEFAULT}"))
        return DEFAULT
    return signal


def hard_kill(work: Work) -> None:
    """Kill all processes at once; a stopped process does not need to be continued first."""
    work.order(KillProcesses())
    work.update(killed=True, frozen=False, notice=None)
    kill_again_at = work.now + work.policy.killing_s(work.state.universe)
    work.schedule(vacate_until=None, method_at=None, kill_again_at=kill_again_at)
    _tell_startd(work)


def _tell_startd(work: Work) -> None:
    cause = work.state.cause
    assert cause is not None
    if cause.by is not OrderedBy.STARTD:
        work.order(ReportEviction(job_state=str(work.state.state), cause=cause))


def shorten_vacate_hook(work: Work, limit_s: float) -> None:
    """Shorten the vacate hook: the job must get its signal even if less time is left than the hook was promised."""
    until, latest = work.state.deadlines.hook_until, work.now + limit_s * VACATE_HOOK_SHARE
    if work.state.stage is Stage.VACATE_HOOK and until is not None and until > latest:
        work.schedule(hook_until=latest)


# -- finishing -----------------------------------------------------------------------------------------------


def abandon(work: Work) -> None:
    """Abandon the work in progress; its result would come too late."""
    doing = work.state.doing
    if doing is Doing.DEFERRAL:
        work.update(doing=None)
    elif doing is not None:
        work.order(AbortWork(doing=doing))
        work.update(doing=None)
    work.schedule(hook_until=None)


_NO_DEADLINES: Final = Deadlines()


def wind_up(work: Work) -> None:
    """Clean up after the job's end: kill what it left behind. Only the time limit for finishing stays set."""
    state = work.state
    stop_clock(work)
    if state.run and work.taken[-1].source.stage not in _WITHOUT_PROCESS:
        work.order(KillProcesses())
    finish_until = state.deadlines.finish_until
    deadlines = _NO_DEADLINES if finish_until is None else Deadlines(finish_until=finish_until)
    work.update(process=False, frozen=False, deadlines=deadlines)
    if work.state.methods or work.state.notice:
        work.update(methods=(), notice=None)


def time_left(work: Work) -> bool:
    """Return whether there is time left for work after the job."""
    until = work.state.deadlines.finish_until
    return until is None or work.now < until


def run_epilog(work: Work) -> None:
    """Run the epilog. It is owed if a prolog began, even one that failed, or if the job started."""
    run_scripts(work, SCRIPTS[Stage.EPILOG])


def ending(work: Work) -> Ending:
    """Return how the run ends as things stand."""
    return Ending.EXIT if work.state.cause is None else work.state.cause.ending


def run_failure_hook(work: Work) -> None:
    """Report to the job's source, through its hook, that the job could not be started, and why."""
    state, program = work.state, hook_program(work, HookPoint.FAILURE)
    assert program is not None
    ad = with_attributes(state.job_ad, exit_attributes(state, work.now))
    word = str(ending(work))
    work.order(RunHook(point=HookPoint.FAILURE, path=program.path, arguments=word, ad=ad, awaited=True))
    work.update(doing=Doing.HOOK)
    if program.timeout_s is not None:
        work.schedule(hook_until=work.now + program.timeout_s)


def run_exit_hook(work: Work) -> None:
    """Run the exit hook once, before output is transferred. It is owed if a prepare hook ran or the job started."""
    work.schedule(hook_until=None)
    state, program = work.state, hook_program(work, HookPoint.EXIT)
    if program is None or not (state.hooked or state.run) or not time_left(work):
        return
    ad = with_attributes(state.job_ad, exit_attributes(state, work.now))
    work.order(RunHook(point=HookPoint.EXIT, path=program.path, arguments=str(ending(work)), ad=ad, awaited=True))
    work.update(doing=Doing.HOOK)
    if program.timeout_s is not None:
        work.schedule(hook_until=work.now + program.timeout_s)


def with_attributes(ad: ClassAd, more: ClassAd) -> ClassAd:
    """Return a copy of an ad with the attributes of another."""
    copy = ad.copy()
    copy.update(more)
    return copy


def transfer_output(work: Work) -> None:
    """Transfer output, unless the job was killed hard by order: then there is no time."""
    work.schedule(hook_until=None)
    due = output_due(work.state)
    if due is Output.NONE:
        return
    if work.state.hard:
        work.update(output=Output.ABANDONED)
        return
    work.order(TransferOutput(job_ad=work.state.job_ad, destination=due))
    work.update(doing=Doing.OUTPUT, output=Output.ABANDONED)


def report_exit(work: Work) -> None:
    """Send the only report of this run."""
    state, end = work.state, work.state.end
    work.order(
        ReportExit(
            report=ExitReport(
                ending=ending(work),
                cause=state.cause,
                started=state.started_at is not None,
                exit_code=None if end is None else end.code,
                exit_signal=None if end is None else end.signal,
                core_dumped=end is not None and end.core_dumped,
                output=state.output,
                checkpoints=state.checkpoints,
                script_failures=state.script_failures,
                attributes=exit_attributes(state, work.now),
            )
        )
    )


def remove_sandbox(work: Work) -> None:
    """Remove the sandbox, including one that was only partly created."""
    work.order(RemoveSandbox())
    work.update(doing=Doing.CLEANUP, deadlines=_NO_DEADLINES)


ENTRIES: Final[Mapping[Entry, Callable[[Work], None]]] = {
    Entry.RUN_EARLY_HOOK: lambda work: prepare_by_hook(work, HookPoint.PREPARE_EARLY),
    Entry.TRANSFER_INPUT: transfer_input,
    Entry.RUN_HOOK: lambda work: prepare_by_hook(work, HookPoint.PREPARE),
    Entry.RUN_PROLOG: run_prolog,
    Entry.DEFER: defer,
    Entry.NOTE_MISSED: note_missed,
    Entry.START_JOB: start_job,
    Entry.SUSPEND: suspend,
    Entry.CONTINUE: continue_,
    Entry.SWEEP: sweep,
    Entry.TRANSFER_CHECKPOINT: transfer_checkpoint,
    Entry.NOTE_EVICTION: note_eviction,
    Entry.SOFT_KILL: soft_kill,
    Entry.RUN_VACATE_HOOK: run_vacate_hook,
    Entry.SIGNAL: signal,
    Entry.MIGRATE: migrate_away,
    Entry.GRANT_VACATE: grant_vacate,
    Entry.HARD_KILL: hard_kill,
    Entry.ABANDON: abandon,
    Entry.WIND_UP: wind_up,
    Entry.RUN_EPILOG: run_epilog,
    Entry.RUN_FAILURE_HOOK: run_failure_hook,
    Entry.RUN_EXIT_HOOK: run_exit_hook,
    Entry.TRANSFER_OUTPUT: transfer_output,
    Entry.REPORT_EXIT: report_exit,
    Entry.REMOVE_SANDBOX: remove_sandbox,
    Entry.QUIT: lambda work: work.order(Quit()),
}

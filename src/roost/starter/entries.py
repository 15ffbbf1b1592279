"""What is done on taking a row of the transition table: one function an entry.

An entry changes the starter's data and gives orders; it never changes state or stage, and never decides whether a
row is taken. The functions run in the new state, in the order in which the row names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from roost.base.changed import changer, maker
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

#: Records of which a step makes many, made faster.
_start_job: Final = maker(StartJob)
_report_exit: Final = maker(ReportExit)
_signal_job: Final = maker(SignalJob)

#: Stages in which the job has no process, so that there is nothing to kill at their end.
_WITHOUT_PROCESS: Final = frozenset((Stage.CHECKPOINT, Stage.UNSTARTED))


#: The part of the vacate time that the hook before the soft signal may take where its own time is not configured; and
#: how long it may take where the vacate time has no limit, s.
VACATE_HOOK_SHARE: Final = 0.5
VACATE_HOOK_S: Final = 300.0


def hook_program(work: Work, point: HookPoint) -> HookProgram | None:
    """The hook configured for this job; None if there is none."""
    hooks = work.policy.hooks.get(work.state.hook_keyword)
    return None if hooks is None else hooks.get(point)


# -- preparing ---------------------------------------------------------------------------------------------


def prepare_by_hook(work: Work, point: HookPoint) -> None:
    """Nothing to do where no such hook is configured."""
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
    """Nothing to do where both sides see the same files."""
    if _files_are_moved(work):
        work.order(TransferInput(job_ad=work.state.job_ad))
        work.update(doing=Doing.INPUT)


def script_command(work: Work, point: ScriptPoint) -> str:
    """The command at a point: that of the job's queue instance, else prolog or epilog of the slot; "" for none."""
    of_slot = {ScriptPoint.PROLOG: work.policy.prolog, ScriptPoint.EPILOG: work.policy.epilog}
    return queue_script(work.state, point) or of_slot.get(point, "")


#: What is run in a stage, in this order.
SCRIPTS: Final = {
    Stage.PROLOG: (ScriptPoint.PROLOG, ScriptPoint.PE_START),
    Stage.EPILOG: (ScriptPoint.CLEAN, ScriptPoint.PE_STOP, ScriptPoint.EPILOG),
}


def run_prolog(work: Work) -> None:
    """From now on an epilog is owed. One that runs again prints anew."""
    if work.state.printed:
        work.update(printed=False)
    run_scripts(work, SCRIPTS[Stage.PROLOG])


def run_scripts(work: Work, points: Iterable[ScriptPoint]) -> None:
    """Run the first of these that there is; the end of one leads to the next (`script_ended`)."""
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
    """What comes after the job is owed to what was begun before it, even if that failed, and to a job that started."""
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
    """The number tells what comes of this start from what comes of another."""
    run = work.state.run + 1
    work.order(_start_job(run=run, job_ad=work.state.job_ad))
    work.update(run=run, process=True, end=None)


# -- suspending and saving ---------------------------------------------------------------------------------


_stopped: Final = changer(StarterState, "run_s", "running_since")


def stop_clock(work: Work) -> None:
    """The program no longer runs, or not for now."""
    state = work.state
    if state.running_since is not None:
        work.state = _stopped(state, state.run_time_s(work.now), None)


def suspend(work: Work) -> None:
    """The clock of the job's running time stops."""
    stop_clock(work)
    work.update(frozen=True)
    stop_processes(work)


def continue_(work: Work) -> None:
    """The clock of the job's running time goes on."""
    work.update(frozen=False, running_since=work.now if work.state.process else None)
    continue_processes(work)


def sweep(work: Work) -> None:
    """What the main process leaves behind is not to meet the next one."""
    work.update(frozen=False)
    work.order(KillProcesses())


def count_checkpoint(work: Work) -> None:
    """The state is where the next start finds it: the queue hears of that at once."""
    work.update(checkpoints=work.state.checkpoints + 1)
    attributes = update_attributes(work.state, work.now)
    work.order(ReportCheckpoint(checkpoints=work.state.checkpoints, attributes=attributes))


def transfer_checkpoint(work: Work) -> None:
    """Where no files are moved the state is where it should be already."""
    if not _files_are_moved(work):
        count_checkpoint(work)
        return
    work.order(TransferCheckpoint(run=work.state.run, job_ad=work.state.job_ad))
    work.update(doing=Doing.CHECKPOINT)


# -- getting rid of the job ------------------------------------------------------------------------------------


def note_eviction(work: Work) -> None:
    """The machine's own policy is the cause unless there was one before."""
    work.update(cause=weightier(work.state.cause, EVICTED))


def grant_vacate(work: Work) -> None:
    """The vacate timer starts, and a startd that did not order this is told."""
    limit = vacate_limit_s(work)
    work.schedule(vacate_until=None if limit is None else work.now + limit)
    _tell_startd(work)


def soft_kill(work: Work) -> None:
    """A stopped job could not hear the signal."""
    if work.state.frozen and not ends_as_its_queue_does(work.state):
        continue_(work)
    signal(work)
    grant_vacate(work)


def signal(work: Work) -> None:
    """The job is asked to end, or ended as its queue instance ends jobs."""
    work.schedule(hook_until=None)
    if migrates_when_evicted(work.state):
        if work.state.frozen:
            continue_(work)
        migrate(work)
    elif ends_as_its_queue_does(work.state):
        begin_termination(work)
        work.update(frozen=False)
    else:
        work.order(_signal_job(signal=_soft_signal(work)))


def migrate_away(work: Work) -> None:
    """The job is sent to another machine instead of being suspended, within the vacate time."""
    migrate(work)
    grant_vacate(work)


def run_vacate_hook(work: Work) -> None:
    """The hook has a part of the vacate time for itself; what it leaves of it is the job's."""
    if work.state.frozen:
        continue_(work)
    grant_vacate(work)
    order_vacate_hook(work)


def order_vacate_hook(work: Work) -> None:
    """Run the hook before the soft signal; it may be run again, with the time that it had left."""
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
        work.order(Warn(about=name, text=f"{given} is not a signal; the job gets {DEFAULT}"))
        return DEFAULT
    return signal


def hard_kill(work: Work) -> None:
    """All processes, at once; a stopped one needs not go on to die."""
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
    """The job is to have its signal though it has less time than its hook was promised."""
    until, latest = work.state.deadlines.hook_until, work.now + limit_s * VACATE_HOOK_SHARE
    if work.state.stage is Stage.VACATE_HOOK and until is not None and until > latest:
        work.schedule(hook_until=latest)


# -- finishing -----------------------------------------------------------------------------------------------


def abandon(work: Work) -> None:
    """Whatever comes of it is too late."""
    doing = work.state.doing
    if doing is Doing.DEFERRAL:
        work.update(doing=None)
    elif doing is not None:
        work.order(AbortWork(doing=doing))
        work.update(doing=None)
    work.schedule(hook_until=None)


_NO_DEADLINES: Final = Deadlines()


def wind_up(work: Work) -> None:
    """The job is gone; what it left behind goes as well. Only the limit of the time for finishing stays."""
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
    """What is done after the job may take time still."""
    until = work.state.deadlines.finish_until
    return until is None or work.now < until


def run_epilog(work: Work) -> None:
    """Owed to a prolog that was begun, even one that failed, and to a job that was started."""
    run_scripts(work, SCRIPTS[Stage.EPILOG])


def ending(work: Work) -> Ending:
    """How the run ends, as things stand."""
    return Ending.EXIT if work.state.cause is None else work.state.cause.ending


def run_failure_hook(work: Work) -> None:
    """The source of the job is told that it could not be started, and why."""
    state, program = work.state, hook_program(work, HookPoint.FAILURE)
    assert program is not None
    ad = with_attributes(state.job_ad, exit_attributes(state, work.now))
    word = str(ending(work))
    work.order(RunHook(point=HookPoint.FAILURE, path=program.path, arguments=word, ad=ad, awaited=True))
    work.update(doing=Doing.HOOK)
    if program.timeout_s is not None:
        work.schedule(hook_until=work.now + program.timeout_s)


def run_exit_hook(work: Work) -> None:
    """Once, before output is moved; owed to a prepare hook that ran, and to a job that was started."""
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
    """A copy of an ad with the attributes of another."""
    copy = ad.copy()
    copy.update(more)
    return copy


def transfer_output(work: Work) -> None:
    """After a hard kill by order there is no time for it."""
    work.schedule(hook_until=None)
    due = output_due(work.state)
    if due is Output.NONE:
        return
    if work.state.hard:
        work.update(output=Output.ABANDONED)
        return
    work.order(TransferOutput(job_ad=work.state.job_ad, destination=due))
    work.update(doing=Doing.OUTPUT, output=Output.ABANDONED)


_report: Final = maker(ExitReport)


def report_exit(work: Work) -> None:
    """The one report of this run."""
    state, end = work.state, work.state.end
    work.order(
        _report_exit(
            report=_report(
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
    """Also one that was not made as it should have been."""
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

"""How a queue instance of a Grid Engine cell has jobs suspended, continued and ended, and the warning before that.

A queue may name a signal, or a line for a shell, in place of SIGSTOP, SIGCONT and SIGKILL. A line runs as the job's
user in the job's directory and environment. The administrator is told how it ended, and nothing else follows: as in
Grid Engine a job counts as suspended once its method was run. The method that ends a job is run again while the job is
there, never twice at once. Two limits bound that: a method may take `STARTER_METHOD_TIMEOUT`, and a job may take the
vacate time of its machine; then all of its processes are killed.

A job of `qsub -notify` gets a signal before it is suspended or ended, and `notify` of the queue as time.

These rules fit no row of the transition table, for they change no state. A method that was ordered and has not ended is
part of the state, so that it is run again by a daemon that comes after one that was killed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roost.classad.values import fold
from roost.model.cell_requests import NAME, NOTIFY
from roost.model.signals import signal_named
from roost.model.starter import Method
from roost.model.starter_effects import ContinueProcesses, KillProcesses, RunMethod, SignalJob, SuspendProcesses, Warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roost.model.queue_context import QueueContext
    from roost.model.starter_events import MethodEnded
    from roost.starter.starter_state import StarterState
    from roost.starter.work import Work

#: Time after which the method that ends a job is run again while the job is there, s.
TERMINATE_AGAIN_S: Final = 2.0

#: Pseudo-variables of the lines of methods.
VARIABLES: Final = ("host", "ja_task_id", "job_owner", "job_id", "job_name", "queue", "job_pid", "sge_cell", "sge_root")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_]+)")
_OF_CHECKPOINTS: Final = (Method.CHECKPOINT, Method.MIGRATE)
#: What is not put into quotes within a line.
_SAFE: Final = re.compile(r"[\w@%+=:,./-]*\Z", re.ASCII)


def method_of(context: QueueContext | None, method: Method) -> str:
    """The signal or line of a queue instance, or of a checkpointing interface; "" where it is the usual one.

    Where one of suspension and continuation is named, the other one is a signal as well: what a method wakes up must
    not be kept from running by the kernel, and what stands still by a method need not be known to it.
    """
    if context is None:
        return ""
    suspends, resumes = context.suspend_method, context.resume_method
    match method:
        case Method.SUSPEND:
            return suspends or ("SIGSTOP" if resumes else "")
        case Method.RESUME:
            return resumes or ("SIGCONT" if suspends else "")
        case Method.TERMINATE:
            return context.terminate_method
        case Method.CHECKPOINT:
            return "" if context.checkpoint is None else context.checkpoint.command
        case Method.MIGRATE:
            return "" if context.checkpoint is None else context.checkpoint.migrate


def is_line(command: str) -> bool:
    """Whether a method is a line for a shell, and not a signal."""
    return command.startswith("/")


def unusable_method(context: QueueContext | None) -> str:
    """Why a queue instance can start no job, in Grid Engine's words; "" if its methods are right."""
    if context is None:
        return ""
    methods = (Method.SUSPEND, Method.RESUME, Method.TERMINATE)
    return next((found for name in methods if (found := problem_of(name, getattr(context, name)))), "")


def problem_of(name: str, command: str) -> str:
    """What is wrong with a method, in Grid Engine's words; "" for nothing."""
    if is_line(command):
        unknown = next((each for each in _VARIABLE.findall(command) if each not in VARIABLES), "")
        return f'{name}: unknown variable "${unknown}" in "{command}"' if unknown else ""
    if command and _signal(command) is None:
        return f'cannot convert {name} "{command}" into a valid signal number at this machine'
    return ""


def _signal(text: str) -> str | None:
    """A signal as a queue names it: with SIG, in any case, or by its number."""
    return signal_named(text) if text.isdecimal() or text.casefold().startswith("sig") else None


def expanded_line(line: str, values: Mapping[str, str]) -> str:
    """A line with its pseudo-variables replaced; a value is never more than a part of one word of the shell."""

    def value(found: re.Match[str]) -> str:
        text = values.get(found[1], found[0])
        return text if text == found[0] or _SAFE.match(text) else "'" + text.replace("'", "'\"'\"'") + "'"

    return _VARIABLE.sub(value, line)


# -- suspending and continuing ----------------------------------------------------------------------------------


def stop_processes(work: Work) -> None:
    """The job is to stand still: it is warned first if it wants that."""
    if work.state.terminating:
        # It is let go on so that it can end.
        return
    if not _warned(work, Method.SUSPEND):
        _stop(work)


def _stop(work: Work) -> None:
    command = method_of(work.state.launch.context, Method.SUSPEND)
    if command:
        run_method(work, Method.SUSPEND, command)
    else:
        work.order(SuspendProcesses())


def continue_processes(work: Work) -> None:
    """The job may go on, and what it was warned of does not come."""
    if work.state.notice is Method.SUSPEND:
        work.update(notice=None)
        work.schedule(method_at=None)
    command = method_of(work.state.launch.context, Method.RESUME)
    if command:
        run_method(work, Method.RESUME, command)
    else:
        work.order(ContinueProcesses())


# -- ending ----------------------------------------------------------------------------------------------------


def ends_as_its_queue_does(state: StarterState) -> bool:
    """Whether a job that has to end is ended as its queue instance ends jobs, and not by its own KillSig."""
    context = state.launch.context
    return context is not None and (bool(context.terminate_method) or _is_of_qsub(state))


def has_last_word(state: StarterState) -> bool:
    """Whether a job can do something before it is killed: it is warned, or a method ends it."""
    context = state.launch.context
    return context is not None and bool(context.terminate_method or _warning(state, Method.TERMINATE))


def begin_termination(work: Work) -> None:
    """The job has to end: it is warned first if it wants that."""
    state = work.state
    if state.terminating:
        return
    work.update(terminating=True)
    if state.frozen and has_last_word(state):
        # A job that stands still hears nothing.
        continue_processes(work)
    if not _warned(work, Method.TERMINATE):
        _terminate(work)


def _terminate(work: Work) -> None:
    command = method_of(work.state.launch.context, Method.TERMINATE)
    if not command:
        work.order(KillProcesses())
    elif Method.TERMINATE not in work.state.methods:
        run_method(work, Method.TERMINATE, command)
    work.schedule(method_at=work.now + TERMINATE_AGAIN_S)


# -- both --------------------------------------------------------------------------------------------------------


def _is_of_qsub(state: StarterState) -> bool:
    return isinstance(state.job_ad.cell(fold(NAME)), str)


def _warning(state: StarterState, of: Method) -> str:
    """The signal by which a job is warned; "" if it is not."""
    context = state.launch.context
    if context is None or context.notify_s <= 0 or state.job_ad.cell(fold(NOTIFY)) is not True:
        return ""
    return context.notify_suspend if of is Method.SUSPEND else context.notify_terminate


def _warned(work: Work, of: Method) -> bool:
    """Warn the job if it is to be; whether it has time now."""
    signal, context = _warning(work.state, of), work.state.launch.context
    if not signal or context is None:
        return False
    work.order(SignalJob(signal=signal, all=True, suspends=of is Method.SUSPEND))
    work.update(notice=of)
    work.schedule(method_at=work.now + context.notify_s)
    return True


def run_method(work: Work, method: Method, command: str) -> None:
    """Order a method; it is under way until its end is told."""
    if method not in work.state.methods:
        work.update(methods=(*work.state.methods, method))
    signal = None if is_line(command) or method in _OF_CHECKPOINTS else _signal(command)
    work.order(RunMethod(method=method, command=signal or command, timeout_s=work.policy.method_timeout_s))


def method_due(work: Work) -> None:
    """What the job was warned of happens now, or the method that ends it is run again."""
    state = work.state
    work.update(notice=None)
    work.schedule(method_at=None)
    if not state.process:
        return
    if state.notice is Method.SUSPEND:
        if state.frozen:
            _stop(work)
    elif state.terminating:
        _terminate(work)


def method_ended(work: Work, event: MethodEnded) -> bool:
    """Whatever came of it, nothing else follows."""
    if event.method not in work.state.methods:
        return False
    work.update(methods=tuple(each for each in work.state.methods if each is not event.method))
    if event.text:
        work.order(Warn(about=event.method, text=event.text))
    return True


def methods_again(work: Work) -> None:
    """A daemon goes on for one that was killed: what had not ended begins again."""
    state = work.state
    for method in state.methods if state.process else ():
        command = method_of(state.launch.context, method)
        if command:
            run_method(work, method, command)
    if state.terminating and state.notice is None and not method_of(state.launch.context, Method.TERMINATE):
        work.order(KillProcesses())

"""How a Grid Engine queue instance suspends, continues and ends jobs, and the notification before that.

A queue may name a signal, or a shell command line, in place of SIGSTOP, SIGCONT and SIGKILL. A command line runs as the
job's user in the job's directory and environment. Its outcome is reported to the administrator and has no other effect:
as in Grid Engine, a job counts as suspended once its method has run. The method that ends a job is repeated while the
job exists, but never runs twice at once. Two limits bound it: a method may take `STARTER_METHOD_TIMEOUT`, and a job may
take the vacate time of its machine; after that all of its processes are killed.

A job of `qsub -notify` gets a signal before it is suspended or ended, and has the queue's `notify` time to react.

These rules fit no row of the transition table because they change no state. A method that was ordered and has not ended
is part of the state, so a restarted daemon runs it again.
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

#: Interval at which the method that ends a job is repeated while the job exists, s.
TERMINATE_AGAIN_S: Final = 2.0

#: Pseudo-variables of method command lines.
VARIABLES: Final = ("host", "ja_task_id", "job_owner", "job_id", "job_name", "queue", "job_pid", "sge_cell", "sge_root")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_]+)")
_OF_CHECKPOINTS: Final = (Method.CHECKPOINT, Method.MIGRATE)
#: Characters that need no quotes in a shell command line.
_SAFE: Final = re.compile(r"[\w@%+=:,./-]*\Z", re.ASCII)


def method_of(context: QueueContext | None, method: Method) -> str:
    """Return the signal or command line of a queue instance or of a checkpointing interface; "" for the default.

    If only one of suspension and continuation is configured, the other is a signal as well: processes that a method
    continues must not be stopped by the kernel, and a method does not need to know of a suspension by method.
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
    """Return whether a method is a shell command line rather than a signal."""
    return command.startswith("/")


def unusable_method(context: QueueContext | None) -> str:
    """Return why a queue instance cannot start any job, in Grid Engine's words; "" if its methods are valid."""
    if context is None:
        return ""
    methods = (Method.SUSPEND, Method.RESUME, Method.TERMINATE)
    return next((found for name in methods if (found := problem_of(name, getattr(context, name)))), "")


def problem_of(name: str, command: str) -> str:
    """Return what is wrong with a method, in Grid Engine's words; "" for nothing."""
    if is_line(command):
        unknown = next((each for each in _VARIABLE.findall(command) if each not in VARIABLES), "")
        return f'{name}: unknown variable "${unknown}" in "{command}"' if unknown else ""
    if command and _signal(command) is None:
        return f'cannot convert {name} "{command}" into a valid signal number at this machine'
    return ""


def _signal(text: str) -> str | None:
    """Return a signal as a queue names it: with SIG, in any case, or by number."""
    return signal_named(text) if text.isdecimal() or text.casefold().startswith("sig") else None


def expanded_line(line: str, values: Mapping[str, str]) -> str:
    """Return a line with its pseudo-variables replaced; a value never becomes more than part of one shell word."""

    def value(found: re.Match[str]) -> str:
        text = values.get(found[1], found[0])
        return text if text == found[0] or _SAFE.match(text) else "'" + text.replace("'", "'\"'\"'") + "'"

    return _VARIABLE.sub(value, line)


# -- suspending and continuing ----------------------------------------------------------------------------------


def stop_processes(work: Work) -> None:
    """Suspend the job, after notifying it if it asks for that."""
    if work.state.terminating:
        # The job is continued so that it can end.
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
    """Continue the job, and cancel a suspension that it was notified of."""
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
    """Return whether the queue instance's method ends the job, instead of the job's own KillSig."""
    context = state.launch.context
    return context is not None and (bool(context.terminate_method) or _is_of_qsub(state))


def has_last_word(state: StarterState) -> bool:
    """Return whether a job can still act before it is killed: it is notified, or a method ends it."""
    context = state.launch.context
    return context is not None and bool(context.terminate_method or _warning(state, Method.TERMINATE))


def begin_termination(work: Work) -> None:
    """End the job, after notifying it if it asks for that."""
    state = work.state
    if state.terminating:
        return
    work.update(terminating=True)
    if state.frozen and has_last_word(state):
        # A suspended job receives no signal.
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
    """Return the signal that notifies a job; "" if it is not notified."""
    context = state.launch.context
    if context is None or context.notify_s <= 0 or state.job_ad.cell(fold(NOTIFY)) is not True:
        return ""
    return context.notify_suspend if of is Method.SUSPEND else context.notify_terminate


def _warned(work: Work, of: Method) -> bool:
    """Notify the job if it asks for that, and return whether it now has time to react."""
    signal, context = _warning(work.state, of), work.state.launch.context
    if not signal or context is None:
        return False
    work.order(SignalJob(signal=signal, all=True, suspends=of is Method.SUSPEND))
    work.update(notice=of)
    work.schedule(method_at=work.now + context.notify_s)
    return True


def run_method(work: Work, method: Method, command: str) -> None:
    """Order a method; it is in progress until its end is reported."""
    if method not in work.state.methods:
        work.update(methods=(*work.state.methods, method))
    signal = None if is_line(command) or method in _OF_CHECKPOINTS else _signal(command)
    work.order(RunMethod(method=method, command=signal or command, timeout_s=work.policy.method_timeout_s))


def method_due(work: Work) -> None:
    """Carry out what the job was notified of, or repeat the method that ends it."""
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
    """Note the end of a method. Its result has no further effect."""
    if event.method not in work.state.methods:
        return False
    work.update(methods=tuple(each for each in work.state.methods if each is not event.method))
    if event.text:
        work.order(Warn(about=event.method, text=event.text))
    return True


def methods_again(work: Work) -> None:
    """Start the unfinished methods again after a restart."""
    state = work.state
    for method in state.methods if state.process else ():
        command = method_of(state.launch.context, method)
        if command:
            run_method(work, method, command)
    if state.terminating and state.notice is None and not method_of(state.launch.context, Method.TERMINATE):
        work.order(KillProcesses())

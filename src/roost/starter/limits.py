"""The limits of a Grid Engine queue instance on a job's run time, and on the combined use of its processes.

The kernel enforces the limits of single processes (`setrlimit`). The starter enforces the rest, as Grid Engine's
execution daemon does: run time since the start, suspensions included (h_rt, s_rt), and CPU time and virtual memory of
all processes (h_cpu, s_cpu, h_vmem, s_vmem) whenever the job is measured. At a soft limit all processes of the job are
signalled once: SIGUSR1 for s_rt, SIGXCPU for the others. At a hard limit the job is ended by its queue instance's
method (`methods`) within the machine's vacate time, and then killed repeatedly until it is gone. The queue treats that
as the job's own end; ``CellFailed`` is 37.

These rules fit no row of the transition table because they change no state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.model.starter_effects import KillProcesses, SignalJob, Warn
from roost.starter.methods import begin_termination, has_last_word
from roost.starter.vacate_time import vacate_limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roost.starter.starter_state import StarterState
    from roost.starter.work import Work

#: Limits that are checked when a job is measured, hard and soft.
_OF_USE: Final = (("h_cpu", "s_cpu"), ("h_vmem", "s_vmem"))
_SIGNALS: Final = {"s_rt": "SIGUSR1", "s_cpu": "SIGXCPU", "s_vmem": "SIGXCPU"}
_KIB: Final = 1024


def limits_use(state: StarterState) -> bool:
    """Return whether a limit applies to the measured use of the job."""
    context = state.launch.context
    return context is not None and any(name in context.limits for pair in _OF_USE for name in pair)


def begin_limits(work: Work) -> None:
    """Start counting run time when the program first starts."""
    context = work.state.launch.context
    if context is None:
        return
    soft, hard = context.limits.get("s_rt"), context.limits.get("h_rt")
    work.schedule(
        soft_limit_at=None if soft is None else work.now + soft,
        hard_limit_at=None if hard is None else work.now + hard,
    )


def look_at_limits(work: Work) -> None:
    """Check the limits against a new measurement."""
    for hard, soft, used in _used(work.state):
        limits = work.state.launch.context.limits if work.state.launch.context else {}
        if hard in limits and used > limits[hard]:
            if not work.state.limit:
                enforce_limit(work, hard)
        elif soft in limits and used > limits[soft]:
            tell_soft_limit(work, soft)


def _used(state: StarterState) -> Iterator[tuple[str, str, float]]:
    usage = state.usage
    if usage is not None:
        yield "h_cpu", "s_cpu", usage.user_cpu_s + usage.system_cpu_s
        yield "h_vmem", "s_vmem", float(usage.image_size_kib * _KIB)


def tell_soft_limit(work: Work, name: str) -> None:
    """Signal all processes, once for each limit."""
    state = work.state
    if name == "s_rt":
        work.schedule(soft_limit_at=None)
    if name in state.soft_limits or not state.process:
        return
    work.update(soft_limits=(*state.soft_limits, name))
    work.order(SignalJob(signal=_SIGNALS[name], all=True))


def enforce_limit(work: Work, name: str) -> None:
    """End the job, kill all processes when its time is up, and check later whether they are gone."""
    state = work.state
    if not state.limit:
        work.update(limit=name)
        work.order(Warn(about=name, text=f"the job exceeds {limit_text(work.state)} and is killed"))
        if has_last_word(state):
            begin_termination(work)
            limit_s = vacate_limit_s(work)
            work.schedule(hard_limit_at=None if limit_s is None else work.now + limit_s)
            return
    work.order(KillProcesses())
    work.schedule(method_at=None, hard_limit_at=work.now + work.policy.killing_s(state.universe))


def limit_text(state: StarterState) -> str:
    """Return the limit that a job has exceeded, with its value."""
    context = state.launch.context
    assert context is not None
    unit = "bytes" if state.limit.endswith("vmem") else "s"
    return f"{state.limit}={context.limits[state.limit]:.15g} {unit} of {context.instance}"

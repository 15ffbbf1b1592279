"""A starter in every pair, each brought there by a script; and one event of every kind, two where both ways matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.model import starter_events as ev
from roost.model.starter import HookPoint, Method, ScriptPoint, StarterTimer
from roost.starter import states as at
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.states import Pair
from tests.starter.kit import HELD, PREEMPTED, START, Hand, hook, job, policy, usage

EVERY_HOOK: Final = {"KW": {point: hook(f"/hooks/{point.lower()}", timeout_s=30.0) for point in HookPoint}}

#: With every stage that a run goes through which nobody wants to end and which can be started: hooks, files, prolog
#: and epilog.
HOOKS: Final = {
    "KW": {
        point: program
        for point, program in EVERY_HOOK["KW"].items()
        if point not in (HookPoint.VACATE, HookPoint.FAILURE)
    }
}


def full_policy(expressions: Mapping[str, str] | None = None, **settings: Any) -> StarterPolicy:
    given = {"hooks": HOOKS, "hook_keyword_default": "KW", "prolog": "/site/prolog", "epilog": "/site/epilog"}
    return policy(expressions, **{**given, **settings})


def full(expressions: Mapping[str, str] | None = None, **attributes: Any) -> Hand:
    """A starter that has something to do in every stage."""
    given = {
        "ShouldTransferFiles": "YES",
        "WhenToTransferOutput": "ON_EXIT_OR_EVICT",
        "SuccessCheckpointExitCode": 85,
        "WantCheckpointSignal": True,
        **attributes,
    }
    return Hand(policy=full_policy(expressions), job=job(**given))


def every(expressions: Mapping[str, str] | None = None, **attributes: Any) -> Hand:
    """The same with the hooks that are for runs which end before their time."""
    hand = full(**attributes)
    return Hand(policy=full_policy(expressions, hooks=EVERY_HOOK), job=hand.job)


PREPARATION: Final[tuple[ev.StarterEvent, ...]] = (
    ev.SandboxMade(),
    ev.HookEnded(point=HookPoint.PREPARE_EARLY),
    ev.InputTransferred(),
    ev.HookEnded(point=HookPoint.PREPARE),
    ev.ScriptEnded(point=ScriptPoint.PROLOG),
    ev.JobStarted(run=1, pid=4711),
)

SOFT: Final = ev.SoftKillOrdered(cause=PREEMPTED)
HARD: Final = ev.HardKillOrdered(cause=PREEMPTED)
SAVED: Final = ev.JobEnded(run=1, exit_code=85)
NOT_STARTED: Final = ev.JobNotStarted(run=1, text="exec format error", errno=8)
ENDED: Final = ev.JobEnded(run=1, exit_code=0)


def after(count: int, *events: ev.StarterEvent) -> Callable[[], Hand]:
    """A script: so many steps of the preparation, then these events."""
    return lambda: full().feed(*PREPARATION[:count], *events)


_EPILOG_DONE: Final = ev.ScriptEnded(point=ScriptPoint.EPILOG)
_EXIT_HOOK_DONE: Final = ev.HookEnded(point=HookPoint.EXIT)

SITUATIONS: Final[Mapping[Pair, Callable[[], Hand]]] = {
    at.SANDBOX: after(0),
    at.EARLY_HOOK: after(1),
    at.INPUT: after(2),
    at.HOOK: after(3),
    at.PROLOG: after(4),
    at.DEFERRED: lambda: full(DeferralTime=int(START) + 100).feed(*PREPARATION[:5]),
    at.START: after(5),
    at.RUNNING: after(6),
    at.CHECKPOINTING: after(6, SAVED),
    at.SUSPENDED: after(6, ev.SuspendOrdered()),
    at.SUSPENDED_CHECKPOINTING: after(6, SAVED, ev.SuspendOrdered()),
    at.UNSTARTED: after(6, SAVED, ev.SuspendOrdered(), ev.CheckpointTransferred(run=1)),
    at.VACATE_HOOK: lambda: every().feed(*PREPARATION, SOFT),
    at.VACATING: after(6, SOFT),
    at.VACATING_CHECKPOINTING: after(6, SOFT, SAVED),
    at.KILLING: after(6, HARD),
    at.EPILOG: after(6, ENDED),
    at.FAILURE_HOOK: lambda: every().feed(*PREPARATION[:5], NOT_STARTED, _EPILOG_DONE),
    at.EXIT_HOOK: after(6, ENDED, _EPILOG_DONE),
    at.OUTPUT: after(6, ENDED, _EPILOG_DONE, _EXIT_HOOK_DONE),
    at.CLEANUP: after(6, ENDED, _EPILOG_DONE, _EXIT_HOOK_DONE, ev.OutputTransferred()),
    at.DONE: after(6, ENDED, _EPILOG_DONE, _EXIT_HOOK_DONE, ev.OutputTransferred(), ev.SandboxRemoved()),
}

EVENTS: Final[Mapping[str, ev.StarterEvent]] = {
    "SuspendOrdered": ev.SuspendOrdered(),
    "ContinueOrdered": ev.ContinueOrdered(),
    "SoftKillOrdered": ev.SoftKillOrdered(cause=HELD),
    "HardKillOrdered": ev.HardKillOrdered(cause=HELD),
    "CheckpointOrdered": ev.CheckpointOrdered(),
    "Reconfigured": ev.Reconfigured(),
    "SandboxMade": ev.SandboxMade(),
    "SandboxFailed": ev.SandboxFailed(text="disk full"),
    **{f"HookEnded {point} 0": ev.HookEnded(point=point) for point in HookPoint},
    **{f"HookEnded {point} 7": ev.HookEnded(point=point, status=7) for point in HookPoint},
    **{f"HookNotRun {point}": ev.HookNotRun(point=point, text="no such file") for point in HookPoint},
    **{f"ScriptEnded {point} 0": ev.ScriptEnded(point=point) for point in ScriptPoint},
    **{f"ScriptEnded {point} 1": ev.ScriptEnded(point=point, status=1) for point in ScriptPoint},
    "InputTransferred": ev.InputTransferred(),
    "InputFailed": ev.InputFailed(text="no such file", subcode=2),
    "JobStarted": ev.JobStarted(run=1, pid=4711),
    "JobNotStarted": NOT_STARTED,
    "JobEnded 0": ENDED,
    "JobEnded 85": SAVED,
    "SoftKillFailed": ev.SoftKillFailed(run=1),
    "UsageSampled": ev.UsageSampled(run=1, usage=usage()),
    "MethodEnded": ev.MethodEnded(method=Method.SUSPEND),
    "CheckpointTransferred": ev.CheckpointTransferred(run=1),
    "CheckpointFailed": ev.CheckpointFailed(run=1, text="no space"),
    "OutputTransferred": ev.OutputTransferred(),
    "OutputFailed": ev.OutputFailed(text="no such file", subcode=2),
    "SandboxRemoved": ev.SandboxRemoved(),
    **{f"StarterTimerFired {timer}": ev.StarterTimerFired(timer=timer) for timer in StarterTimer},
}

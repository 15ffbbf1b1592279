"""Grid Engine's account of how a run in a queue instance ended: the code `failed` of `qacct`, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.classad.values import fold
from roost.model.cell_requests import LIMIT_EXCEEDED, NAME
from roost.model.starter import Cause, Ending, OrderedBy, ScriptPoint, StarterHold, StarterVacate
from roost.starter.limits import limit_text
from roost.starter.scripts import AGAIN, AT_FAULT, queue_script
from roost.starter.starter_state import StarterState

#: The codes that a run can end with here, in the words of `qacct`.
WORDS: Final[Mapping[int, str]] = {
    1: "assumedly before job",
    7: "before prolog",
    8: "in prolog",
    9: "before pestart",
    10: "in pestart",
    11: "before job",
    12: "before pestop",
    13: "in pestop",
    14: "before epilog",
    15: "in epilog",
    24: "migrating",
    25: "rescheduling",
    26: "opening input/output file",
    27: "searching requested shell",
    28: "changing into working directory",
    30: "application error returned",
    LIMIT_EXCEEDED: "qmaster enforced h_rt, h_cpu, or h_vmem limit",
    100: "assumedly after job",
}
_SCRIPTS: Final = {
    ScriptPoint.PROLOG: (7, 8),
    ScriptPoint.PE_START: (9, 10),
    ScriptPoint.PE_STOP: (12, 13),
    ScriptPoint.EPILOG: (14, 15),
}
_NOT_STARTED: Final[Mapping[int, int]] = {
    StarterHold.UNABLE_TO_OPEN_OUTPUT: 26,
    StarterHold.UNABLE_TO_OPEN_INPUT: 26,
    StarterHold.FAILED_TO_CREATE_PROCESS: 27,
    StarterHold.IWD_ERROR: 28,
}


def failed(state: StarterState) -> int:
    """Return the failure code of a finished run; 0 for one that ended by itself."""
    if state.script_failures:
        failure = state.script_failures[-1]
        before, within = _SCRIPTS[failure.point]
        return {None: before, AGAIN: 25, AT_FAULT: 30}.get(failure.status, within)
    if state.queue_error:
        return 11 if state.run else 7
    if state.limit:
        return LIMIT_EXCEEDED
    if state.migrating and state.cause is not None and state.cause.ending is Ending.EVICT:
        return 24
    cause = state.cause
    if cause is not None and cause.code == StarterHold.APPLICATION_ERROR and cause.by is OrderedBy.STARTER:
        return 30
    if state.started_at is None:
        return 1 if cause is None or cause.by is not OrderedBy.STARTER else _NOT_STARTED.get(cause.code, 1)
    if cause is not None and cause.ending is Ending.EVICT:
        return 25
    return 100 if state.end is not None and state.end.signal is not None else 0


def failed_text(state: StarterState, code: int) -> str:
    """Return the text of a code, with the limit that was exceeded if there was one; "" for 0."""
    if code == LIMIT_EXCEEDED:
        return f"{WORDS[code]}: {limit_text(state)}"
    return WORDS.get(code, "")


def application_cause(state: StarterState) -> Cause | None:
    """Return what the exit status of a `qsub` job asks for: 99 to be rerun, 100 to be put in the error state."""
    context, end = state.launch.context, state.end
    if context is None or end is None or not isinstance(state.job_ad.cell(fold(NAME)), str):
        return None
    if end.code == AGAIN and not context.forbids_reschedule:
        text = f"The job wants to be tried again (status {AGAIN})"
        return Cause(
            ending=Ending.EVICT, code=StarterVacate.JOB_SHOULD_REQUEUE, subcode=AGAIN, text=text, by=OrderedBy.STARTER
        )
    if end.code == AT_FAULT and not context.forbids_error:
        text = f"The job says that it is at fault (status {AT_FAULT})"
        code = StarterHold.APPLICATION_ERROR
        return Cause(ending=Ending.HOLD, code=code, subcode=AT_FAULT, text=text, by=OrderedBy.STARTER)
    return None


def error_reason(state: StarterState) -> str:
    """Return why the job or its queue instance enters the error state, in Grid Engine's words; "" if neither does."""
    if not state.script_failures:
        return state.queue_error
    failure = state.script_failures[-1]
    command = queue_script(state, failure.point)
    if not command or failure.status == AGAIN:
        return ""
    if failure.status is None:
        return f'cannot run {failure.point} "{command}"'
    return f"exit_status of {failure.point} = {failure.status}"

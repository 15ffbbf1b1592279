"""Job hooks of the starter: which prefix a job's hooks have, and what the result of a prepare hook means.

The daemon runs the programs themselves, and refuses those that others may write to.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.starter import Cause, Ending, HookPoint, OrderedBy, StarterHold, StarterVacate

#: A status from here on requeues the job instead of holding it.
REQUEUE_FROM: Final = 300

#: JobUniverse of scheduler universe programs, which run on the queue's own host and have no hooks.
SCHEDULER: Final = 7

#: Attributes in the output of a prepare hook that concern the hook itself and do not go into the job's ad.
STATUS_CODE: Final = "HookStatusCode"
STATUS_MESSAGE: Final = "HookStatusMessage"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookProgram:
    """A configured hook."""

    path: str
    #: As configured; only PREPARE_JOB has arguments.
    arguments: str = ""
    #: Time limit, s; None for no limit.
    timeout_s: float | None = None


def hook_keyword(*, forced: str | None, wanted: str | None, fallback: str | None, known: Container[str]) -> str:
    """Return the prefix of a job's hooks in capitals, "" for none.

    `forced` is STARTER_JOB_HOOK_KEYWORD, `wanted` the job's HookKeyword, `fallback` STARTER_DEFAULT_JOB_HOOK_KEYWORD;
    `known` holds, in capitals, the prefixes that have any hook configured. The job's keyword counts only if it is
    known.
    """
    if forced:
        return forced.upper()
    if wanted and wanted.upper() in known:
        return wanted.upper()
    return (fallback or "").upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The result of a prepare hook."""

    #: Why the job does not run; None if it does.
    cause: Cause | None
    #: A message for the job's event log; "" for none.
    message: str
    #: Attributes to merge into the job's ad.
    updates: ClassAd


def prepared(point: HookPoint, status: int, printed: ClassAd | None) -> Prepared:
    """Interpret the end of a prepare hook: 0 go on, 1 to 299 hold, a higher status or a signal requeue."""
    updates = ClassAd() if printed is None else printed.copy()
    code, message = updates.cell(STATUS_CODE.lower()), updates.cell(STATUS_MESSAGE.lower())
    for name in (STATUS_CODE, STATUS_MESSAGE):
        updates.pop(name, None)
    text = message if isinstance(message, str) else ""
    if status >= 0 and isinstance(code, int) and not isinstance(code, bool) and code >= 0:
        status = code
    if status == 0:
        return Prepared(cause=None, message=text, updates=updates)
    how = f"killed by signal {-status}" if status < 0 else f"exited with status {status}"
    why = f"Hook {point} {how}" + (f": {text}" if text else "")
    held = 0 < status < REQUEUE_FROM
    cause = Cause(
        ending=Ending.HOLD if held else Ending.EVICT,
        code=StarterHold.HOOK_PREPARE_JOB_FAILURE if held else StarterVacate.JOB_NOT_STARTED,
        subcode=status,
        text=why,
        by=OrderedBy.STARTER,
    )
    return Prepared(cause=cause, message="", updates=ClassAd())


def not_run(point: HookPoint, text: str) -> Cause:
    """Interpret the failure to start a prepare hook."""
    return Cause(
        ending=Ending.HOLD,
        code=StarterHold.HOOK_PREPARE_JOB_FAILURE,
        text=f"Hook {point} could not be run: {text}",
        by=OrderedBy.STARTER,
    )

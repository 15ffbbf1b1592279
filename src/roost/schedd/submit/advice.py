"""Advice on expressions that are allowed but seldom mean what was intended: common traps.

Each piece of advice is a warning with a remedy, and none prevents a submission.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr, ParseError, Syntax, parse_expression
from roost.classad.syntax import Literal
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob

#: Attributes that keep a job from being released repeatedly.
_COUNTS: Final = frozenset(
    ("numholds", "numholdsbyreason", "numjobstarts", "numshadowstarts", "numsystemholds", "jobrunfailures")
)
_STRICT: Final = re.compile(r"=\?=| is ")
_MARKS_OF_SIGNALS: Final = frozenset(("exitbysignal", "exitsignal", "exitstatus"))


@dataclass(frozen=True, slots=True)
class _Advice:
    command: str
    attribute: str
    applies: Callable[[Expr], bool]
    message: str
    remedy: str


def _names(expression: Expr) -> frozenset[str]:
    mentioned = expression.mentioned
    return mentioned.plain | mentioned.my | mentioned.target


def _true(expression: Expr) -> bool:
    tree = expression.tree
    return isinstance(tree, Literal) and (tree.value is True or tree.value == 1)


def _forgets_signals(expression: Expr) -> bool:
    names = _names(expression)
    return "exitcode" in names and names.isdisjoint(_MARKS_OF_SIGNALS) and not _STRICT.search(str(expression))


_ALL: Final = (
    _Advice(
        "on_exit_remove",
        "OnExitRemove",
        _forgets_signals,
        "a job that a signal killed has no ExitCode: it leaves the queue as if it had succeeded",
        "Write (ExitBySignal == false) && (ExitCode == 0), or use max_retries.",
    ),
    _Advice(
        "periodic_release",
        "PeriodicRelease",
        lambda expression: _names(expression).isdisjoint(_COUNTS) and str(expression) not in ("false", "0"),
        "nothing limits how often the job is released: it may be held and released forever",
        "Add a limit such as && NumHolds < 5, and HoldReasonCode =!= 1 for holds by hand.",
    ),
    _Advice(
        "periodic_remove",
        "PeriodicRemove",
        lambda expression: "remotewallclocktime" in _names(expression),
        "RemoteWallClockTime only grows when a run ends",
        "Use time() - JobCurrentStartDate, or allowed_job_duration.",
    ),
    _Advice(
        "periodic_hold",
        "PeriodicHold",
        lambda expression: "remotewallclocktime" in _names(expression),
        "RemoteWallClockTime only grows when a run ends",
        "Use time() - JobCurrentStartDate, or allowed_job_duration.",
    ),
    _Advice(
        "leave_in_queue",
        "LeaveJobInQueue",
        _true,
        "finished jobs never leave the queue by themselves",
        "Add a limit such as JobStatus == 4 && time() - CompletionDate < 864000.",
    ),
)


def advise(job: PlannedJob) -> None:
    """Report suspicious expressions of a job."""
    for one in _ALL:
        text = job.text(one.command, one.attribute)
        if text is None:
            continue
        try:
            expression = parse_expression(text, Syntax.OLD)
        except ParseError:
            # Already reported.
            continue
        if one.applies(expression):
            message = f"{one.command} = {text}: {one.message}"
            job.report(SubmitCode.SUSPICIOUS, message, job.given(one.command, one.attribute), remedy=one.remedy)

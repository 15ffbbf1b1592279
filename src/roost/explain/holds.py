"""Remedies for a job on hold, by its hold code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from roost.classad import ClassAd
from roost.classad.reading import whole_in
from roost.explain.remedies import Remedy, RemedyKind
from roost.model.audit import AuditRecord
from roost.model.codes import RESOURCE_CODES, SUBCODE_MEMORY, HoldCode

#: Hold codes that do not indicate a problem.
_BY_PEOPLE: Final = frozenset((HoldCode.USER_REQUEST, HoldCode.SUBMITTED_ON_HOLD, HoldCode.SPOOLING_INPUT))
#: Hold code to what must be fixed before the job is released.
_FIRST: Final[Mapping[int, str]] = {
    HoldCode.FAILED_TO_CREATE_PROCESS: "Fix what prevented its program from starting: the path, its "
    "permissions, or the interpreter named in its first line.",
    HoldCode.UNABLE_TO_OPEN_OUTPUT: "Create the directory or give permission to write to it.",
    HoldCode.UNABLE_TO_OPEN_INPUT: "Create the file or give permission to read it.",
    HoldCode.UNABLE_TO_OPEN_OUTPUT_STREAM: "Create the directory or give permission to write to it.",
    HoldCode.UNABLE_TO_OPEN_INPUT_STREAM: "Create the file or give permission to read it.",
    HoldCode.TRANSFER_OUTPUT_ERROR: "Fix what the reason names: the job did not create the file, or it cannot "
    "be written to its destination.",
    HoldCode.TRANSFER_INPUT_ERROR: "Fix what the reason names: the file is missing or cannot be read.",
    HoldCode.IWD_ERROR: "Create its initial directory, or give permission to enter it.",
    HoldCode.HOOK_PREPARE_JOB_FAILURE: "Fix the problem that the machine's hook found.",
    HoldCode.UNABLE_TO_INIT_USER_LOG: "Make the event log writable for the job's owner.",
    HoldCode.FAILED_TO_ACCESS_USER_ACCOUNT: "Ask the administrator for an account on the machines.",
    HoldCode.INVALID_CRON_SETTINGS: "Correct its cron_ settings.",
    HoldCode.MISSED_DEFERRED_EXECUTION_TIME: "Give it another deferral_time, or a longer deferral_window.",
    HoldCode.MAX_TRANSFER_INPUT_SIZE_EXCEEDED: "Transfer less, or ask the administrator to raise the limit.",
    HoldCode.MAX_TRANSFER_OUTPUT_SIZE_EXCEEDED: "Write less, or ask the administrator to raise the limit.",
    HoldCode.PRE_SCRIPT_FAILED: "Fix its pre script.",
    HoldCode.POST_SCRIPT_FAILED: "Fix its post script.",
    HoldCode.JOB_DURATION_EXCEEDED: "Raise its allowed_job_duration, or make the job shorter.",
    HoldCode.JOB_EXECUTE_EXCEEDED: "Raise its allowed_execute_duration, or make the job shorter.",
    HoldCode.JOB_POLICY_UNDEFINED: "Correct the expression that has no value.",
    HoldCode.SYSTEM_POLICY_UNDEFINED: "Ask the administrator to correct the expression that has no value.",
}
_DURATIONS: Final = {
    HoldCode.JOB_DURATION_EXCEEDED: "AllowedJobDuration",
    HoldCode.JOB_EXECUTE_EXCEEDED: "AllowedExecuteDuration",
}


def remedies_of_hold(name: str, ad: ClassAd, decided: Sequence[AuditRecord]) -> tuple[Remedy, ...]:
    """The remedies, in the order in which to apply them."""
    code, subcode = whole_in(ad, "HoldReasonCode"), whole_in(ad, "HoldReasonSubCode")
    knob = next((each.knob for each in decided if each.knob), "")
    release = f"`roost release {name}` makes it idle again"
    text = f"{release}." if code in _BY_PEOPLE else f"Then {release}."
    return (
        *_first(name, ad, code, subcode, knob),
        Remedy(kind=RemedyKind.RELEASE, text=text, command=("roost", "release", name)),
    )


def _first(name: str, ad: ClassAd, code: int, subcode: int, knob: str) -> Iterator[Remedy]:
    if code in _BY_PEOPLE:
        return
    if code == HoldCode.JOB_POLICY:
        what = knob or "PeriodicHold or OnExitHold"
        command = ("roost", "edit", name, "--set", f"{knob}=False") if knob else ()
        text = f"Its own {what} put it on hold: change the attributes that it refers to, or the expression"
        text += f": `{' '.join(command)}`." if command else "."
        yield Remedy(kind=RemedyKind.EDIT, text=text, command=command)
    elif code == HoldCode.SYSTEM_POLICY:
        text = (
            f"Only the administrator can change {knob or 'SYSTEM_PERIODIC_HOLD'}; edit the job attributes "
            "that it refers to."
        )
        yield Remedy(kind=RemedyKind.POLICY, text=text)
    elif code in RESOURCE_CODES and subcode == SUBCODE_MEMORY:
        text = "It used more memory than it requested: raise request_memory with `roost edit`."
        yield Remedy(kind=RemedyKind.EDIT, text=text)
    elif code in RESOURCE_CODES:
        text = "The policy of its machine's owner (WANT_HOLD) put it on hold: change what the reason names."
        yield Remedy(kind=RemedyKind.OWNER, text=text)
    elif code in _DURATIONS:
        command = ("roost", "edit", name, "--set", f"{_DURATIONS[HoldCode(code)]}={_more(ad, code)}")
        yield Remedy(kind=RemedyKind.EDIT, text=f"{_FIRST[code]} `{' '.join(command)}`", command=command)
    else:
        yield Remedy(kind=RemedyKind.EDIT, text=_FIRST.get(code, "Fix what the reason names."))


def _more(ad: ClassAd, code: int) -> int:
    return 10 * max(1, whole_in(ad, _DURATIONS[HoldCode(code)]))

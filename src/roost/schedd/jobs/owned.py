"""Job attributes that the queue maintains: values that a user gives them, at submission or later, are ignored.

Policies rely on them (a limit of starts, the time on hold), so a user who could set them would escape those policies.

* `IMMUTABLE` attributes identify a job. They never change after submission; HTCondor's SYSTEM_IMMUTABLE_JOB_ATTRS are
  among them.
* `RECORDED` attributes record what has happened to a job. A submission begins with the values of `begun`, and only
  queue super users can change them later. HTCondor has no such list, and lets owners edit them.

Values that a job may bring along (`ImageSize`, `DiskUsage`, `ExecutableSize`) are the user's until a machine measures
them.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.schedd.status import JobStatus


def _folded(names: str) -> frozenset[str]:
    return frozenset(map(fold, names.split()))


#: Counters that every job begins with at 0, and times that begin at 0.0 s.
ZEROES: Final = (
    "CommittedSlotTime", "CommittedSuspensionTime", "CommittedTime", "CumulativeSlotTime", "CumulativeSuspensionTime",
    "CurrentHosts", "ExitStatus", "JobRunCount", "LastSuspensionTime", "NumCkpts", "NumHolds", "NumJobCompletions",
    "NumJobStarts", "NumRestarts", "NumShadowStarts", "NumSystemHolds", "TotalSuspensions",
)  # fmt: skip
ZERO_SECONDS: Final = (
    "CumulativeRemoteSysCpu", "CumulativeRemoteUserCpu", "RemoteSysCpu", "RemoteUserCpu", "RemoteWallClockTime",
)  # fmt: skip
#: What the queue counts itself, even if a machine reports another value.
COUNTERS: Final = ("NumJobStarts", "NumShadowStarts", "JobRunCount")
COUNTED: Final = frozenset(map(fold, COUNTERS))

_IDENTITY: Final = _folded("ClusterId ProcId Owner User OsUser QDate GlobalJobId SubmitRequestId TotalSubmitProcs")
#: Attributes that identify a job.
IMMUTABLE: Final = _IDENTITY | _folded("MyType TargetType JobStatus JobUniverse")
_HOLD: Final = _folded("CellHolds HoldReason HoldReasonCode HoldReasonSubCode")
#: Attributes that record what has happened to a job that has not been held.
_HAPPENED: Final = frozenset(map(fold, (*ZEROES, *ZERO_SECONDS))) | _folded(
    "AutoClusterAttrs AutoClusterId BytesRecvd BytesSent CellCharged CellCheckpointed CellCleaned CellErrorReason "
    "CellFailed CellFailedReason CellIoUsed CellMemoryUsed CellMidnight CellResourcesUsed CellTask CompletionDate "
    "EnteredCurrentStatus ExitBySignal ExitCode ExitSignal InitialWaitDuration JobCoreDumped JobCurrentStartDate "
    "DataflowJobSkipped JobCurrentStartExecutingDate JobLastStartDate JobStartDate "
    "LastCheckpointPlatform LastCkptTime LastHoldReason LastHoldReasonCode LastHoldReasonSubCode LastJobStatus "
    "LastMatchTime LastRejMatchReason LastRejMatchTime LastRemoteHost LastRunBytesRecvd LastRunBytesSent "
    "LastVacateTime NumCkptsThisRun NumHoldsByReason NumJobMatches NumVacates ReleaseReason RemoteHost RemovalTold "
    "RemoveReason ShadowBday StartdIpAddr VacateReason VacateReasonCode VacateReasonSubCode"
)
RECORDED: Final = _HAPPENED | _HOLD
#: Attributes that a submission cannot set. A job may be submitted on hold, with the reason.
NOT_SUBMITTED: Final = _HAPPENED | _IDENTITY
#: Attributes that a submission cannot set for a job that is not held.
_NOT_RELEASED: Final = NOT_SUBMITTED | _HOLD
#: Attributes that ``+Name`` in a description sets without effect.
NOT_DESCRIBED: Final = NOT_SUBMITTED | _folded("MyType TargetType JobStatus")

#: Attributes of a job to which nothing has happened.
_FIRST: Final = ClassAd({**dict.fromkeys(ZEROES, 0), **dict.fromkeys(ZERO_SECONDS, 0.0), "ExitBySignal": False})

_PRIORITY_MAX: Final = 2**31 - 1


def priority(cell: object) -> int | None:
    """JobPrio as a whole number; None if the value is an expression, not a whole number, or too large."""
    if isinstance(cell, bool) or not isinstance(cell, int | float) or not -_PRIORITY_MAX <= cell <= _PRIORITY_MAX:
        return None
    return int(cell) if cell == int(cell) else None


def begun(ad: ClassAd, *, held: bool) -> None:
    """Remove the attributes that the queue maintains from a submitted ad, and set their initial values."""
    unfit = NOT_SUBMITTED if held else _NOT_RELEASED
    for key in unfit.intersection(ad.cells):
        ad.drop(key)
    if not held:
        ad.put("JobStatus", int(JobStatus.IDLE))
    ad.lay(_FIRST)

"""How jobs ended: the results of `drmaa_wait`, read from the ad in the history."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.schedd.status import JobStatus

#: Attributes from which an ending is read.
SHOWN: Final = (
    "ClusterId", "ProcId", "JobStatus", "ExitCode", "ExitBySignal", "ExitSignal", "JobCoreDumped", "NumJobStarts",
    "RemoteUserCpu", "RemoteSysCpu", "ImageSize", "ResidentSetSize", "JobPrio", "QDate", "JobCurrentStartExecutingDate",
    "JobCurrentStartDate", "CompletionDate", "EnteredCurrentStatus", "CellResourcesUsed", "CellMemoryUsed",
    "RemoteWallClockTime",
)  # fmt: skip
_KIB: Final = 1024
#: Fields of getrusage(2), in the order of Grid Engine.
_RESOURCES: Final = (
    "ru_wallclock", "ru_utime", "ru_stime", "ru_maxrss", "ru_ixrss", "ru_ismrss", "ru_idrss", "ru_isrss", "ru_minflt",
    "ru_majflt", "ru_nswap", "ru_inblock", "ru_oublock", "ru_msgsnd", "ru_msgrcv", "ru_nsignals", "ru_nvcsw",
    "ru_nivcsw",
)  # fmt: skip

#: Bits of the number that `drmaa_wait` returns in C; the exit status is in the second byte, the signal in the third.
EXITED: Final = 1
SIGNALED: Final = 2
CORE_DUMPED: Final = 4
ABORTED: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a job ended."""

    has_exited: bool = False
    exit_status: int = 0
    #: 0 for none.
    signal: int = 0
    has_core_dump: bool = False
    #: Whether it was removed or never ran.
    was_aborted: bool = False
    #: Name to value; empty if it never ran or its record is gone.
    usage: Mapping[str, str] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The ending as one number."""
        flags = (
            (EXITED if self.has_exited else 0)
            | (SIGNALED if self.signal else 0)
            | (CORE_DUMPED if self.has_core_dump else 0)
            | (ABORTED if self.was_aborted else 0)
        )
        return flags | (self.exit_status & 0xFF) << 8 | (self.signal & 0xFF) << 16


def signal_name(number: int) -> str:
    """The name of a signal, SIGKILL."""
    return next((each.name for each in signal.Signals if each == number), f"SIG{number}")


def ending_of(row: Mapping[str, Any]) -> Ending:
    """The ending of a job that has left its queue."""
    if row.get("JobStatus") != JobStatus.COMPLETED:
        ran = bool(row.get("NumJobStarts"))
        return Ending(was_aborted=True, usage=_usage(row, 128 + signal.SIGKILL, signal.SIGKILL) if ran else {})
    if row.get("ExitBySignal"):
        number = _whole(row, "ExitSignal")
        core = bool(row.get("JobCoreDumped"))
        return Ending(signal=number, has_core_dump=core, usage=_usage(row, 128 + number, number))
    status = _whole(row, "ExitCode") & 0xFF
    return Ending(has_exited=True, exit_status=status, usage=_usage(row, status, 0))


def _usage(row: Mapping[str, Any], status: int, number: int) -> dict[str, str]:
    """The usage as Grid Engine names it: seconds, bytes, GiB s; `ru_maxrss` in KiB."""
    used = _resources_used(row)
    ended = _whole(row, "CompletionDate") or _whole(row, "EnteredCurrentStatus")
    started = _whole(row, "JobCurrentStartExecutingDate") or _whole(row, "JobCurrentStartDate") or ended
    user_s, system_s = _number(row, "RemoteUserCpu"), _number(row, "RemoteSysCpu")
    resources = {name: _number(used, name) for name in _RESOURCES} | {"ru_wallclock": max(0, ended - started)}
    if not used:
        resources |= {"ru_utime": user_s, "ru_stime": system_s, "ru_maxrss": _number(row, "ResidentSetSize")}
    cpu_s = max(user_s + system_s, resources["ru_utime"] + resources["ru_stime"])
    memory, largest = _number(row, "CellMemoryUsed"), _number(row, "ImageSize") * _KIB
    found: dict[str, float] = {
        "io": 0, "iow": 0, "mem": memory, "cpu": cpu_s, "vmem": 0, "maxvmem": largest,
        "submission_time": _whole(row, "QDate"), "priority": _number(row, "JobPrio"), "exit_status": status,
        "signal": number, "start_time": started, "end_time": ended, **resources,
        "acct_cpu": cpu_s, "acct_mem": memory, "acct_io": 0, "acct_iow": 0, "acct_maxvmem": largest,
    }  # fmt: skip
    return {name: f"{value:.4f}" for name, value in found.items()}


def _resources_used(row: Mapping[str, Any]) -> Mapping[str, Any]:
    told = row.get("CellResourcesUsed")
    return ClassAd(told["expr"]) if isinstance(told, dict) and "expr" in told else {}


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _whole(row: Mapping[str, Any], name: str) -> int:
    return int(_number(row, name))

"""Situations and moments in which a machine's expressions are evaluated.

A *situation* fixes what the machine measures and which job there is; a *moment* the slot's state, activity, and how
long it has been in them. `CALM` and `ORDINARY_JOB` are the defaults of a situation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr
from roost.classad.values import UNDEFINED, ListValue, Value, fold

#: The instant of all evaluations.
NOW: Final = 1_800_000_000
#: A time in a state that is longer than any timer.
LONG_S: Final = 400 * 86_400
POLLING_S: Final = 5
#: KeyboardIdle of a machine that has not been touched for long, in seconds.
AWAY: Final = 7 * 86_400

#: A calm machine: its owner is away, Wednesday at noon.
CALM: Final[Mapping[str, Value]] = {
    "KeyboardIdle": AWAY,
    "ClockMin": 720,
    "ClockDay": 3,
    "Cpus": 8,
    "Memory": 16384,
    "Disk": 100_000_000,
    "TotalCpus": 8,
    "TotalMemory": 16384,
    "TotalSlots": 1,
    "TotalSlotCpus": 8,
    "TotalSlotMemory": 16384,
    "SlotID": 1,
    "SlotTypeID": 0,
    "Arch": "X86_64",
    "OpSys": "LINUX",
    "Machine": "machine.example.org",
    "Name": "slot1@machine.example.org",
    "DetectedCpus": 8,
    "DetectedMemory": 16384,
    "LastBenchmark": NOW - 3600,
    "State": "Unclaimed",
    "Activity": "Idle",
    "JobStart": UNDEFINED,
    "ConsoleIdle": AWAY,
    "LoadAvg": 0.0,
    "CondorLoadAvg": 0.0,
    "TotalLoadAvg": 0.0,
    "TotalCondorLoadAvg": 0.0,
    "CpuBusyTime": 0,
    "CpuIsBusy": False,
    "EnteredCurrentActivity": NOW,
    "EnteredCurrentState": NOW,
    "KFlops": 1_000_000,
    "Mips": 10_000,
    "VirtualMemory": 8_000_000,
    "SlotWeight": 8,
}
ORDINARY_JOB: Final[Mapping[str, Value]] = {
    "JobUniverse": 5,
    "Owner": "user",
    "User": "user@example.org",
    "RequestCpus": 1,
    "RequestMemory": 1024,
    "RequestDisk": 1_000_000,
    "ImageSize": 100_000,
    "JobStatus": 1,
    "QDate": NOW - 7200,
    "JobPrio": 0,
    "ClusterId": 1,
    "ProcId": 0,
    "NiceUser": False,
    "NumJobStarts": 0,
    "JobRunCount": 0,
    "NumShadowStarts": 0,
    "NumRestarts": 0,
    "RemoteWallClockTime": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Conditions that do not change."""

    #: Load that the owner makes.
    owner_load: float
    #: Attributes of the slot.
    machine: Mapping[str, Value]
    #: Attributes of the job.
    job: Mapping[str, Value]
    #: The attributes that the expressions use.
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The state of the slot at a moment."""

    state: str
    activity: str
    #: Time in the activity, in seconds.
    activity_s: int = POLLING_S
    #: Time since the job began; None without a job.
    job_s: int | None = None
    #: Time in the state; the same as in the activity if None.
    state_s: int | None = None

    @property
    def running(self) -> bool:
        """Whether the job causes load."""
        return self.activity in ("Busy", "Retiring", "Vacating")


OWNER: Final = Moment(state="Owner", activity="Idle", activity_s=LONG_S)
UNCLAIMED: Final = Moment(state="Unclaimed", activity="Idle", activity_s=LONG_S)
#: States of a slot in which a claim can be requested.
FREE: Final = (
    ("Unclaimed", "Idle"),
    ("Owner", "Idle"),
    ("Unclaimed", "Benchmarking"),
    ("Matched", "Idle"),
    ("Backfill", "Idle"),
    ("Backfill", "Busy"),
    ("Drained", "Idle"),
)
#: States of a slot while a job uses it and has not been told to leave.
HELD: Final = (("Claimed", "Busy"), ("Claimed", "Suspended"), ("Claimed", "Idle"), ("Claimed", "Retiring"))
CLAIMED: Final = Moment(state="Claimed", activity="Idle", activity_s=1)


def busy(job_s: int) -> Moment:
    """Claimed/Busy, this long after the job began."""
    return Moment(state="Claimed", activity="Busy", activity_s=job_s, job_s=job_s, state_s=job_s + 10)


def resumed(job_s: int) -> Moment:
    """Claimed/Busy, just continued."""
    return Moment(state="Claimed", activity="Busy", activity_s=POLLING_S, job_s=job_s, state_s=job_s + 10)


def suspended(for_s: int, job_s: int = LONG_S) -> Moment:
    """Claimed/Suspended for this long."""
    return Moment(state="Claimed", activity="Suspended", activity_s=for_s, job_s=job_s + for_s, state_s=job_s + for_s)


def vacating(for_s: int, job_s: int = LONG_S) -> Moment:
    """Preempting/Vacating for this long."""
    return Moment(state="Preempting", activity="Vacating", activity_s=for_s, job_s=job_s + for_s, state_s=for_s)


def constants(ad: ClassAd | None) -> dict[str, Value]:
    """The attributes of an ad that are plain values, under the spelling of the calm ones."""
    if ad is None:
        return {}
    spelled = {fold(name): name for name in (*CALM, *ORDINARY_JOB)}
    return {spelled.get(fold(n), n): v for n in ad if not isinstance(v := ad[n], Expr | ClassAd | ListValue)}


_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def shown(name: str, value: Value) -> str:
    """The value of an attribute in a witness, days and times of day in words as well."""
    if value is UNDEFINED:
        return "missing"
    if fold(name) == "clockmin" and isinstance(value, int):
        return f"{value} ({value // 60}:{value % 60:02})"
    if fold(name) == "clockday" and isinstance(value, int) and 0 <= value < len(_DAYS):
        return f"{value} ({_DAYS[value]})"
    if fold(name) in ("keyboardidle", "consoleidle") and isinstance(value, int) and value >= 86_400:
        return f"{value} ({value // 86_400} days)"
    return f'"{value}"' if isinstance(value, str) else str(value)
